"""Copies between a device and the CPU, within the device, between dtypes and layouts."""

import pytest

import minitorch
from minitorch.testing.conformance.helpers import check_equal, dtypes_of, numbers
from minitorch.testing.conformance.layouts import LAYOUTS
from minitorch.testing.conformance.operators import synchronize


def test_there_and_back_in_every_dtype(device):
    for dtype in dtypes_of(device):
        x = numbers(3, 4, dtype=dtype)
        check_equal(x.to(device), x, device)
        check_equal(x.to(device).cpu(), x, minitorch.device("cpu"))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_there_and_back_in_every_layout(device, layout):
    x = numbers(3, 4, 2)
    base, view = LAYOUTS[layout](x)
    here = view(base) if view is not None else base
    check_equal(here.to(device), here.contiguous(), device)
    moved = base.to(device)
    try:
        there = view(moved) if view is not None else moved
    except (RuntimeError, NotImplementedError, ValueError):
        if layout == "negative steps":
            pytest.skip("the device has no negative steps")
        raise
    check_equal(there.cpu(), here.contiguous())
    check_equal(there.clone(), here.contiguous(), device)
    check_equal(there.contiguous(), here.contiguous(), device)


def test_casts(device):
    for source in dtypes_of(device):
        x = numbers(2, 3, dtype=source)
        for target in dtypes_of(device):
            if source.is_complex and not target.is_complex:
                continue
            check_equal(x.to(device).to(target), x.to(target), device)
            check_equal(x.to(device, target), x.to(target), device)
            check_equal(x.to(device).to("cpu", target), x.to(target))


def test_copy_into_what_lies_otherwise(device):
    wide, host = numbers(6, 8).to(device), numbers(6, 8)
    source = numbers(3, 4, seed=5)
    for part in (wide, host):
        part[1:4, ::2].copy_(source.to(part.device))
        part[4:, :3].t().copy_(numbers(2, dtype=minitorch.int64))
    check_equal(wide, host, device)
    with pytest.raises(RuntimeError):
        wide[0].copy_(numbers(3).to(device))
    with pytest.raises(RuntimeError, match="single memory location"):
        wide[0, :1].expand(3).copy_(numbers(3).to(device))


def test_non_blocking_copies_are_whole_when_read(device):
    x = numbers(64, 64)
    there = x.to(device, non_blocking=True, copy=True)
    there += 1
    back = there.to("cpu", non_blocking=True)
    synchronize(device)
    check_equal(back, x + 1)
    target = minitorch.zeros(64, 64, device=device)
    target.copy_(x, non_blocking=True)
    check_equal(target, x, device)


def test_a_copy_is_made_only_where_one_is_asked_for(device):
    x = numbers(2, 3).to(device)
    assert x.to(device) is x
    assert x.to(x.dtype) is x
    copy = x.to(device, copy=True)
    copy.zero_()
    check_equal(x, numbers(2, 3), device)


def test_memory_format_is_kept(device):
    x = numbers(2, 3, 4, 5).to(memory_format=minitorch.channels_last)
    there = x.to(device)
    assert there.stride() == there.clone().stride() == there.cpu().stride() == x.stride()
    assert there.contiguous().stride() == (60, 20, 5, 1)
    check_equal(there.contiguous(), x.contiguous(), device)


def test_what_is_empty(device):
    for shape in ((0,), (2, 0), (0, 3)):
        x = minitorch.zeros(shape, device=device)
        check_equal(x.cpu(), minitorch.zeros(shape))
        check_equal(x.clone(), minitorch.zeros(shape), device)
        x.copy_(minitorch.zeros(shape))
