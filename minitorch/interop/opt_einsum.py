"""Tensors in opt_einsum: once this module is imported, ``opt_einsum.contract`` takes them.

    import minitorch.interop.opt_einsum
    import opt_einsum

    opt_einsum.contract("ab,bc,cd->ad", *(minitorch.ones(2, 2) for _ in range(3)))
"""

from __future__ import annotations

from typing import Any

from opt_einsum.backends import dispatch
from opt_einsum.parser import convert_to_valid_einsum_chars

import minitorch


def einsum(equation: str, *operands: minitorch.Tensor, **_: Any) -> minitorch.Tensor:
    """Contract operands, as opt_einsum calls that; its letters may be any characters."""
    return minitorch.einsum(convert_to_valid_einsum_chars(equation), *operands)


def tensordot(x: minitorch.Tensor, y: minitorch.Tensor, axes: Any = 2) -> minitorch.Tensor:
    """Contract two operands over `axes`."""
    return minitorch.tensordot(x, y, dims=axes)


def transpose(x: minitorch.Tensor, axes: Any) -> minitorch.Tensor:
    """Return a view of `x` with its axes in the order `axes`."""
    return x.permute(*axes)


# A backend is found by the package of the operands' type, unless it is known by another name; what was found is kept.
dispatch._aliases["minitorch"] = __name__
for _name in ("einsum", "tensordot", "transpose"):
    dispatch._cached_funcs.pop((_name, "minitorch"), None)
dispatch._has_einsum.pop("minitorch", None)
dispatch._has_tensordot.pop("minitorch", None)
