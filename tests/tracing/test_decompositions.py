"""Decompositions compute what their operators do."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import minitorch as mt
import minitorch.nn.functional as F
from minitorch._decomp import (
    core_aten_decompositions,
    decomposition_table,
    get_decompositions,
    register_decomposition,
    remove_decompositions,
)
from minitorch.fx.experimental.proxy_tensor import make_fx
from minitorch.modes import TorchDispatchMode
from minitorch.testing.op_db import op_db

aten = mt.ops.aten
# Reached by the records below, forward or backward, when they run with gradients.
WRITTEN_HERE = {op for op, fn in core_aten_decompositions().items() if fn.__module__.startswith("minitorch._decomp")}
RECORDS = {
    "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "baddbmm", "batch_norm", "clamp_max", "clamp_min",
    "frac", "layer_norm", "group_norm", "logit", "logsumexp", "nan_to_num", "native_batch_norm",
    "nn.functional.binary_cross_entropy", "nn.functional.cross_entropy", "nn.functional.elu", "nn.functional.gelu",
    "nn.functional.glu", "nn.functional.hardsigmoid", "nn.functional.hardswish", "nn.functional.hardtanh",
    "nn.functional.huber_loss", "nn.functional.leaky_relu", "nn.functional.mish", "nn.functional.mse_loss",
    "nn.functional.nll_loss", "nn.functional.silu", "nn.functional.smooth_l1_loss", "nn.functional.softmax",
    "nn.functional.softplus", "nn.functional.relu", "rsub", "sigmoid", "std", "tanh", "transpose", "t", "var",
    "var_mean", "xlogy", "matmul", "nn.functional.lp_pool1d", "acos", "mv", "_softmax_backward_data",
}  # fmt: skip


def flat(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


class Compare(TorchDispatchMode):
    """Runs the decomposition of each operator too, and compares."""

    def __init__(self, what):
        super().__init__()
        self.what = what
        self.compared = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        fn = decomposition_table.get(func)
        if fn is None:
            return func(*args, **kwargs)
        expected, result = func(*args, **kwargs), fn(*args, **kwargs)
        self.compared.add(func)
        for i, (one, other) in enumerate(zip(flat(result), flat(expected), strict=True)):
            self.compare(one, other, f"{self.what}: {func}, result {i}", "empty" not in func.basename)
        return expected

    @staticmethod
    def compare(one, other, what, initialized):
        if not isinstance(other, mt.Tensor):
            assert one is other is None, what
            return
        assert (one.shape, one.dtype) == (other.shape, other.dtype), what
        if initialized:
            tolerance = (2e-2, 2e-2) if other.dtype in (mt.bfloat16, mt.float16) else (3e-5, 1e-5)
            mt.testing.assert_close(
                one, other, rtol=tolerance[0], atol=tolerance[1], equal_nan=True, msg=lambda t: f"{what}: {t}"
            )


def compare_all(record, dtype):
    mode = Compare(record.name)
    for sample in record.samples(dtype):
        inputs = [t for t in sample.tensors() if t.dtype.is_floating_point or t.dtype.is_complex]
        for tensor in inputs:
            if tensor.is_leaf:
                tensor.requires_grad_()
        try:
            with mt.no_grad():
                record.function(*sample.args, **sample.kwargs)
        except (RuntimeError, TypeError, ValueError):
            continue
        with mode:
            roots = [
                r
                for r in flat(record.function(*sample.args, **sample.kwargs))
                if isinstance(r, mt.Tensor) and r.requires_grad
            ]
            if roots and record.autograd:
                wanted = [t for t in inputs if t.requires_grad]
                with suppress(NotImplementedError):  # by some inputs there is no derivative
                    mt.autograd.grad(roots, wanted, [mt.full_like(r.detach(), 0.7) for r in roots], allow_unused=True)
    return mode.compared


@pytest.mark.op_db
@pytest.mark.parametrize(
    "record", [r for r in op_db if not r.random and not r.name.endswith("_")], ids=lambda record: record.name
)
def test_over_op_db(record):
    compare_all(record, getattr(mt, record.dtypes[0]))


def test_every_decomposition_is_compared():
    compared = set()
    for record in op_db:
        if record.name in RECORDS:
            compared |= compare_all(record, getattr(mt, record.dtypes[0]))
    # Operators that no public function calls in this way; they have tests of their own below.
    missing = {str(op) for op in WRITTEN_HERE - compared}
    assert missing == {"aten._native_batch_norm_legit_functional.default", "aten.native_dropout_backward.default"}


@pytest.mark.parametrize(
    "name", ["nn.functional.gelu", "nn.functional.silu", "nn.functional.softmax", "layer_norm", "group_norm", "addmm"]
)
def test_half_formats_are_rounded_once(name):
    record = next(r for r in op_db if r.name == name)
    assert compare_all(record, mt.bfloat16)


@pytest.mark.parametrize("training", [True, False])
def test_functional_batch_norm(training):
    x, weight = mt.arange(24.0).sin().reshape(4, 3, 2), mt.tensor([1.0, 2.0, 3.0])
    args = (x, weight, None, mt.tensor([0.1, 0.2, 0.3]), mt.tensor([1.0, 2.0, 0.5]), training, 0.1, 1e-5)
    with Compare("functional batch norm") as mode:
        results = aten._native_batch_norm_legit_functional(*args)
    assert aten._native_batch_norm_legit_functional.default in mode.compared
    mean, var = args[3].clone(), args[4].clone()
    expected = aten.native_batch_norm(x, weight, None, mean, var, training, 0.1, 1e-5)
    mt.testing.assert_close(results[0], expected[0])
    mt.testing.assert_close(results[3:], (mean, var))


def test_functional_batch_norm_has_a_gradient():
    x = mt.arange(24.0).sin().reshape(4, 3, 2).to(mt.float64).requires_grad_()
    weight = mt.tensor([1.0, 2.0, 3.0], dtype=mt.float64, requires_grad=True)
    mean, var = mt.zeros(3, dtype=mt.float64), mt.ones(3, dtype=mt.float64)

    def f(x, weight):
        return aten._native_batch_norm_legit_functional(x, weight, None, mean, var, True, 0.1, 1e-5)[0]

    assert mt.autograd.gradcheck(f, (x, weight))


def test_dropout_backward():
    grad, mask = mt.arange(6.0), mt.tensor([True, False, True, True, False, True])
    with Compare("dropout") as mode:
        aten.native_dropout_backward(grad, mask, 1.25)
    assert mode.compared == {aten.native_dropout_backward.default}


# -- tables ------------------------------------------------------------------------------------------


def test_traces_with_a_table():
    x = mt.arange(12.0).reshape(3, 4)
    table = get_decompositions([aten.gelu, aten.addmm, aten.native_layer_norm, aten.t])
    layer = mt.nn.Linear(4, 4)

    def f(x):
        return F.gelu(layer(F.layer_norm(x, [4])))

    graph = make_fx(f, table)(x)
    names = {str(n.target) for n in graph.graph.nodes if n.op == "call_function"}
    assert not names & {str(op) for op in table}
    assert {"aten.erf.default", "aten.mm.default", "aten.transpose.int", "aten.rsqrt.default"} <= names
    mt.testing.assert_close(graph(x), f(x))


def test_core_decompositions_leave_simple_operators():
    x = mt.arange(24.0).sin().reshape(2, 3, 4).requires_grad_()

    def f(x):
        y = F.log_softmax(F.silu(F.group_norm(x, 3)), -1).flatten(0, 1)
        return mt.autograd.grad(F.cross_entropy(y, mt.arange(6) % 4), x)[0]

    graph = make_fx(f, core_aten_decompositions())(x)
    left = {n.target.basename for n in graph.graph.nodes if n.op == "call_function" and hasattr(n.target, "basename")}
    assert not left & {
        "silu",
        "native_group_norm",
        "_log_softmax",
        "nll_loss_forward",
        "nll_loss_backward",
        "silu_backward",
        "t",
    }
    mt.testing.assert_close(graph(x), f(x))


def test_tables_of_ones_own():
    table = {}

    @register_decomposition([aten.sin, aten.cos.default], table)
    def zero(x):
        return mt.zeros_like(x)

    assert aten.sin.default in table
    assert aten.cos.default in table
    assert aten.sin.default not in decomposition_table
    with pytest.raises(RuntimeError, match="duplicate registrations"):
        register_decomposition(aten.sin.default, table)(zero)
    remove_decompositions(table, [aten.sin])
    assert list(table) == [op for op in table if op.basename == "cos"]
    assert table
    with pytest.raises(RuntimeError, match="duplicate registrations"):
        register_decomposition(aten.gelu)(zero)


def test_random_operators_and_views_have_none():
    table = core_aten_decompositions()
    assert aten.bernoulli.Tensor not in table
    assert aten.lift_fresh_copy.default not in table
    assert not any(a.is_write for op in table for a in op._schema.arguments)
    assert np.all([callable(fn) for fn in table.values()])
