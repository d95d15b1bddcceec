"""Nested containers: flattened, rebuilt, mapped over."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import minitorch as mt
from minitorch.core.pytree import broadcast_leaves
from minitorch.utils import _pytree as pytree
from minitorch.utils._pytree import tree_flatten, tree_map, tree_unflatten

Point = namedtuple("Point", ["x", "y"])


@pytest.mark.parametrize(
    "tree",
    [
        1,
        None,
        (),
        [],
        (1, [2, {"a": 3, "b": (4,)}]),
        Point(1, Point([2], 3)),
        OrderedDict(b=1, a=2),
        defaultdict(list, a=1, b=[2]),
        deque([1, (2,)], maxlen=5),
        {"k": None},
    ],
)
def test_there_and_back(tree):
    leaves, spec = tree_flatten(tree)
    again = tree_unflatten(leaves, spec)
    assert again == tree
    assert type(again) is type(tree)
    assert spec.num_leaves == len(leaves)
    assert tree_flatten(again)[1] == spec
    assert tree_map(lambda x: x, tree) == tree
    if isinstance(tree, deque):
        assert again.maxlen == tree.maxlen
    if isinstance(tree, defaultdict):
        assert again.default_factory is list


def test_maps():
    tree = {"a": [1, 2], "b": (3,)}
    assert tree_map(lambda x, y: x * y, tree, tree) == {"a": [1, 4], "b": (9,)}
    with pytest.raises(ValueError, match="differ in structure"):
        tree_map(lambda x, y: x, tree, [1])
    assert pytree.tree_leaves(tree) == [1, 2, 3]
    assert list(pytree.tree_iter(tree)) == [1, 2, 3]
    assert pytree.tree_all(lambda x: x > 0, tree)
    assert not pytree.tree_any(lambda x: x > 3, tree)
    assert pytree.tree_map_only(int, str, [1, "a", 2.0]) == ["1", "a", 2.0]
    assert pytree.tree_map(len, [[1, 2], [3]], is_leaf=lambda x: x in ([1, 2], [3])) == [2, 1]
    seen = []
    assert pytree.tree_map_(seen.append, tree) is tree
    assert seen == [1, 2, 3]


def test_structures():
    spec = pytree.tree_structure({"a": 1, "b": (2, [3])})
    assert repr(spec) == "TreeSpec(dict, ['a', 'b'], [*, TreeSpec(tuple, None, [*, TreeSpec(list, None, [*])])])"
    assert pytree.tree_structure(1) == pytree.LeafSpec()
    assert pytree.tree_structure(1).is_leaf()
    assert spec != pytree.tree_structure({"b": 1, "a": (2, [3])})
    with pytest.raises(ValueError, match="length 1 but the spec refers to a pytree that holds 3"):
        tree_unflatten([1], spec)


def test_other_classes():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    assert pytree.tree_leaves(Pair(1, 2))[0].a == 1
    pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda c, _: Pair(*c))
    assert pytree.tree_leaves([Pair(1, (2,))]) == [1, 2]
    assert tree_map(lambda x: x + 1, Pair(1, 2)).b == 3
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Pair, list, list)


def test_results_of_operators_are_containers():
    values, indices = mt.func.vmap(lambda x: mt.max(x, 0))(mt.ones(3, 2))
    result = mt.func.vmap(lambda x: mt.sort(x))(mt.ones(3, 2))
    assert type(result).__name__ == "sort"
    assert result.values.shape == (3, 2)
    assert values.shape == indices.shape == (3,)


def test_prefixes():
    spec = pytree.tree_structure((1, {"a": 2, "b": [3, 4]}))
    assert broadcast_leaves(0, spec) == [0, 0, 0, 0]
    assert broadcast_leaves((0, None), spec) == [0, None, None, None]
    assert broadcast_leaves((0, {"a": 1, "b": 2}), spec) == [0, 1, 2, 2]
    for wrong in ((0,), [0, 1], (0, {"a": 1}), (0, {"a": 1, "c": 2})):
        assert broadcast_leaves(wrong, spec) is None
