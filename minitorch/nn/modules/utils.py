"""``torch.nn.modules.utils``: small functions that modules written elsewhere import."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple]:
    """Return a function that returns iterables as tuples, and repeats anything else `n` times."""

    def parse(x: Any) -> tuple:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: tuple, n: int) -> tuple:
    """Return the items from the last to the first, each `n` times: padding as `functional.pad` takes it."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: list, defaults: list[int]) -> list[int]:
    """Return `out_size` with the last of the `defaults` in place of None.

    Raises
    ------
    ValueError
        If there are not more defaults than sizes.
    """
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [d if v is None else v for v, d in zip(out_size, defaults[-len(out_size) :], strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the names in a state dict, in place, as one must where ``DataParallel`` saved it.

    Parameters
    ----------
    prefix : str
        ``"module."``, say; with its dot.

    Examples
    --------
    >>> state = {"module.weight": 1, "other": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'other': 2, 'weight': 1}
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        # Of modules, whose names stand there without the dot at the end.
        for key in list(metadata):
            if key and (key == prefix.removesuffix(".") or key.startswith(prefix)):
                metadata[key[len(prefix) :]] = metadata.pop(key)
