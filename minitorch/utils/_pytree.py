"""PyTorch's path of the functions on nested containers."""

from minitorch.core.pytree import (
    LeafSpec,
    TreeSpec,
    register_pytree_node,
    tree_all,
    tree_any,
    tree_flatten,
    tree_iter,
    tree_leaves,
    tree_map,
    tree_map_,
    tree_map_only,
    tree_structure,
    tree_unflatten,
)

__all__ = [
    "LeafSpec", "TreeSpec", "register_pytree_node", "tree_all", "tree_any", "tree_flatten", "tree_iter", "tree_leaves",
    "tree_map", "tree_map_", "tree_map_only", "tree_structure", "tree_unflatten",
]  # fmt: skip
