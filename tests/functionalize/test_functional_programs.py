"""Random programs of views and in-place operators do under functionalization what they do without."""

from __future__ import annotations

import random

import numpy as np
import pytest
from functional_helpers import Below

import minitorch as mt
from minitorch.functionalize import functionalization, is_functional, unwrap, wrap

# -- steps: (random source, tensor) -> function of a tensor and another one; None where it does not fit ------------


def _dim(rng, x):
    return rng.randrange(-x.ndim, x.ndim)


def _slice(rng, x):
    dim = _dim(rng, x)
    n = x.shape[dim]
    start = rng.randrange(n)
    end, step = rng.randrange(start, n) + 1, rng.choice((1, 1, 2))
    return lambda t, _: t[(*[slice(None)] * (dim % x.ndim), slice(start, end, step))]


def _select(rng, x):
    dim = _dim(rng, x)
    index = rng.randrange(-x.shape[dim], x.shape[dim])
    return lambda t, _: t.select(dim, index)


def _permute(rng, x):
    dims = rng.sample(range(x.ndim), x.ndim)
    return lambda t, _: t.permute(dims)


def _transpose(rng, x):
    a, b = _dim(rng, x), _dim(rng, x)
    return lambda t, _: t.transpose(a, b)


def _transpose_(rng, x):
    a, b = _dim(rng, x), _dim(rng, x)
    return lambda t, _: t.transpose_(a, b)


def _unsqueeze(rng, x):
    dim = rng.randrange(x.ndim + 1)
    name = rng.choice(("unsqueeze", "unsqueeze_"))
    return (lambda t, _: getattr(t, name)(dim)) if x.ndim < 5 else None


def _squeeze(rng, x):
    name = rng.choice(("squeeze", "squeeze_"))
    return lambda t, _: getattr(t, name)()


def _unbind(rng, x):
    dim = _dim(rng, x)
    index = rng.randrange(x.shape[dim])
    return lambda t, _: t.unbind(dim)[index]


def _split(rng, x):
    dim = _dim(rng, x)
    n = x.shape[dim]
    size = rng.randrange(1, n + 1)
    index = rng.randrange(-(-n // size))
    return lambda t, _: t.split(size, dim)[index]


def _split_with_sizes(rng, x):
    dim = _dim(rng, x)
    first = rng.randrange(1, x.shape[dim] + 1)
    return lambda t, _: t.split([first, x.shape[dim] - first], dim)[0]


def _diagonal(rng, x):
    if x.ndim < 2:
        return None
    a, b = rng.sample(range(x.ndim), 2)
    return lambda t, _: t.diagonal(0, a, b)


def _unfold(rng, x):
    dim = _dim(rng, x)
    size = rng.randrange(1, x.shape[dim] + 1)
    step = size + rng.randrange(2)
    return (lambda t, _: t.unfold(dim, size, step)) if x.ndim < 5 else None


def _reshape(rng, x):
    n = x.numel()
    shape = rng.choice([(n,), (1, n), (n, 1), *[(d, n // d) for d in range(2, n) if n % d == 0]])
    return lambda t, _: t.reshape(shape)


def _view(rng, x):
    return (lambda t, _: t.view(-1)) if x.is_contiguous() else None


def _view_dtype(rng, x):
    return lambda t, _: t.view(mt.int32 if t.dtype is mt.float32 else mt.float32)


def _as_strided(rng, x):
    extent = x.untyped_storage().nbytes() // x.element_size()
    start = rng.randrange(extent)
    size = rng.randrange(1, extent - start + 1)
    return lambda t, _: t.as_strided((size,), (1,), start)


def _expand(rng, x):
    return (lambda t, _: t.expand(2, *t.shape)) if x.ndim < 4 else None


def _expand_and_fill(rng, x):
    return (lambda t, _: t.expand(2, *t.shape).fill_(3)) if x.ndim < 4 else None


def _expand_and_mask(rng, x):
    if x.ndim == 0 or x.ndim > 3:
        return None
    return lambda t, _: t.expand(2, *t.shape).masked_fill_(mt.ones(2, *t.shape).cumsum(0) > 1, 5)


def _with_row(rng, x):
    """In-place with another tensor: its first element, so that shapes always fit."""
    name = rng.choice(("add_", "mul_", "copy_"))
    return lambda t, other: getattr(t, name)(other.flatten()[0].to(t.dtype))


def _cumsum_(rng, x):
    dim = _dim(rng, x)
    return lambda t, _: t.cumsum_(dim)


def _flipped(rng, x):
    dim = _dim(rng, x)
    return lambda t, _: t.copy_(t.flip(dim))


def _set_item(rng, x):
    index = rng.randrange(x.shape[0])
    value = rng.choice((4, mt.tensor(7)))
    return lambda t, _: t.__setitem__(index, value)


def _set_indices(rng, x):
    index = rng.randrange(x.shape[0])
    return lambda t, _: t.__setitem__([index, 0], 9)


def _out(rng, x):
    return lambda t, _: mt.abs(t, out=t) if t.dtype is mt.float32 else t


def _number(name, *args):
    return lambda rng, x: lambda t, _: getattr(t, name)(*args)


NEEDS_DIMS = (
    _slice, _select, _permute, _transpose, _transpose_, _unbind, _split, _split_with_sizes, _diagonal, _unfold, _cumsum_,
    _flipped, _set_item, _set_indices,
)  # fmt: skip
ANY = (
    _unsqueeze, _squeeze, _reshape, _view, _expand, _expand_and_fill, _expand_and_mask, _with_row, _out, _as_strided,
    _view_dtype, _number("add_", 1), _number("mul_", 2), _number("zero_"), _number("fill_", 6), _number("sub_", 3),
    _number("clamp_", -50, 50), _number("detach"), _number("add", 1), _number("clone"),
    _number("contiguous"),
)  # fmt: skip


def overlapping(x):
    return any(n > 1 and s == 0 for n, s in zip(x.shape, x.stride(), strict=True))


def values(t):
    return t.detach().clone().numpy()


def same_place(a, b):
    """Assert that a functional tensor shows the program what the plain one does."""
    assert a.shape == b.shape
    assert a.dtype is b.dtype
    if a.numel():
        steps = [(s, t) for n, s, t in zip(a.shape, a.stride(), b.stride(), strict=True) if n > 1]
        assert all(s == t for s, t in steps), f"strides {a.stride()}, not {b.stride()}"
        assert a.storage_offset() == b.storage_offset()


def run_program(seed, reapply_views):
    rng = random.Random(seed)
    shape = rng.choice([(2, 3), (4,), (2, 2, 3), (6, 2), (1, 4)])
    start = np.array([rng.randrange(-5, 6) for _ in range(int(np.prod(shape)))], np.float32).reshape(shape)
    inputs = [mt.from_numpy(start.copy()), mt.from_numpy(start.copy() + 1)]
    wrapped = [wrap(t.clone()) for t in inputs]
    plain, functional, text = list(inputs), list(wrapped), []
    for _ in range(rng.randrange(4, 14)):
        i, j = rng.randrange(len(plain)), rng.randrange(len(plain))
        x = plain[i]
        if x.numel() == 0:
            continue
        make = rng.choice(ANY + NEEDS_DIMS if x.ndim else ANY)
        step = make(rng, x)
        if step is None:
            continue
        text.append(f"{i}.{make.__name__}({j})")
        try:
            result = step(x, plain[j])
        except RuntimeError as error:
            # What is refused without functionalization is refused with it.
            with pytest.raises(RuntimeError), functionalization(reapply_views):
                step(functional[i], functional[j])
            text.append(f"refused: {error}")
            break
        with functionalization(reapply_views), Below() as below:
            twin = step(functional[i], functional[j])
        assert not below.mutating, f"{text}: {below.mutating}"
        same_place(functional[i], x)
        if isinstance(result, mt.Tensor):
            same_place(twin, result)
            if result is x:
                assert twin is functional[i], text
            else:
                plain.append(result)
                functional.append(twin)
        if rng.random() < 0.2:
            np.testing.assert_array_equal(values(unwrap(functional[j])), values(plain[j]), err_msg=str(text))
    order = list(range(len(plain)))
    rng.shuffle(order)
    for i in order:
        assert is_functional(functional[i]), text
        np.testing.assert_array_equal(values(unwrap(functional[i])), values(plain[i]), err_msg=f"{text}, tensor {i}")


@pytest.mark.parametrize("reapply_views", [True, False])
@pytest.mark.parametrize("block", range(10))
def test_programs_give_the_same_with_and_without(block, reapply_views):
    for seed in range(block * 40, block * 40 + 40):
        run_program(seed, reapply_views)


def complex_program(rng, x):
    """Changes real and imaginary parts through views of a complex tensor."""
    for _ in range(6):
        kind = rng.randrange(4)
        if kind == 0:
            mt.view_as_real(x)[..., rng.randrange(2)].add_(rng.randrange(5))
        elif kind == 1:
            x.real.mul_(2)
        elif kind == 2:
            x.imag[rng.randrange(2)].zero_()
        else:
            x.t().mul_(1j)
    return x + 1


@pytest.mark.parametrize("reapply_views", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_parts_of_complex_tensors(seed, reapply_views):
    start = mt.complex(mt.arange(6.0).reshape(2, 3), -mt.arange(6.0).reshape(2, 3))
    expected = complex_program(random.Random(seed), start.clone())
    with functionalization(reapply_views):
        result = complex_program(random.Random(seed), wrap(start))
    np.testing.assert_array_equal(values(unwrap(result)), values(expected))


@pytest.mark.parametrize("reapply_views", [True, False])
def test_complex_numbers_of_pairs(reapply_views):
    start = mt.arange(12.0).reshape(2, 3, 2)

    def program(x):
        pairs = mt.view_as_complex(x)
        pairs[1].mul_(1j)
        x.transpose(0, 1)[2].add_(1)
        return pairs * 1

    expected = program(start.clone())
    with functionalization(reapply_views):
        result = program(wrap(start))
    np.testing.assert_array_equal(values(unwrap(result)), values(expected))
