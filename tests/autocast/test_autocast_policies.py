"""The tables of policies: PyTorch's lists, what they make of each operator, and how they are changed."""

from __future__ import annotations

import warnings
from contextlib import contextmanager

import pytest
from op_db_helpers import outputs, over

import minitorch as mt
from minitorch import amp
from minitorch.autocast_mode.policies import _HERE, _HERE_ON_GPU
from minitorch.dispatch.operator import OPERATORS

# -- the table as an object ------------------------------------------------------------


def test_a_table_says_and_prints_what_each_operator_does():
    table = amp.policies("cpu")
    assert table is amp.policies("cpu")
    assert table["mm"] == table["aten::mm"] == table[mt.ops.aten.mm.default] == "lower_precision_fp"
    assert "sum" not in table
    assert "sum" in amp.policies("cuda")
    assert set(table.values()) == {"lower_precision_fp", "fp32", "promote"}
    assert set(amp.policies("cuda").values()) == set(amp.POLICIES)
    text = str(table)
    assert "promote (compute in the widest dtype among the arguments and autocast's):\n    cat index_copy stack" in text
    assert dict(amp.policies("xpu")) == dict(amp.policies("cuda"))
    with pytest.raises(KeyError):
        table["sum"]


@contextmanager
def changed(table, **policies):
    before = dict(table)
    table.update({name.replace("__", "."): policy for name, policy in policies.items()})
    try:
        yield
    finally:
        for name in set(table) - set(before):
            del table[name]
        table.update(before)
        assert dict(table) == before


def test_a_change_is_in_force_with_the_next_call():
    x = mt.ones(2, 2)
    with mt.autocast("cpu"):
        assert mt.mm(x, x).dtype is mt.bfloat16
        assert mt.exp(x.bfloat16()).dtype is mt.bfloat16
        with changed(amp.policies("cpu"), mm="fp32", exp="fp32", sum="banned"):
            assert mt.mm(x.bfloat16(), x).dtype is mt.float32
            assert mt.exp(x.bfloat16()).dtype is mt.float32
            with pytest.raises(RuntimeError, match="sum\\(\\) is unsafe to autocast.*enabled=False"):
                x.sum()
            del amp.policies("cpu")["mm"]
            assert mt.mm(x, x).dtype is mt.float32
            amp.policies("cpu")["mm"] = "fp32"
        assert mt.mm(x, x).dtype is mt.bfloat16


def test_what_cannot_be_in_a_table():
    table = amp.policies("cpu")
    before = dict(table)
    with pytest.raises(ValueError, match="aten::mm: expected one of lower_precision_fp, .*not 'fp16'"):
        table["mm"] = "fp16"
    with pytest.raises(ValueError, match="aten::mm: fp32_set_opt_dtype is for operators with an argument dtype"):
        table["mm"] = "fp32_set_opt_dtype"
    with pytest.raises(ValueError, match="aten::mm: fp32_append_dtype is for operators whose overload"):
        table["mm"] = "fp32_append_dtype"
    with pytest.raises(KeyError, match="no operator of this name"):
        table["mmm"] = "fp32"
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'meta'.*AutocastCPU"):
        amp.policies("meta")
    assert dict(table) == before


def test_operators_of_a_library_can_have_a_policy():
    lib = mt.library.Library("autocast_testing", "DEF")
    try:
        lib.define("f(Tensor x, *, Tensor? y=None) -> Tensor")
        lib.impl("f", lambda x, y=None: x + 1 if y is None else x + y, "CompositeImplicitAutograd")
        amp.policies("cpu")["autocast_testing::f"] = "lower_precision_fp"
        x = mt.ones(2)
        with mt.autocast("cpu"):
            assert mt.ops.autocast_testing.f(x, y=x).dtype is mt.bfloat16
        assert mt.ops.autocast_testing.f(x, y=x).dtype is mt.float32
        del amp.policies("cpu")["autocast_testing::f"]
    finally:
        lib._destroy()


# -- against PyTorch -------------------------------------------------------------------


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("device_type", "key", "here"),
    [("cpu", "AutocastCPU", _HERE), ("cuda", "AutocastCUDA", _HERE_ON_GPU), ("opencl", "AutocastXPU", _HERE_ON_GPU)],
)
def test_listed_operators_are_those_of_torch(torch, device_type, key, here):
    listed = {
        name
        for name in torch._C._dispatch_get_all_op_names()
        if name in OPERATORS and torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
    }
    own = {f"aten::{name}" for names in here.values() for name in names.split()}
    assert not listed & own, "in PyTorch's list now: move them there"
    assert set(amp.policies(device_type)) == listed | own


REFUSED = ("cat", "stack", "index_copy", "nn.functional.binary_cross_entropy", "binary_cross_entropy")


def cast_all(value, kind, dtype):
    """Return a sample's argument with its floating tensors in a dtype."""
    if isinstance(value, kind):
        return value.to(dtype) if value.dtype.is_floating_point else value
    if isinstance(value, (list, tuple)):
        return type(value)([cast_all(item, kind, dtype) for item in value])
    return value


def found(run):
    """Return the dtypes of what a call returns, or "error"."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [str(getattr(r, "dtype", "")).removeprefix("torch.") for r in outputs(run())]
        except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
            return "error"


def compared(record, torch, dtypes, samples, ours_on, torch_on, to_torch=lambda value: value):
    """Yield what differs: the dtypes of results under autocast where they agree without."""
    from test_op_db_oracle import converter, torch_function

    function, convert = torch_function(torch, record), converter(torch)
    if function is None:
        pytest.skip("PyTorch has no such function")
    for name in dtypes:
        for sample in list(record.samples(mt.float32))[:samples]:
            ours, theirs = getattr(mt, name), getattr(torch, name)
            args = cast_all(sample.args, mt.Tensor, ours)
            kwargs = {k: cast_all(v, mt.Tensor, ours) for k, v in sample.kwargs.items()}
            their_args = to_torch([cast_all(convert(a), torch.Tensor, theirs) for a in sample.args])
            their_kwargs = {k: to_torch(cast_all(convert(v), torch.Tensor, theirs)) for k, v in sample.kwargs.items()}

            def our_call(args=args, kwargs=kwargs):
                return record.function(*args, **kwargs)

            def their_call(args=their_args, kwargs=their_kwargs):
                return function(*args, **kwargs)

            with ours_on():
                actual = found(our_call)
            with torch_on():
                expected = found(their_call)
            # Where PyTorch has no kernel for a dtype there may be one here; whom the lists make refuse has to.
            if expected == "error" and record.name not in REFUSED:
                continue
            if actual != expected and found(our_call) == found(their_call):
                yield f"{name}: {actual}, PyTorch: {expected}"


def samples_of_float32(record):
    return not record.random and "float32" in record.dtypes


def listed_names(name):
    """Return the operators that a record may be of: its name, and its overloads in the table."""
    base = name.rpartition(".")[2]
    flat = name.replace("nn.functional.", "").replace(".", "_")
    table = amp.policies("cuda")
    return [op for op in table if op.removeprefix("aten::").partition(".")[0] in (base, flat)]


# What other operators they are made of is not the same here, and why that is left so.
OTHERWISE_MADE = {
    "_scaled_dot_product_attention_math": "of private use; scaled_dot_product_attention is in the lists",
    "block_diag": "made of cat here, which refuses a third dtype",
    "nn.functional.affine_grid": "made of matmul and stack here",
    "nn.functional.bilinear": "made of matmul here, which is in the lists",
    "vander": "made of cat here, and of pow",
}


@pytest.mark.oracle
@over(only=lambda record: samples_of_float32(record) and record.name not in OTHERWISE_MADE)
def test_dtypes_on_the_cpu_are_those_of_torch(record, torch):
    different = list(
        compared(record, torch, ("float32", "bfloat16", "float16"), 3, lambda: mt.autocast("cpu"), lambda: torch.autocast("cpu"))
    )
    assert not different


OTHERWISE_MADE_ON_GPU = {
    **OTHERWISE_MADE,
    "Tensor.__rdiv__": "PyTorch's is made of reciprocal",
    "_safe_softmax": "of private use",
    "gru_cell": "PyTorch's fake tensors cannot run it",
    "ldexp": "made of pow here",
    "linalg.pinv": "made of matmul here; PyTorch's fake tensors do not see its pieces",
    "lstm_cell": "PyTorch's fake tensors cannot run it",
    "mvlgamma": "made of arange and pow here",
}


@contextmanager
def cuda_table_on_the_cpu():
    cpu = amp.policies("cpu")
    before = dict(cpu)
    cpu.clear()
    cpu.update(amp.policies("cuda"))
    try:
        with mt.autocast("cpu", dtype=mt.float16):
            yield
    finally:
        cpu.clear()
        cpu.update(before)


@pytest.mark.oracle
@over(
    only=lambda record: samples_of_float32(record) and listed_names(record.name) and record.name not in OTHERWISE_MADE_ON_GPU
)
def test_policies_of_cuda_are_those_of_torch(record, torch):
    """PyTorch's fake tensors have CUDA's keys without a GPU; here CUDA's table stands in for the CPU's."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode(allow_non_fake_inputs=True)

    def fake(value):
        if isinstance(value, torch.Tensor):
            with mode:
                return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="cuda")
        return type(value)([fake(item) for item in value]) if isinstance(value, (list, tuple)) else value

    @contextmanager
    def on():
        torch.set_autocast_enabled("cuda", True)
        try:
            with mode:
                yield
        finally:
            torch.set_autocast_enabled("cuda", False)

    different = list(compared(record, torch, ("float32", "float16"), 2, cuda_table_on_the_cpu, on, fake))
    assert not different
