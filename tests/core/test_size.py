"""`Size`, layouts and memory formats."""

import copy
import pickle

import numpy as np
import pytest

from minitorch.core import layout, memory_format
from minitorch.core.memory_format import format_strides
from minitorch.core.size import Size, make_size


def test_is_a_tuple_that_counts():
    s = Size([2, 3])
    assert s == (2, 3)
    assert hash(s) == hash((2, 3))
    assert s.numel() == 6
    assert Size().numel() == 1
    assert repr(s) == "torch.Size([2, 3])"
    assert repr(Size()) == "torch.Size([])"


@pytest.mark.parametrize(
    "result",
    [
        Size([2, 3])[0:1], Size([2, 3]) + (1,), (1,) + Size([2, 3]), Size([2]) * 2, 2 * Size([2]),
        make_size((4, 5)), pickle.loads(pickle.dumps(Size([1]))), copy.deepcopy(Size([1])),
    ],
)  # fmt: skip
def test_stays_a_size(result):
    assert type(result) is Size


def test_items_are_plain_int():
    assert type(Size([2, 3])[0]) is int
    assert type(Size([np.int64(3)])[0]) is int
    assert type(make_size((np.int32(7), 11))[0]) is int


@pytest.mark.parametrize("wrong", [[1.5], ["a"], [None]])
def test_items_must_be_int(wrong):
    with pytest.raises(TypeError, match="takes an iterable of 'int'"):
        Size(wrong)
    with pytest.raises(TypeError, match="takes an iterable of 'int'"):
        Size([2]) + tuple(wrong)


def test_concatenates_with_tuples_only():
    with pytest.raises(TypeError, match="can only concatenate tuple"):
        Size([2]) + [1]
    with pytest.raises(TypeError, match="can only concatenate tuple"):
        [1] + Size([2])


def test_make_size_gives_equal_shapes_one_object():
    assert make_size((2, 3)) is make_size((2, 3))
    for n in range(10_000):
        assert make_size((n,)) == (n,)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (layout.strided, "torch.strided"),
        (layout.sparse_coo, "torch.sparse_coo"),
        (memory_format.channels_last, "torch.channels_last"),
        (memory_format.preserve_format, "torch.preserve_format"),
    ],
)
def test_layouts_and_formats_are_singletons(value, text):
    assert repr(value) == text
    assert pickle.loads(pickle.dumps(value)) is value
    assert copy.deepcopy(value) is value


def test_format_strides():
    shape = (2, 3, 4, 5)
    assert format_strides(shape, 4, memory_format.contiguous_format) == (240, 80, 20, 4)
    assert format_strides(shape, 4, memory_format.channels_last) == (240, 4, 60, 12)
    assert format_strides((2, 3, 4, 5, 6), 1, memory_format.channels_last_3d) == (360, 1, 90, 18, 3)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last"):
        format_strides((2, 3), 4, memory_format.channels_last)
    with pytest.raises(RuntimeError, match="unsupported memory format"):
        format_strides((2, 3), 4, memory_format.preserve_format)
