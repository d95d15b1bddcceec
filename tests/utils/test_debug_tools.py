"""The tools on modes: `DebugMode`, `CrossReferenceMode`, `FiniteCheckMode`, `OpCounterMode` and `ModuleTracker`."""

from __future__ import annotations

import gc
import io
import weakref

import pytest

import minitorch
from minitorch import nn
from minitorch.dispatch.library import Library
from minitorch.dispatch.namespace import ops
from minitorch.func import grad, vmap
from minitorch.utils._debug_mode import DebugMode
from minitorch.utils.debug import (
    CrossReferenceError,
    CrossReferenceMode,
    FiniteCheckMode,
    NonFiniteError,
    OpCounterMode,
    print_calls,
)
from minitorch.utils.module_tracker import ModuleTracker


@pytest.fixture
def define():
    made = []

    def define(schema, **kernels):
        if not made:
            made.append(Library("testing", "FRAGMENT"))
        name = made[0].define(schema)
        for key, fn in kernels.items():
            made[0].impl(name, fn, key)
        return getattr(ops.testing, name.partition(".")[0])

    yield define
    for lib in made:
        lib._destroy()


def net():
    return nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1)))


# -- where one is ----------------------------------------------------------------------------------


def test_the_tracker_knows_modules_forward_and_backward():
    seen = []

    class Spy(minitorch.modes.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((func.basename, tracker.innermost, tracker.is_bw))
            return func(*args, **(kwargs or {}))

    model = net()
    x = minitorch.ones(1, 2)
    with ModuleTracker() as tracker, Spy():
        model(x).sum().backward()
    assert ("addmm", "Sequential.0", False) in seen
    assert ("relu", "Sequential.1.0", False) in seen
    assert ("addmm", "Sequential.1.1", False) in seen
    assert ("sum", "Global", False) in seen
    assert ("threshold_backward", "Sequential.1.0", True) in seen
    assert {name for op, name, backward in seen if op == "mm" and backward} == {"Sequential.1.1", "Sequential.0"}
    assert tracker.parents == {"Global"}
    assert not tracker.is_bw


def test_watching_keeps_no_graph_alive():
    gc.collect()
    gc.disable()
    try:
        with ModuleTracker():
            y = net()(minitorch.ones(1, 2, requires_grad=True) * 2)
            alive = weakref.ref(y)
            del y
            assert alive() is None
    finally:
        gc.enable()


# -- DebugMode -------------------------------------------------------------------------------------


def test_lines_with_modules_and_functions():
    model = net()
    with DebugMode(record_nn_module=True, record_torchfunction=True) as mode:
        model(minitorch.ones(1, 2))
    assert mode.debug_string().splitlines() == [
        "torch.ones(1, 2)  ->  f32[1, 2]",
        "  aten.ones.default([1, 2])  ->  f32[1, 2]",
        "[nn.Mod] Sequential",
        "  [nn.Mod] Sequential.0",
        "    torch.linear(f32[1, 2], f32[3, 2], f32[3])  ->  f32[1, 3]",
        "      aten.t.default(f32[3, 2])  ->  f32[2, 3]",
        "      aten.addmm.default(f32[3], f32[1, 2], f32[2, 3])  ->  f32[1, 3]",
        "  [nn.Mod] Sequential.1",
        "    [nn.Mod] Sequential.1.0",
        "      torch.relu(f32[1, 3])  ->  f32[1, 3]",
        "        aten.relu.default(f32[1, 3])  ->  f32[1, 3]",
        "    [nn.Mod] Sequential.1.1",
        "      torch.linear(f32[1, 3], f32[1, 3], f32[1])  ->  f32[1, 1]",
        "        aten.t.default(f32[1, 3])  ->  f32[3, 1]",
        "        aten.addmm.default(f32[1], f32[1, 3], f32[3, 1])  ->  f32[1, 1]",
    ]


def test_backward_has_lines_too():
    model = net()
    with DebugMode(record_nn_module=True, record_output=False) as mode:
        model(minitorch.ones(1, 2)).sum().backward()
    first = mode.logs.index("  [nn.Mod] Sequential.1 (backward)")
    assert mode.logs[first - 1 : first + 2] == [
        "[nn.Mod] Sequential (backward)", "  [nn.Mod] Sequential.1 (backward)", "    [nn.Mod] Sequential.1.1 (backward)",
    ]  # fmt: skip
    assert any("aten.threshold_backward.default" in line for line in mode.logs)


def test_lines_are_printed_before_the_call(capsys):
    stream = io.StringIO()
    with DebugMode(stream=stream) as mode, pytest.raises(RuntimeError):
        minitorch.ones(2) @ minitorch.ones(3)
    assert stream.getvalue().splitlines()[-1] == mode.logs[-1]
    assert mode.logs[-1].startswith("aten.dot.default(f32[2], f32[3])")
    with print_calls():
        minitorch.zeros(1)
    assert capsys.readouterr().err == "aten.zeros.default([1])\n"


# -- CrossReferenceMode ----------------------------------------------------------------------------


def training_step():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    optimizer = minitorch.optim.AdamW(model.parameters())
    loss = nn.functional.cross_entropy(model(minitorch.randn(4, 1, 4, 4)), minitorch.tensor([0, 1, 2, 0]))
    loss.backward()
    optimizer.step()


def test_a_training_step_agrees_with_meta():
    with CrossReferenceMode() as mode:
        training_step()
    assert mode.disagreements == []
    assert mode.compared["aten.convolution.default"] == 1
    assert mode.compared["aten.convolution_backward.default"] == 1
    assert not mode.unsupported


@pytest.mark.parametrize(
    ("meta", "what"),
    [
        (lambda x: x.new_empty(3), "shape"),
        (lambda x: x.new_empty(2, 3, dtype=minitorch.float64), "dtype"),
        (lambda x: x.new_empty(3, 2).t(), "stride"),
    ],
)
def test_each_kind_of_disagreement(define, meta, what):
    op = define("f(Tensor x) -> Tensor", CPU=lambda x: x + 1, Meta=meta)
    model = nn.Module()
    model.forward = op
    with pytest.raises(CrossReferenceError, match=f"{what} of the result is") as error, CrossReferenceMode():
        model(minitorch.ones(2, 3))
    found = error.value.disagreement
    assert (found.op, found.what, found.module) == (op.default, what, "Module")
    assert found.call == "testing.f.default(f32[2, 3])"
    with CrossReferenceMode(first=False) as mode:
        op(minitorch.ones(2, 3))
        op(minitorch.ones(2, 3))
    assert [d.what for d in mode.disagreements] == [what, what]
    with CrossReferenceMode(strides=False, first=False) as mode:
        op(minitorch.ones(2, 3))
    assert bool(mode.disagreements) == (what != "stride")
    with CrossReferenceMode(ignore=[op]) as mode:
        op(minitorch.ones(2, 3))
    assert not mode.compared["testing.f.default"]


def test_several_results_errors_and_what_cannot_be_compared(define):
    lists = define("f(Tensor x) -> Tensor[]", CPU=lambda x: [x.clone()], Meta=lambda x: [x.clone(), x.clone()])

    def fails(x):
        raise RuntimeError("not this shape")

    errors = define("g(Tensor x) -> Tensor", CPU=lambda x: x.clone(), Meta=fails)
    without = define("h(Tensor x) -> Tensor", CPU=lambda x: x.clone())
    x = minitorch.ones(2)
    with CrossReferenceMode(first=False) as mode:
        lists(x)
        errors(x)
        without(x)
        x.sum().item()
    assert [d.what for d in mode.disagreements] == ["number of results", "error"]
    assert "not this shape" in mode.disagreements[1].found
    assert mode.unsupported["testing.h.default"] == 1
    assert mode.unsupported["aten._local_scalar_dense.default"] == 1


def test_written_arguments_are_compared(define):
    op = define("f(Tensor(a!) x) -> ()", CPU=lambda x: (x.t_(), None)[1], Meta=lambda x: None)
    with CrossReferenceMode(first=False) as mode:
        op(minitorch.ones(2, 3))
    assert mode.disagreements[0].where == "the written argument x"


def test_values_on_a_second_device(define):
    """The CPU stands for the second device: only the kernel below sees that it is the copy."""
    calls = []

    def kernel(x):
        calls.append(x)
        return x + len(calls)  # another result for the copy

    op = define("f(Tensor x) -> Tensor", CPU=kernel)
    x = minitorch.ones(2, 3).t()
    with CrossReferenceMode("cpu", first=False) as mode:
        x[0].exp_()
        y = op(x)
    (found,) = mode.disagreements
    assert (found.op, found.what) == (op.default, "values")
    assert calls[1] is not x
    assert calls[1].stride() == x.stride()
    assert y.tolist() == (x + 1).tolist()
    with CrossReferenceMode("cpu", atol=1.5) as mode:
        op(x)
        minitorch.rand(3)  # draws are not compared
    assert not mode.disagreements


def test_the_bits_and_expanded_memory_are_kept():
    x = minitorch.tensor([1 + 2j, 3 - 1j]).conj()
    with CrossReferenceMode("cpu") as mode:
        assert (x + 0).tolist() == [1 - 2j, 3 + 1j]
        x.imag + 1
        minitorch.ones(1).expand(4) + 1
    assert mode.compared["aten.add.Tensor"] == 3


def test_agreement_with_opencl():
    pytest.importorskip("pyopencl", reason="compares with a device of OpenCL")
    if not minitorch.opencl.is_available():
        pytest.skip("there is no driver of OpenCL")
    with CrossReferenceMode("opencl", rtol=1e-4, atol=1e-4) as mode:
        training_step()
    assert sum(mode.compared.values()) > 20


def test_inside_of_transforms():
    x = minitorch.ones(3, 2)
    with CrossReferenceMode() as mode, OpCounterMode() as counter:
        vmap(grad(lambda row: (row * row).sum()))(x)
    assert mode.compared["aten.mul.Tensor"] == counter.counts["aten.mul.Tensor"] > 0


# -- FiniteCheckMode -------------------------------------------------------------------------------


def test_the_first_nan_is_an_error():
    x = minitorch.tensor([1.0, -1.0])
    text = r"aten.log.default made 1 NaN out of finite values: aten.log.default\(f32\[2\]\)"
    with pytest.raises(NonFiniteError, match=text) as error, FiniteCheckMode():
        (x * 2).log()
    assert error.value.op is ops.aten.log.default
    assert error.value.args_of_call[0].tolist() == [2.0, -2.0]
    assert isinstance(error.value, RuntimeError)
    with FiniteCheckMode(nan=False):
        y = x.log()
    with FiniteCheckMode():
        y + 1  # it was there before


def test_infinities_and_what_was_asked_for():
    x = minitorch.zeros(2)
    with pytest.raises(NonFiniteError, match="2 infinity"), FiniteCheckMode():
        1 / x
    with FiniteCheckMode(inf=False):
        1 / x
    with FiniteCheckMode(ignore=[ops.aten.reciprocal]):
        1 / x
    with FiniteCheckMode():
        x.masked_fill(x == 0, float("-inf"))
        minitorch.full((2,), float("inf"))
        minitorch.empty(1000)
        minitorch.arange(3) // 1


def test_in_place_operators_are_judged_by_what_they_read():
    x = minitorch.tensor([-1.0])
    with pytest.raises(NonFiniteError, match=r"aten.sqrt_"), FiniteCheckMode():
        x.sqrt_()
    with FiniteCheckMode():
        x.sqrt_()


def test_the_module_and_backward_are_named():
    class Root(nn.Module):
        def forward(self, x):
            return (x * 0).sqrt()

    model = nn.Sequential(nn.Linear(2, 2), Root())
    with pytest.raises(NonFiniteError, match=r"in Sequential.1 \(in backward\)") as error, FiniteCheckMode():
        model(minitorch.ones(1, 2)).sum().backward()
    assert (error.value.module, error.value.in_backward) == ("Sequential.1", True)


# -- OpCounterMode ---------------------------------------------------------------------------------


def test_counts_and_coverage(define):
    define("called(Tensor x) -> Tensor", CPU=lambda x: x.clone())
    define("never(Tensor x) -> Tensor", CPU=lambda x: x.clone())
    model = net()
    with OpCounterMode() as counter:
        model(minitorch.ones(1, 2)).sum().backward()
        ops.testing.called(minitorch.ones(1))
    assert counter.counts["aten.addmm.default"] == 2
    assert counter.by_module["Sequential.1"]["aten.addmm.default"] == 1
    assert counter.by_module["Sequential.1.0"] == {"aten.relu.default": 1, "aten.threshold_backward.default": 1}
    assert counter.by_module["Global"] == counter.counts
    assert counter.coverage("testing") == (["testing.called.default"], ["testing.never.default"])
    called, missing = counter.coverage()
    assert "aten.addmm.default" in called
    assert "aten.cos.default" in missing
    assert len(counter.get_table(3).splitlines()) == 3


def test_tools_work_together():
    model = net()
    with DebugMode() as debug, OpCounterMode() as counter, FiniteCheckMode(), CrossReferenceMode() as cross:
        model(minitorch.ones(1, 2)).sum().backward()
    assert len(debug.logs) == sum(counter.counts.values()) == sum(cross.compared.values())
