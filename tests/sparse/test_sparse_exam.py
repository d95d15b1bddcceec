"""The exam of sparse operators: every row of the table, in every layout, against dense tensors, PyTorch and differences."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sparse_exam_table import LAYOUTS, TABLE, arrays, operands, sparse

import minitorch
from minitorch.autograd import gradcheck, gradgradcheck
from minitorch.fake.mode import FakeTensorMode

aten = minitorch.ops.aten
DTYPES = {"f": "float32", "i": "int64", "c": "complex128"}
CASES = [(row, layout) for row in TABLE for layout in LAYOUTS]
IDS = [f"{row.name}-{layout}" for row, layout in CASES]


def dense(value):
    """Return what is compared: tensors made dense, as arrays."""
    if isinstance(value, (list, tuple)):
        return [dense(item) for item in value]
    if not hasattr(value, "layout"):
        return value
    if str(value.layout) != "torch.strided":
        value = value.to_dense()
    return value.resolve_conj().numpy() if value.dtype.is_complex else value.numpy()


def check_same(got, expected):
    if isinstance(expected, list):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            check_same(a, b)
        return
    if not isinstance(expected, np.ndarray):
        assert got == expected
        return
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    tolerance = 1e-5 if got.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def run(lib, row, layout, dtype):
    x, y = (sparse(lib, a, layout) for a in arrays(layout, dtype))
    return row.fn(lib, x, y, operands(lib, "float64" if dtype.startswith("complex") else dtype))


@pytest.mark.parametrize(("row", "layout"), CASES, ids=IDS)
def test_values_are_those_of_dense_tensors(row, layout):
    for dtype in ("float64", *[DTYPES[letter] for letter in row.dtypes]):
        if layout in row.refuses:
            with pytest.raises(RuntimeError, match=r"sparse|dense|dimension|block"):
                run(minitorch, row, layout, dtype)
            return
        x, y = (minitorch.tensor(a.tolist(), dtype=getattr(minitorch, dtype)) for a in arrays(layout, dtype))
        expected = row.fn(minitorch, x, y, operands(minitorch, "float64" if dtype.startswith("complex") else dtype))
        check_same(dense(run(minitorch, row, layout, dtype)), dense(expected))


def kind(value):
    """Return what PyTorch and we must agree on besides elements: layout, dimensions of each kind, coalescedness."""
    if isinstance(value, (list, tuple)):
        return [kind(item) for item in value]
    if not hasattr(value, "layout"):
        return None
    layout = str(value.layout)
    if layout == "torch.sparse_coo":
        return layout, value.sparse_dim(), value.dense_dim(), value.is_coalesced()
    return layout




@pytest.mark.oracle
@pytest.mark.parametrize("layout", LAYOUTS)
def test_results_are_those_of_pytorch_where_it_has_the_operator(torch, layout):
    compared = 0
    for row in TABLE:
        for dtype in ("float64", *[DTYPES[letter] for letter in row.dtypes]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    expected = run(torch, row, layout, dtype)
                    elements = dense(expected)
                except (RuntimeError, TypeError, IndexError, AttributeError):
                    continue  # it has not
            got = run(minitorch, row, layout, dtype)
            if not (layout == "hybrid" and row.name == "sum 1"):  # PyTorch makes the dense dimension that is kept a sparse one
                assert kind(got) == kind(expected), f"{row.name} of {dtype}"
            check_same(dense(got), elements)
            compared += 1
    assert compared > (60 if layout in ("coo", "uncoalesced", "hybrid") else 25)


# What asks for elements, to say how many there are or whether they are the same.
OF_ELEMENTS = (
    "equal", "allclose", "x[row mask]", "x[mask]", "masked_select", "nonzero", "x @ y", "sum 0", "sum 1", "amax", "amin",
)  # fmt: skip


def geometry(value):
    if isinstance(value, (list, tuple)):
        return [geometry(item) for item in value]
    return (value.shape, value.dtype, value.layout, value.device) if hasattr(value, "layout") else value


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fake_tensors_have_the_geometry_of_real_ones(layout):
    for row in TABLE:
        if layout in row.refuses or row.name in OF_ELEMENTS:
            continue
        x, y = (sparse(minitorch, a, layout) for a in arrays(layout))
        real = operands(minitorch)
        with FakeTensorMode() as mode:
            fake = SimpleNamespace(**{name: mode.from_tensor(value) for name, value in vars(real).items()})
            got = row.fn(minitorch, mode.from_tensor(x), mode.from_tensor(y), fake)
        assert geometry(got) == geometry(row.fn(minitorch, x, y, real)), row.name


ON_DEVICES = (
    "sin", "x / 2", "add(x, y)", "mul(x, y)", "dense + x", "x * dense", "maximum(x, y)", "where", "transpose", "x[0:2]", "select",
    "index_select", "x[mask]", "cat", "tril",
)  # fmt: skip


@pytest.mark.parametrize("layout", ["uncoalesced", "csr", "bsr"])
@pytest.mark.filterwarnings("ignore::UserWarning")  # a compiler's log is no matter of ours
def test_another_device_gives_the_same(layout):
    drivers = pytest.importorskip("minitorch.backends.opencl.drivers")
    try:
        drivers.usable()
    except drivers.OpenCLUnavailable as error:
        pytest.skip(str(error).partition("\n")[0])
    for row in TABLE:
        if row.name not in ON_DEVICES:
            continue
        x, y = (sparse(minitorch, a, layout).float() for a in arrays(layout))
        here = operands(minitorch, "float32")
        there = SimpleNamespace(**{name: value.to("opencl") for name, value in vars(here).items()})
        got = row.fn(minitorch, x.to("opencl"), y.to("opencl"), there)
        assert got.device.type == "opencl", row.name
        check_same(dense(got.cpu()), dense(row.fn(minitorch, x, y, here)))


# ---------------------------------------------------------------- gradients


def values_of(tensor):
    return (tensor._values() if tensor.layout is minitorch.sparse_coo else tensor.values()).detach().clone().requires_grad_()


def dense_parts(result):
    """Return the results with a gradient, dense and differentiable."""
    if isinstance(result, (list, tuple)):
        return [part for item in result for part in dense_parts(item)]
    if not result.requires_grad:
        return []
    return [result if result.layout is minitorch.strided else result.to_dense()]


def function_of_values(row, layout):
    """Return a function of the values of two sparse tensors, and values."""
    x, y = (sparse(minitorch, a, layout) for a in arrays(layout))

    def function(a, b):
        given = aten._sparse_with_values(x, a), aten._sparse_with_values(y, b)
        return tuple(dense_parts(row.fn(minitorch, *given, operands(minitorch))))

    return function, (values_of(x), values_of(y))


SMOOTH = [(row, layout) for row, layout in CASES if row.is_smooth and layout not in row.refuses and layout in ("coo", "csr")]


@pytest.mark.parametrize(("row", "layout"), SMOOTH, ids=[f"{row.name}-{layout}" for row, layout in SMOOTH])
def test_gradients_of_values(row, layout):
    function, values = function_of_values(row, layout)
    assert gradcheck(function, values)


OTHERS = [
    (row, layout) for row, layout in CASES
    if row.is_smooth and layout not in row.refuses and layout in ("hybrid", "csc", "bsr")
    and "o" in row.name and "hypot" not in row.name
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("row", "layout"), OTHERS, ids=[f"{row.name}-{layout}" for row, layout in OTHERS])
def test_gradients_in_the_other_layouts(row, layout):
    function, values = function_of_values(row, layout)
    assert gradcheck(function, values)


TWICE = (
    "sin", "add(x, y)", "mul(x, y)", "x * dense", "transpose", "x[0:2]", "select", "index_select", "cat", "maximum(x, y)",
    "pow 2",
)  # fmt: skip


@pytest.mark.parametrize("layout", ["coo", "csr"])
@pytest.mark.parametrize("row", [row for row in TABLE if row.name in TWICE], ids=lambda row: row.name)
def test_second_gradients_of_values(row, layout):
    function, values = function_of_values(row, layout)
    assert gradgradcheck(function, values)


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr"])
@pytest.mark.parametrize("name", ["sin", "x * 2", "mul(x, y)", "transpose", "x[0:2]", "select", "index_select"])
def test_gradients_of_sparse_leaves_have_their_layout(layout, name):
    row = next(row for row in TABLE if row.name == name)
    x, y = (sparse(minitorch, a, layout) for a in arrays(layout))
    x.requires_grad_()
    row.fn(minitorch, x, y, operands(minitorch)).to_dense().sum().backward()
    assert x.grad.layout is x.layout
    assert x.grad.shape == x.shape
    leaf = minitorch.tensor(arrays(layout)[0].tolist(), dtype=minitorch.float64, requires_grad=True)
    row.fn(minitorch, leaf, y.to_dense(), operands(minitorch)).sum().backward()
    there = (x.detach().to_dense() != 0).double()
    np.testing.assert_allclose((x.grad.to_dense() * there).numpy(), (leaf.grad * there).numpy(), atol=1e-12)


OF_LEAVES = ("sin", "x * 2", "mul(x, y)", "x * dense", "dense + x", "pow 2", "t", "select", "index_select", "x[0:2]", "cat")


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_gradients_of_sparse_leaves_by_differences(layout):
    x, y = (sparse(minitorch, a, layout) for a in arrays(layout))
    for row in TABLE:
        if row.name in OF_LEAVES:
            function = lambda leaf, row=row: dense_parts(row.fn(minitorch, leaf, y, operands(minitorch)))[0]  # noqa: E731
            assert gradcheck(function, (x.detach().requires_grad_(),), masked=True), row.name


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_forward_mode_and_function_transforms(layout):
    x, direction = (sparse(minitorch, a, layout) for a in (arrays(layout)[0], arrays(layout)[0] * 0.7))
    for row in TABLE:
        if row.name not in OF_LEAVES or row.name == "mul(x, y)":
            continue
        function = lambda leaf, row=row: row.fn(minitorch, leaf, leaf, operands(minitorch))  # noqa: E731
        _, tangent = minitorch.func.jvp(function, (x,), (direction,))
        _, expected = minitorch.func.jvp(function, (x.to_dense(),), (direction.to_dense(),))
        check_same(dense(tangent), dense(expected))
    got = minitorch.func.grad(lambda leaf: (leaf.sin() * leaf).to_dense().sum())(x)
    assert got.layout is x.layout
    values = x.to_dense()
    check_same(dense(got), dense(values.cos() * values + values.sin()))
