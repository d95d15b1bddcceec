"""What functionalized programs call below (spec 6.5, the probe table, F2, F4, F5), and that PyTorch calls the same."""

from __future__ import annotations

import numpy as np
import pytest
from functional_helpers import functionalized

import minitorch


def viewed_and_changed(m):
    def program(x):
        y = x.clone()
        y.view(4).add_(1)
        return y

    return program


def changed_input(m):
    def program(x):
        x.add_(1)
        return x * 2

    return program


def changed_slice_of_unbind(m):
    def program(x):
        a, _ = x.unbind(0)
        a.mul_(2)

    return program


def added_into(m):
    return lambda x: m.add(x, 1, out=m.empty(2, 2))


# name: (program of a module, whether views are made again, operators below)
PROBES = {
    "view": (viewed_and_changed, True, ["clone", "view", "add.Tensor", "view", "view"]),
    "view_copy": (viewed_and_changed, False, ["clone", "view_copy", "add.Tensor", "view_copy", "view_copy"]),
    "input": (changed_input, True, ["add.Tensor", "mul.Tensor"]),
    "unbind": (changed_slice_of_unbind, True, ["unbind.int", "mul.Tensor", "select_scatter", "unbind.int"]),
    "transpose_": (lambda m: lambda x: x.transpose_(0, 1), True, ["transpose.int"]),
    "out": (added_into, True, ["empty.memory_format", "add.Tensor"]),
}


@pytest.mark.parametrize("name", PROBES)
def test_probe_table(name):
    program, reapply_views, expected = PROBES[name]
    below, _, _ = functionalized(program(minitorch), minitorch.ones(2, 2), reapply_views=reapply_views)
    assert below.names == expected


def both(name, shape, program, dtype="float32"):
    return pytest.param(shape, dtype, program, id=name)


# What is called below is compared with PyTorch.
PROGRAMS = [
    *(both(name, (2, 2), program(None)) for name, (program, _, _) in PROBES.items() if name != "out"),
    both("zero_", (2,), lambda x: x.zero_()),
    both("copy_", (2,), lambda x: x.copy_(x * 2)),
    both("fill_", (2,), lambda x: x.fill_(3)),
    both("uniform_", (2,), lambda x: x.uniform_()),
    both("normal_", (2,), lambda x: x.normal_()),
    both("bernoulli_", (2,), lambda x: x.bernoulli_(0.5)),
    both("random_", (2,), lambda x: x.random_()),
    both("random_ with bound", (2,), lambda x: x.random_(3)),
    both("exponential_", (2,), lambda x: x.exponential_()),
    both("resize_ larger", (4,), lambda x: x.resize_(8)),
    both("detach", (4,), lambda x: x.detach().add_(1)),
    both("detach_", (4,), lambda x: x.detach_()),
    both("split", (4,), lambda x: x.split(2)[1].add_(1)),
    both("split_with_sizes", (4,), lambda x: x.split([1, 3])[1].add_(1)),
    both("chunk", (4,), lambda x: x.chunk(2)[1].add_(1)),
    both("squeeze of a dim", (1, 4), lambda x: x.squeeze(0).add_(1)),
    both("squeeze", (1, 4), lambda x: x.squeeze().add_(1)),
    both("t", (2, 3), lambda x: x.t().add_(1)),
    both("permute", (2, 3), lambda x: x.permute(1, 0).add_(1)),
    both("transpose", (2, 3), lambda x: x.transpose(0, 1).add_(1)),
    both("view of a dtype", (2, 3), lambda x: x.view(x.to(int_of(x)).dtype).add_(1)),
    both("diagonal", (2, 3), lambda x: x.diagonal().add_(1)),
    both("slice", (2, 3), lambda x: x[1:].add_(1)),
    both("select", (2, 3), lambda x: x[1].add_(1)),
    both("unsqueeze_", (2, 3), lambda x: x.unsqueeze_(0).add_(1)),
    both("out is the input", (2, 3), lambda x: module_of(x).add(x, 1, out=x)),
    both("chain of views", (2, 2), lambda x: (x.view(4)[1:3].mul_(2), x * 2)[1]),
    both("never read", (4,), lambda x: x[:2].detach()),
    both("view_as_real", (3,), lambda x: module_of(x).view_as_real(x).add_(1), "complex64"),
    both("masked_fill_", (3,), lambda x: x.masked_fill_(x > 0, 2.0)),
    both("index_put_", (3,), lambda x: x.index_put_([x.long()], x)),
    both("squeeze_", (1, 3), lambda x: x.squeeze_(0)),
    both("t_ and change", (2, 3), lambda x: x.t_().mul_(2)),
    both("into another dtype", (3,), lambda x: x.long().mul_(2).float()),
    both("item", (1,), lambda x: x.add_(1).item()),
]


def module_of(tensor):
    """Return the library whose tensor it is."""
    import sys

    return sys.modules[type(tensor).__module__.partition(".")[0]]


def int_of(tensor):
    return module_of(tensor).int32


def torch_below(torch, program, array, reapply_views):
    """Return the operators that PyTorch calls below, and the value of the input afterwards."""
    from torch.utils._python_dispatch import TorchDispatchMode

    names = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(str(func).removeprefix("aten.").removesuffix(".default"))
            return func(*args, **(kwargs or {}))

    wrapper = torch._to_functional_tensor(torch.from_numpy(array.copy()))
    torch._enable_functionalization(reapply_views=reapply_views)
    try:
        with Log():
            result = program(wrapper)
            if isinstance(result, torch.Tensor) and torch._is_functional_tensor(result):
                torch._sync(result)
            torch._sync(wrapper)
    finally:
        torch._disable_functionalization()
    return names, torch._from_functional_tensor(wrapper)


RANDOM = ("uniform", "normal_functional", "bernoulli.p", "random", "random.to", "exponential", "resize")


@pytest.mark.oracle
@pytest.mark.parametrize("reapply_views", [True, False])
@pytest.mark.parametrize(("shape", "dtype", "program"), PROGRAMS)
def test_the_operators_below_are_those_of_torch(torch, shape, dtype, program, reapply_views):
    array = (np.arange(1, np.prod(shape) + 1) % 3).reshape(shape).astype(dtype)
    expected, value = torch_below(torch, program, array, reapply_views)
    below, _, (wrapper,) = functionalized(program, minitorch.from_numpy(array.copy()), reapply_views=reapply_views)
    assert below.names == expected
    assert not below.mutating
    if not set(expected) & set(RANDOM):
        np.testing.assert_array_equal(wrapper.handle.value.numpy(), value.numpy())
