"""What holds for every operator: values, dtypes and strides, by its record in `minitorch.testing.op_db`."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import pytest
from op_db_helpers import DOUBLE, TOLERANCES, array, assert_same, call, first_dtype, outputs, over, projected

import minitorch as mt
from minitorch.autograd.derivatives.registry import DERIVATIVES
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops.assemble import is_view
from minitorch.ops.registry import DECLARATIONS
from minitorch.testing.op_db import op_db

# Public operators that have no record, and why.
WITHOUT_RECORD = {
    "_unsafe_view": "internal: `view` without a view's history",
    "_copy_from": "internal",
    "fused_moving_avg_obs_fake_quant": "changes its statistics: tests/ao/test_fake_quantize_operators.py",
    **dict.fromkeys(
        (
            "quantize_per_tensor", "quantize_per_tensor_dynamic", "quantize_per_channel", "dequantize", "int_repr", "qscheme",
            "q_scale", "q_zero_point", "q_per_channel_scales", "q_per_channel_zero_points", "q_per_channel_axis",
            "_make_per_tensor_quantized_tensor", "_make_per_channel_quantized_tensor", "_choose_qparams_per_tensor",
            "choose_qparams_optimized",
            "_empty_affine_quantized", "_empty_per_channel_affine_quantized", "empty_quantized", "_int_mm",
            "_weight_int8pack_mm", "quantized_max_pool1d", "quantized_max_pool2d", "quantized_batch_norm",
        ),
        "of quantized tensors or for them: tests/quantized/quantized_cases.py has its calls",
    ),
}
# Families whose arguments a record cannot make, and the tests of their operators.
OWN_TESTS = {"sparse": "tests/sparse"}


def families():
    """Return the file of each declared operator's family, by base name."""
    import inspect
    from importlib import import_module
    from importlib.util import find_spec

    from minitorch.ops.families import FAMILIES

    found = {}
    for family in FAMILIES:
        if find_spec(f"minitorch.ops.declarations.{family}") is None:
            continue
        source = inspect.getsource(import_module(f"minitorch.ops.declarations.{family}"))
        for name in DECLARATIONS:
            if name not in found and (f'"{name}(' in source or f"'{name}(" in source):
                found[name] = family
    return found


def test_every_public_operator_has_a_record():
    covered = {name for record in op_db for name in record.operators}
    missing = {}
    where = families()
    for name, declaration in DECLARATIONS.items():
        basename = name.partition(".")[0]
        if declaration.kind == "out" or not declaration.variants or basename in covered or basename in WITHOUT_RECORD:
            continue
        if where.get(name) in OWN_TESTS:
            continue
        if declaration.kind == "inplace" and declaration.functional:
            continue
        missing.setdefault(basename, name)
    text = "".join(
        f"\n  {basename}: add a record to minitorch/testing/op_db/{where.get(name, '<family>')}.py"
        for basename, name in missing.items()
    )
    assert not missing, f"these public operators have no record:{text}"


def test_records_name_what_exists():
    bases = {name.partition(".")[0] for name in DECLARATIONS}
    for record in op_db:
        assert callable(record.function), record.name
        unknown = [name for name in record.operators if name not in bases]
        assert not unknown, f"{record.name}: no operators are called {unknown}"
    stale = [name for name in WITHOUT_RECORD if name not in bases or name in {n for r in op_db for n in r.operators}]
    assert not stale, f"WITHOUT_RECORD lists operators that do not exist or have a record: {stale}"


def reference_arguments(sample, dtype, becomes_float):
    """Return a sample with arrays for tensors, floating ones in double precision.

    So are integers that grow into floating results: NumPy's would be half precision.
    """

    def convert(tensor):
        handle = tensor.detach().handle
        wide = DOUBLE.get(tensor.dtype.name, handle.dtype)
        if becomes_float and tensor.dtype is dtype and handle.dtype.kind in "biu":
            wide = np.float64
        return np.array(handle, wide)

    return sample.map(convert)


@over(dtypes=lambda record: record.dtypes, only=lambda record: record.reference is not None)
def test_values_are_those_of_the_reference(record, dtype_name):
    dtype = getattr(mt, dtype_name)
    for sample in record.samples(dtype):
        result = outputs(projected(record, call(record, sample)))
        becomes_float = any(isinstance(r, mt.Tensor) and r.dtype.is_floating_point for r in result)
        given = reference_arguments(sample, dtype, becomes_float)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of empty arrays
            expected = outputs(record.reference(*given.args, **given.kwargs))
        assert len(result) == len(expected), f"{record.name}{sample!r}: {len(result)} results"
        for i, (one, other) in enumerate(zip(result, expected, strict=True)):
            check_value(record, sample, i, array(one), other)


def check_value(record, sample, i, one, other):
    """Assert that one result is what the reference says, up to the rounding of its dtype."""
    if not isinstance(one, (np.ndarray, np.generic)):
        assert one == other or math.isclose(one, other), f"{record.name}{sample!r}: {one}, not {other}"
        return
    other = np.asarray(other)
    assert one.shape == other.shape, f"{record.name}{sample!r}: shape {one.shape}, not {other.shape}"
    rtol, atol = TOLERANCES.get(one.dtype.name, (0, 0))
    wide = DOUBLE.get(one.dtype.name, one.dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            one.astype(wide),
            other.astype(wide),
            rtol=rtol * record.tolerance,
            atol=atol * record.tolerance,
            err_msg=f"{record.name}{sample!r}, result {i}",
        )


def to_meta(tensor):
    made = mt.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
    return made.requires_grad_(tensor.requires_grad)


@over(dtypes=lambda record: record.dtypes[:1] + record.dtypes[4:5], only=lambda record: not record.no_meta)
def test_meta_agrees_with_real(record, dtype_name):
    for sample in record.samples(getattr(mt, dtype_name)):
        real = outputs(call(record, sample))
        meta = sample.map(to_meta)
        if "device" in meta.kwargs:
            meta.kwargs["device"] = "meta"
        found = outputs(call(record, meta))
        assert len(found) == len(real), f"{record.name}{sample!r}"
        for i, (one, other) in enumerate(zip(found, real, strict=True)):
            if not isinstance(other, mt.Tensor):
                continue
            facts = [(t.shape, t.dtype, strides(t)) for t in (one, other)]
            assert facts[0] == facts[1], f"{record.name}{sample!r}, result {i}: {facts[0]} on meta, {facts[1]} on cpu"
            assert one.device.type == "meta" or not sample.tensors()


def strides(tensor):
    """Return the strides that matter: none of an empty tensor, none of dimensions of size 1."""
    if tensor.numel() == 0:
        return ()
    return tuple(s if n > 1 else 0 for s, n in zip(tensor.stride(), tensor.shape, strict=True))


def with_gaps(tensor):
    """Return a copy of a tensor whose memory has gaps and the opposite order of dimensions."""
    if tensor.dim() == 0:
        return tensor
    turned = tensor.detach().permute(*reversed(range(tensor.dim())))
    wide = mt.zeros(*turned.shape[:-1], 2 * turned.shape[-1] + 1, dtype=tensor.dtype)
    place = wide[..., 1::2]
    place.copy_(turned)
    return place.permute(*reversed(range(tensor.dim())))


@over(only=lambda record: not record.no_layouts)
def test_strides_do_not_change_values(record):
    for sample in record.samples(first_dtype(record)):
        if sample.tensors():
            assert_same(record, call(record, sample.map(with_gaps)), call(record, sample), f"{sample!r} with gaps")


@over(only=lambda record: record.method is not None)
def test_method_agrees_with_function(record):
    for sample in record.samples(first_dtype(record)):
        if sample.args and isinstance(sample.args[0], mt.Tensor):
            assert_same(record, call(record, sample, record.method), call(record, sample), f"method{sample!r}")


@over(only=lambda record: record.inplace is not None)
def test_inplace_agrees_with_function(record):
    tried = 0
    for sample in record.samples(first_dtype(record)):
        if not (sample.args and isinstance(sample.args[0], mt.Tensor)):
            continue
        expected = call(record, sample)
        target = sample.args[0].clone()
        changes_shape = is_view(OPERATORS["aten::" + DECLARATIONS_OF_INPLACE[record.basename]].declaration)
        fits = changes_shape or expected.shape == target.shape
        if not fits or not mt.can_cast(expected.dtype, target.dtype):
            continue
        version = target._version
        result = call(record, type(sample)(target, *sample.args[1:], **sample.kwargs), record.inplace)
        assert result is target, f"{record.name}_{sample!r} did not return its first argument"
        assert target._version > version, f"{record.name}_{sample!r} left the version as it was"
        assert_same(record, target, expected.to(target.dtype), f"in place{sample!r}")
        tried += 1
    assert tried or first_dtype(record).is_floating_point is False, f"{record.name}: no sample fits its in-place form"


DECLARATIONS_OF_INPLACE = {
    name.partition(".")[0].removesuffix("_"): d.functional
    for name, d in DECLARATIONS.items()
    if d.kind == "inplace" and d.functional
}


@over(only=lambda record: record.out_names())
def test_out_agrees_with_function(record):
    tried = 0
    for sample in record.samples(first_dtype(record)):
        expected = call(record, sample)
        results = outputs(expected)
        names = [names for names in record.out_names() if len(names) == len(results)]
        if not names or not all(isinstance(r, mt.Tensor) for r in results):
            continue
        for resized in (False, True):
            made = [mt.empty(0 if resized else r.shape, dtype=r.dtype) for r in results]
            out = made[0] if len(made) == 1 else tuple(made)
            try:
                result = call(record, type(sample)(*sample.args, **sample.kwargs, out=out))
            except TypeError:
                break  # another overload, which has no out= form
            for given, returned in zip(made, outputs(result), strict=True):
                assert given is returned, f"{record.name}{sample!r} did not return what was given as out"
            assert_same(record, out, expected, f"out={sample!r}", exact=not record.random and record.project is None)
            tried += 1
    assert tried, f"{record.name}: no sample fits its out= form"


@over(only=lambda record: record.aliases)
def test_aliases_do_the_same(record):
    for alias in record.aliases:
        function = mt
        for part in alias.split("."):
            function = getattr(function, part)
        sample = next(record.samples(first_dtype(record)))
        assert_same(record, call(record, sample, function), call(record, sample), alias, exact=True)


@over(only=lambda record: record.make_errors is not None)
def test_errors(record):
    for error in record.error_samples():
        arguments = f"{record.name}{type(next(record.samples(first_dtype(record))))(*error.args, **error.kwargs)!r}"
        try:
            record.function(*error.args, **error.kwargs)
        except error.error as caught:
            text = str(caught)
        else:
            pytest.fail(f"{arguments} did not raise")
        assert re.search(error.match, text), f"{arguments}: the error says {text!r}, not {error.match!r}"


@over()
def test_results_require_grad_as_the_record_says(record):
    """A record says whether results have gradients: a formula that is forgotten does not pass unseen."""
    if not record.supports("float64", "complex128"):
        assert not record.autograd, f"{record.name}: autograd=True, and no double precision to check it in"
        return
    dtype = mt.float64 if record.supports("float64") else mt.complex128
    seen = False
    for sample in record.samples(dtype, requires_grad=True):
        if not any(t.requires_grad for t in sample.tensors()):
            continue
        results = [r for r in outputs(call(record, sample)) if isinstance(r, mt.Tensor) and r.requires_grad]
        if results and not record.autograd:
            with pytest.raises(RuntimeError, match="not implemented"):
                results[0].sum().backward()
            continue
        seen |= bool(results)
    assert seen == record.autograd, f"{record.name}: no result requires grad"


def test_derivatives_belong_to_declared_operators():
    assert set(DERIVATIVES) <= set(DECLARATIONS)
