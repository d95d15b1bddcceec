"""Data sets, samplers, collation and loaders."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import minitorch
import minitorch.utils.data
from minitorch.utils import data

Pair = namedtuple("Pair", "a b")


class Squares(data.Dataset):
    def __len__(self):
        return 7

    def __getitem__(self, i):
        if i >= 7:
            raise IndexError
        return i * i


class Counting(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, 6, step))


class Fails(data.Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, i):
        raise KeyError("no such sample")


def test_collate_keeps_structure():
    batch = data.default_collate(
        [
            {"t": minitorch.tensor([1, 2]), "f": 0.5, "s": "x", "p": Pair(1, np.float32(2)), "l": [1, (2.0, True)]},
            {"t": minitorch.tensor([3, 4]), "f": 1.5, "s": "y", "p": Pair(3, np.float32(4)), "l": [5, (6.0, False)]},
        ]
    )
    assert batch["t"].tolist() == [[1, 2], [3, 4]]
    assert batch["f"].dtype is minitorch.float64
    assert batch["s"] == ["x", "y"]
    assert isinstance(batch["p"], Pair)
    assert batch["p"].b.dtype is minitorch.float32
    assert batch["l"][0].tolist() == [1, 5]
    assert batch["l"][1][1].tolist() == [True, False]
    with pytest.raises(TypeError, match="default_collate: batch must contain"):
        data.default_collate([object(), object()])
    with pytest.raises(RuntimeError, match="equal size"):
        data.default_collate([[1], [1, 2]])
    assert data.default_convert({"a": np.ones(2)})["a"].tolist() == [1, 1]


def test_loader_batches_in_order_and_drops_the_last():
    assert [b.tolist() for b in data.DataLoader(Squares(), 3)] == [[0, 1, 4], [9, 16, 25], [36]]
    loader = data.DataLoader(Squares(), 3, drop_last=True)
    assert len(loader) == len(list(loader)) == 2
    assert list(data.DataLoader(Squares(), batch_size=None)) == [0, 1, 4, 9, 16, 25, 36]
    assert [b for b in data.DataLoader(Squares(), 4, collate_fn=sum)] == [14, 77]


def test_shuffling_is_set_by_the_seed():
    def order():
        minitorch.manual_seed(3)
        return [int(i) for i in data.DataLoader(data.TensorDataset(minitorch.arange(8)), shuffle=True) for i in i[0]]

    first = order()
    assert sorted(first) == list(range(8))
    assert first != list(range(8))
    assert first == order()


def test_iterable_data_sets():
    assert [b.tolist() for b in data.DataLoader(Counting(), 4)] == [[0, 1, 2, 3], [4, 5]]
    with pytest.raises(ValueError, match="unspecified shuffle"):
        data.DataLoader(Counting(), shuffle=True)
    assert list(data.ChainDataset([Counting(), Counting()])) == [*range(6), *range(6)]


def test_combined_data_sets():
    both = data.ConcatDataset([Squares(), Squares()])
    assert (len(both), both[7], both[-1]) == (14, 0, 36)
    assert list((Squares() + Squares()).cumulative_sizes) == [7, 14]
    assert list(data.Subset(Squares(), [2, 4])) == [4, 16]
    assert data.StackDataset(x=Squares(), y=Squares())[2] == {"x": 4, "y": 4}
    parts = data.random_split(range(10), [0.25, 0.75], minitorch.Generator().manual_seed(0))
    assert [len(p) for p in parts] == [3, 7]
    assert sorted(i for p in parts for i in p.indices) == list(range(10))
    with pytest.raises(ValueError, match="does not equal the length"):
        data.random_split(range(10), [3, 3])


def test_samplers():
    assert list(data.BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert len(data.BatchSampler(range(5), 2, True)) == 2
    assert len(list(data.RandomSampler(range(4), replacement=True, num_samples=9))) == 9
    drawn = list(data.WeightedRandomSampler([0.0, 1.0], 5))
    assert drawn == [1] * 5
    assert sorted(data.SubsetRandomSampler([5, 7])) == [5, 7]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"num_workers": -1}, "non-negative"),
        ({"sampler": [0], "shuffle": True}, "mutually exclusive with shuffle"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "mutually exclusive"),
        ({"persistent_workers": True}, "num_workers > 0"),
        ({"batch_size": 0}, "positive integer"),
    ],
)
def test_wrong_options_are_refused(options, text):
    with pytest.raises(ValueError, match=text):
        data.DataLoader(Squares(), **options)


def test_workers_keep_the_order_and_share_iterables():
    loader = data.DataLoader(Squares(), 2, num_workers=2, persistent_workers=True)
    expected = [[0, 1], [4, 9], [16, 25], [36]]
    assert [b.tolist() for b in loader] == expected
    next(iter(loader))
    assert [b.tolist() for b in loader] == expected
    loader._iterator.close()
    assert sorted(int(i) for b in data.DataLoader(Counting(), 2, num_workers=2) for i in b) == list(range(6))


def test_an_error_in_a_worker_arrives_with_its_traceback():
    with pytest.raises(KeyError, match="Caught KeyError in DataLoader worker process 0"):
        list(data.DataLoader(Fails(), num_workers=1))


def plain(value):
    """Return a batch as Python values and dtype names."""
    if hasattr(value, "tolist"):
        return str(value.dtype), value.tolist()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


@pytest.mark.oracle
def test_orders_of_a_seed_equal_those_of_torch(torch):
    found = []
    for library in (minitorch, torch):
        d = library.utils.data
        library.manual_seed(0)
        values = [[plain(b) for b in d.DataLoader(range(11), 4, shuffle=True)], library.rand(1).item()]
        generator = library.Generator().manual_seed(7)
        loader = d.DataLoader(range(11), 4, shuffle=True, generator=generator)
        values += [[plain(b) for b in loader] for _ in range(2)]
        values += [list(d.RandomSampler(range(10), True, 40)), list(d.RandomSampler(range(10), False, 25))]
        values += [list(d.WeightedRandomSampler([0.1, 0.9, 0.3], 10)), list(d.SubsetRandomSampler([3, 5, 7, 9]))]
        values += [[list(s.indices) for s in d.random_split(range(10), [0.35, 0.65], generator=generator)]]
        found.append(values)
    assert found[0] == found[1]
