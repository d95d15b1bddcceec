"""Views share memory, storage and version with their base."""

import pytest

import minitorch
from minitorch.testing.conformance.helpers import check_equal, numbers

VIEWS = {
    "select": lambda x: x[1],
    "slice": lambda x: x[:, 1:],
    "steps": lambda x: x[::2, ::2],
    "transpose": lambda x: x.t(),
    "view": lambda x: x.view(2, 6),
    "unsqueeze": lambda x: x[None],
    "diagonal": lambda x: x.diagonal(),
    "unbind": lambda x: x.unbind(1)[2],
    "split": lambda x: x.split(2, 1)[1],
    "as_strided": lambda x: x.as_strided((2, 2), (5, 1), 1),
    "unfold": lambda x: x.unfold(1, 2, 2),
    "narrow": lambda x: x.narrow(0, 1, 2),
    "view of a view": lambda x: x[1:].t()[::2],
    "detach": lambda x: x.detach(),
}


@pytest.mark.parametrize("name", VIEWS)
def test_what_is_written_to_a_view_is_in_its_base(device, name):
    base, host = numbers(3, 4).to(device), numbers(3, 4)
    view, wanted = VIEWS[name](base), VIEWS[name](host)
    check_equal(view, wanted.contiguous(), device)
    assert view.storage_offset() == wanted.storage_offset()
    assert [s for s, n in zip(view.stride(), view.shape, strict=True) if n > 1] == [
        s for s, n in zip(wanted.stride(), wanted.shape, strict=True) if n > 1
    ]
    assert view.untyped_storage() == base.untyped_storage()
    version = base._version
    view.copy_(numbers(*view.shape, seed=9).to(device))
    wanted.copy_(numbers(*view.shape, seed=9))
    check_equal(base, host, device)
    assert base._version == view._version == version + 1


def test_what_is_written_to_a_base_is_in_its_views(device):
    base, host = numbers(3, 4).to(device), numbers(3, 4)
    views = [(make(base), make(host)) for make in VIEWS.values()]
    for x in (base, host):
        x.mul_(2).add_(1)
        x.zero_() if x.sum() < 0 else x.fill_(5)
        x[0] = 3
    for view, wanted in views:
        check_equal(view, wanted.contiguous(), device)


def test_bytes_of_other_dtypes(device):
    x = numbers(2, 4).to(device)
    check_equal(x.view(minitorch.int32), numbers(2, 4).view(minitorch.int32), device)
    check_equal(x.view(minitorch.uint8), numbers(2, 4).view(minitorch.uint8), device)
    x.view(minitorch.int32).zero_()
    check_equal(x, minitorch.zeros(2, 4), device)


def test_expanded_views_are_read_and_not_written(device):
    x = numbers(3, 1).to(device)
    wide = x.expand(3, 4)
    check_equal(wide, numbers(3, 1).expand(3, 4).contiguous(), device)
    check_equal(wide + 1, numbers(3, 1).expand(3, 4) + 1, device)
    with pytest.raises(RuntimeError, match="single memory location"):
        wide.add_(1)


def test_storages_grow_and_shrink(device):
    x = numbers(4).to(device)
    x.resize_(2, 2)
    check_equal(x, numbers(4).reshape(2, 2), device)
    x.resize_(8)
    assert x.untyped_storage().nbytes() >= 32
    check_equal(x[:4], numbers(4), device)
