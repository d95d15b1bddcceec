"""Nested containers of tensors and other leaves: flattened, rebuilt, and mapped over.

Tuples, named tuples, lists, dictionaries (ordered, default), deques and None-free values in any nesting; further classes by
`register_pytree_node`.  Names are those of PyTorch's ``torch.utils._pytree``.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

__all__ = [
    "LeafSpec", "TreeSpec", "register_pytree_node", "tree_all", "tree_any", "tree_flatten", "tree_iter", "tree_leaves",
    "tree_map", "tree_map_", "tree_map_only", "tree_structure", "tree_unflatten",
]  # fmt: skip


class _Container(NamedTuple):
    flatten: Callable[[Any], tuple[list[Any], Any]]
    unflatten: Callable[[Iterable[Any], Any], Any]


_containers: dict[Any, _Container] = {}


class TreeSpec:
    """The structure of a tree: its containers, with leaves in place of values.

    Attributes
    ----------
    type : type or None
        The class of the outermost container; None for a leaf.
    context : object
        What the container needs to be rebuilt, besides its children.
    children_specs : list of TreeSpec
    num_leaves : int
    """

    __slots__ = ("children_specs", "context", "num_leaves", "type")

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]):
        self.type = type
        self.context = context
        self.children_specs = children_specs
        self.num_leaves = sum(child.num_leaves for child in children_specs) if type is not None else 1

    @property
    def num_children(self) -> int:
        return len(self.children_specs)

    def is_leaf(self) -> bool:
        """Return whether this is the structure of a single value."""
        return self.type is None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (
            self.type is other.type and self.context == other.context and self.children_specs == other.children_specs
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        children = ", ".join(map(repr, self.children_specs))
        return f"TreeSpec({self.type.__name__}, {self.context!r}, [{children}])"


class LeafSpec(TreeSpec):
    """The structure of a single value."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


def register_pytree_node(cls: type, flatten_fn: Callable, unflatten_fn: Callable, **_: Any) -> None:
    """Make a class a container.

    Parameters
    ----------
    flatten_fn : callable
        ``instance -> (list of children, context)``; contexts are compared with ``==``.
    unflatten_fn : callable
        ``(children, context) -> instance``

    Raises
    ------
    ValueError
        If the class is one already.
    """
    if cls in _containers:
        raise ValueError(f"{cls.__name__} is already registered as pytree node.")
    _containers[cls] = _Container(flatten_fn, unflatten_fn)


def _is_namedtuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _container_of(tree: Any) -> tuple[Any, _Container | None]:
    kind = type(tree)
    found = _containers.get(kind)
    if found is None and _is_namedtuple(kind):
        return kind, _NAMED_TUPLE
    return kind, found


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree from left to right, and its structure.

    Parameters
    ----------
    is_leaf : callable, optional
        Containers for which it says True are taken as leaves.

    Examples
    --------
    >>> tree_flatten({"a": 1, "b": (2, [3])})
    ([1, 2, 3], TreeSpec(dict, ['a', 'b'], [*, TreeSpec(tuple, None, [*, TreeSpec(list, None, [*])])]))
    """
    leaves: list[Any] = []
    return leaves, _flatten_into(tree, leaves, is_leaf)


def _flatten_into(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> TreeSpec:
    kind, container = _container_of(tree)
    if container is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return LeafSpec()
    children, context = container.flatten(tree)
    return TreeSpec(kind, context, [_flatten_into(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Return the tree of a structure with these leaves.

    Raises
    ------
    ValueError
        If their number is not that of the structure.
    """
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten: `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
            f"{treespec.num_leaves} items ({treespec})"
        )
    return _rebuild(iter(leaves), treespec)


def _rebuild(leaves: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    children = [_rebuild(leaves, child) for child in spec.children_specs]
    container = _containers.get(spec.type, _NAMED_TUPLE)
    if container is _NAMED_TUPLE:
        return spec.type(*children)
    return container.unflatten(children, spec.context)


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterable[Any]:
    """Return an iterator over the leaves of a tree."""
    return iter(tree_flatten(tree, is_leaf)[0])


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Return the leaves of a tree from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """Return the structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(fn: Callable, tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Return a tree of the same structure with ``fn(leaf, *leaves of the others)`` as leaves.

    Raises
    ------
    ValueError
        If the other trees have a different structure.
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves]
    for rest in rests:
        other, other_spec = tree_flatten(rest, is_leaf)
        if other_spec != spec:
            raise ValueError(f"tree_map: the trees differ in structure: {spec} and {other_spec}")
        columns.append(other)
    return tree_unflatten([fn(*values) for values in zip(*columns, strict=True)], spec)


def tree_map_(fn: Callable, tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Call ``fn`` on each leaf for what it does, and return the tree itself."""
    tree_map(fn, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(kinds: Any, fn: Callable, tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Return the tree with ``fn(leaf)`` in place of the leaves that are instances of `kinds`."""
    return tree_map(lambda leaf: fn(leaf) if isinstance(leaf, kinds) else leaf, tree, is_leaf=is_leaf)


def tree_all(predicate: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return whether a predicate holds for each leaf."""
    return all(predicate(leaf) for leaf in tree_iter(tree, is_leaf))


def tree_any(predicate: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return whether a predicate holds for some leaf."""
    return any(predicate(leaf) for leaf in tree_iter(tree, is_leaf))


def broadcast_leaves(prefix: Any, spec: TreeSpec, is_leaf: Callable[[Any], bool] | None = None) -> list[Any] | None:
    """Return one leaf of `prefix` for each leaf of a structure, or None if the two do not fit.

    `prefix` is of the structure, or has a leaf in place of a container, which then holds for all in it.
    """
    kind, container = _container_of(prefix)
    if container is None or (is_leaf is not None and is_leaf(prefix)):
        return [prefix] * spec.num_leaves
    if kind is not spec.type:
        return None
    children, context = container.flatten(prefix)
    if context != spec.context or len(children) != len(spec.children_specs):
        return None
    found: list[Any] = []
    for child, child_spec in zip(children, spec.children_specs, strict=True):
        leaves = broadcast_leaves(child, child_spec, is_leaf)
        if leaves is None:
            return None
        found += leaves
    return found


_NAMED_TUPLE = _Container(lambda tree: (list(tree), None), lambda children, context: tuple(children))

for _kind, _flatten, _unflatten in (
    (tuple, lambda tree: (list(tree), None), lambda children, context: tuple(children)),
    (list, lambda tree: (tree, None), lambda children, context: list(children)),
    (
        dict,
        lambda tree: (list(tree.values()), list(tree)),
        lambda children, context: dict(zip(context, children, strict=True)),
    ),
    (
        OrderedDict,
        lambda tree: (list(tree.values()), list(tree)),
        lambda children, context: OrderedDict(zip(context, children, strict=True)),
    ),
    (
        defaultdict,
        lambda tree: (list(tree.values()), [tree.default_factory, list(tree)]),
        lambda children, context: defaultdict(context[0], zip(context[1], children, strict=True)),
    ),
    (deque, lambda tree: (list(tree), tree.maxlen), lambda children, context: deque(children, maxlen=context)),
):
    register_pytree_node(_kind, _flatten, _unflatten)
