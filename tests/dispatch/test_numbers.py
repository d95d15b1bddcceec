"""Python numbers in the place of tensors (spec R10)."""

from __future__ import annotations

import pytest

import minitorch
from minitorch.dispatch.key_set import DispatchKeySet
from minitorch.dispatch.namespace import ops

_ALLOWED = (
    "add",
    "sub",
    "subtract",
    "mul",
    "multiply",
    "div",
    "divide",
    "true_divide",
    "floor_divide",
)


@pytest.mark.parametrize("name", _ALLOWED)
def test_a_number_stands_for_a_tensor(name):
    x = minitorch.tensor([4.0, 8.0])
    expected = getattr(minitorch, name)(x, minitorch.tensor(2.0)).tolist()
    overload = getattr(ops.aten, name).default if name == "floor_divide" else getattr(ops.aten, name).Tensor
    assert getattr(minitorch, name)(x, 2).tolist() == expected
    assert overload(x, 2).tolist() == expected
    assert getattr(ops.aten, name)(x, 2.0).tolist() == expected
    assert getattr(minitorch, name)(x, 2, out=minitorch.empty(2)).tolist() == expected
    assert getattr(x.clone(), f"{name}_")(2).tolist() == expected
    first = getattr(minitorch, name)(16, x)
    assert first.tolist() == getattr(minitorch, name)(minitorch.tensor(16.0), x).tolist()


def test_a_number_contributes_no_key_that_matters(recorder, bare):
    """CPU is the lowest backend, so a number never decides where a call goes."""
    meta = minitorch.ones(2, device="meta")
    assert (meta + 2).device.type == "meta"
    assert minitorch.add(2, meta).device.type == "meta"
    record = recorder("add(Tensor self, Tensor other) -> ()")
    record.op.allow_numbers = True
    for key in ("CPU", "SparseCPU"):
        record.kernel(key)
    assert record.call(bare("SparseCPU"), 2) == ["SparseCPU"]
    assert record.key_sets[0].has("SparseCPU")
    assert record.key_sets[0].backends() == DispatchKeySet("CPU").backends()


@pytest.mark.parametrize(
    ("call", "value", "dtype"),
    [
        (lambda: minitorch.add(1, 2), 3, minitorch.int64),
        (lambda: minitorch.add(1.5, 2), 3.5, minitorch.float32),
        (lambda: minitorch.add(True, False), True, minitorch.bool),
        (lambda: minitorch.add(1, 2, alpha=10), 21, minitorch.int64),
        (lambda: minitorch.mul(2, 3j), 6j, minitorch.complex64),
        (lambda: minitorch.sub(1, 2), -1, minitorch.int64),
        (lambda: minitorch.div(1, 2), 0.5, minitorch.float32),
        (lambda: minitorch.floor_divide(7, 2), 3, minitorch.int64),
        (lambda: ops.aten.add.Tensor(1, 2), 3, minitorch.int64),
        (lambda: minitorch.add(1, 2, out=minitorch.zeros(())), 3.0, minitorch.float32),
    ],
)
def test_numbers_alone_make_tensors_of_the_cpu(call, value, dtype):
    result = call()
    assert result.item() == value
    assert result.dtype is dtype
    assert result.shape == ()
    assert result.device.type == "cpu"


def test_an_operator_without_tensors_still_says_so(library):
    lib = library()
    lib.define("add(Tensor[] xs) -> Tensor")
    op = ops.testing.add.default
    op.allow_numbers = True
    with pytest.raises(NotImplementedError, match="no tensor arguments"):
        op([])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: minitorch.maximum(x, 2),
        lambda x: minitorch.maximum(1, 2),
        lambda x: minitorch.rsub(2, x),
        lambda x: minitorch.rsub(2, 3),
        lambda x: minitorch.matmul(x, 2),
        lambda x: minitorch.exp(2.0),
    ],
)
def test_elsewhere_it_is_a_type_error(call):
    with pytest.raises(TypeError, match="must be Tensor|invalid combination of arguments"):
        call(minitorch.ones(2))


@pytest.mark.parametrize("place", [(2, None), (None, 2)])
def test_operator_objects_raise_a_mismatch(place):
    x = minitorch.ones(2)
    arguments = [x if value is None else value for value in place]
    for op in (ops.aten.rsub.Tensor, ops.aten.maximum.default):
        with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor'"):
            op(*arguments)
    assert ops.aten.rsub.Scalar(x, 2).tolist() == [1.0, 1.0]
    assert (2 - x).tolist() == [1.0, 1.0]


def test_custom_operators_take_no_numbers(library):
    lib = library()
    lib.define("plus(Tensor self, Tensor other) -> Tensor")
    lib.impl("plus", lambda self, other: self + other, "CompositeImplicitAutograd")
    with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor' for argument 'other'"):
        ops.testing.plus(minitorch.ones(2), 2)


def test_reflected_operators_are_methods_of_tensors():
    x = minitorch.ones(2, dtype=minitorch.int64)
    for name in ("__rand__", "__ror__", "__rxor__"):
        method = getattr(minitorch.Tensor, name)
        assert method(x, 3).dtype is minitorch.int64
        with pytest.raises(TypeError, match=f"descriptor '{name}'.*'int' object"):
            method(3, x)
    with pytest.raises(AttributeError, match="reciprocal"):
        minitorch.Tensor.__rdiv__(3, x)
