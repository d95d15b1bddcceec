"""Every operator on conjugate and on negative views: as on tensors that hold the same values (spec B2, B3)."""

from __future__ import annotations

import pytest
from op_db_helpers import assert_same, call, outputs, over

import minitorch as mt

# Operators that cannot take such views, and why: `test_lazy_bits` has their errors.
REFUSE = {
    "view_as_real": "the memory of a conjugate view has other imaginary parts",
    "view_as_real_copy": "see view_as_real",
    "Tensor.view": "other dtypes have no meaning for the memory of such a view",
    "view_copy": "see Tensor.view",
}
# What is in memory, and where, is what these return.
MEMORY = {
    "empty_like": "its values are not set",
    "new_empty": "its values are not set",
    "Tensor.new_empty": "its values are not set",
    "Tensor.new_empty_strided": "its values are not set",
    "Tensor.resize_": "new elements are whatever the memory holds",
    "resize": "new elements are whatever the memory holds",
    "Tensor.data_ptr": "an address",
}

# In place these change where the elements are looked for, and leave them.
MOVES = ("transpose", "swapaxes", "swapdims", "t", "squeeze", "unsqueeze", "as_strided")


def takes(kind):
    def takes_record(record):
        return record.name not in MEMORY and (kind == "neg" or record.name not in REFUSE)

    return takes_record


def dtypes(kind):
    wanted = ("complex128",) if kind == "conj" else ("float64", "complex128")

    def dtypes_of(record):
        return [name for name in wanted if name in record.dtypes and record.name not in REFUSE]

    return dtypes_of


def lazy(tensor, kind):
    """Return a tensor of equal values and strides that is a conjugate or negative view."""
    if not (tensor.is_complex() or (kind == "neg" and tensor.is_floating_point())):
        return tensor
    # Repeated rows are written once.
    tensor = tensor.detach()
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    rows = tensor[tuple(slice(0, 1) if n > 1 and step == 0 else slice(None) for n, step in steps)]
    made = mt.empty_strided(rows.shape, rows.stride(), dtype=rows.dtype)
    made.copy_(rows.conj_physical() if kind == "conj" else rows.neg())
    return (made.conj() if kind == "conj" else made._neg_view()).expand(tensor.shape)


def check_inputs(record, dtype_name, kind):
    for sample in record.samples(getattr(mt, dtype_name)):
        viewed = sample.map(lambda t: lazy(t, kind))
        assert_same(record, call(record, viewed), call(record, sample), f"{kind} views {sample!r}")
        if len(sample.tensors()) > 1:
            given = sample.tensors()[0]
            mixed = sample.map(lambda t, given=given: t if t is given else lazy(t, kind))
            assert_same(record, call(record, mixed), call(record, sample), f"{kind} views after the first {sample!r}")


@over(dtypes=dtypes("conj"), only=takes("conj"))
def test_conjugate_views(record, dtype_name):
    check_inputs(record, dtype_name, "conj")


@over(dtypes=dtypes("neg"), only=takes("neg"))
def test_negative_views(record, dtype_name):
    check_inputs(record, dtype_name, "neg")


@over(only=lambda record: record.inplace is not None and "complex128" in record.dtypes)
def test_writing_in_place(record):
    tried = 0
    for kind in ("conj", "neg"):
        for sample in record.samples(mt.complex128):
            first = sample.args[0]
            if not isinstance(first, mt.Tensor) or 0 in first.stride():
                continue
            target = first.detach().clone()
            try:
                expected = call(record, type(sample)(target, *sample.args[1:], **sample.kwargs), record.inplace)
            except RuntimeError:
                continue  # of a result that does not fit in place
            view = lazy(first.detach().clone(), kind)
            base = view._base
            result = call(record, type(sample)(view, *sample.args[1:], **sample.kwargs), record.inplace)
            assert result is view
            assert (view.is_conj(), view.is_neg()) == (kind == "conj", kind == "neg")
            assert_same(record, view, expected, f"in a {kind} view {sample!r}")
            if record.name not in MOVES:
                assert_same(record, base, expected.conj() if kind == "conj" else expected.neg(), f"memory of it {sample!r}")
            tried += 1
    if not tried:
        pytest.skip("no sample fits in place")


@over(only=lambda record: record.out_names() and "complex128" in record.dtypes and record.name not in MEMORY)
def test_writing_to_out(record):
    tried = 0
    for kind in ("conj", "neg"):
        for sample in record.samples(mt.complex128):
            expected = call(record, sample)
            results = outputs(expected)
            if len(results) != 1 or not all(isinstance(r, mt.Tensor) for r in results) or not expected.is_complex():
                continue
            if not any(len(names) == 1 for names in record.out_names()):
                continue
            out = lazy(mt.zeros(expected.shape, dtype=expected.dtype), kind)
            try:
                result = call(record, type(sample)(*sample.args, **sample.kwargs, out=out))
            except TypeError:
                break  # another overload, which has no out= form
            assert result is out
            assert (out.is_conj(), out.is_neg()) == (kind == "conj", kind == "neg")
            assert_same(record, out, expected, f"out= a {kind} view {sample!r}")
            tried += 1
    if not tried:
        pytest.skip("no sample has one complex result and an out= form")


@over(only=lambda record: "complex128" in record.dtypes and record.name not in REFUSE and record.name not in MEMORY)
def test_bits_of_results(record):
    """Only views of the arguments may have the bits."""
    for sample in record.samples(mt.complex128):
        viewed = sample.map(lambda t: lazy(t, "neg"))
        places = {t.storage_of().root.__array_interface__["data"][0] for t in viewed.tensors()}
        for result in outputs(call(record, viewed)):
            if isinstance(result, mt.Tensor) and result.is_neg():
                assert result.storage_of().root.__array_interface__["data"][0] in places, f"{record.name}{sample!r}"
