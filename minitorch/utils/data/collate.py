"""Making a batch of samples."""

from __future__ import annotations

import collections
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minitorch.core.dtype import float64
from minitorch.ops.functions import stack
from minitorch.tensor.base import TensorBase
from minitorch.tensor.creation import as_tensor, tensor

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]


def default_convert(data: Any) -> Any:
    """Return `data` with NumPy arrays in it, at any depth, turned into tensors."""
    kind = type(data)
    if isinstance(data, TensorBase):
        return data
    if isinstance(data, np.ndarray | np.generic):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuilt(data, {k: default_convert(v) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*(default_convert(v) for v in data))
    if isinstance(data, tuple):
        return [default_convert(v) for v in data]
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _rebuilt(data, [default_convert(v) for v in data])
    return data


def _rebuilt(original: Any, values: Any) -> Any:
    """Return `values` as the type of `original`, where that can be made."""
    try:
        if isinstance(original, collections.abc.MutableMapping):
            clone = copy.copy(original)
            clone.update(values)
            return clone
        if isinstance(original, collections.abc.MutableSequence):
            clone = copy.copy(original)
            for i, value in enumerate(values):
                clone[i] = value
            return clone
        return type(original)(values)
    except (TypeError, IndexError):
        return values


def collate(batch: Any, *, collate_fn_map: dict[Any, Callable] | None = None) -> Any:
    """Return samples as one batch, by functions for each type of element.

    Parameters
    ----------
    batch : list of samples
        Of one structure: nested sequences and mappings.
    collate_fn_map : dict of type (or tuple of types) to callable
        Called as ``fn(batch, collate_fn_map=collate_fn_map)``.
    """
    element = batch[0]
    kind = type(element)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for known, function in collate_fn_map.items():
            if isinstance(element, known):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(element, Mapping):
        return _rebuilt(
            element,
            {key: collate([s[key] for s in batch], collate_fn_map=collate_fn_map) for key in element},
        )
    if isinstance(element, tuple) and hasattr(element, "_fields"):
        return kind(
            *(collate(part, collate_fn_map=collate_fn_map) for part in zip(*batch, strict=True))
        )
    if isinstance(element, Sequence):
        if any(len(sample) != len(element) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [
            collate(part, collate_fn_map=collate_fn_map) for part in zip(*batch, strict=True)
        ]
        return columns if isinstance(element, tuple) else _rebuilt(element, columns)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {kind}"
    )


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Return tensors stacked."""
    return stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Return arrays stacked in a tensor."""
    if batch[0].dtype.kind in "SUO":
        raise TypeError(
            "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
            f"found {batch[0].dtype}"
        )
    return collate([as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Return NumPy scalars as a tensor."""
    return as_tensor(np.asarray(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Return floats as a float64 tensor."""
    return tensor(list(batch), dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Return integers (or bools) as a tensor."""
    return tensor(list(batch))


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Return strings as they are."""
    return batch


default_collate_fn_map: dict[Any, Callable] = {
    TensorBase: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Return samples as one batch: tensors stacked, numbers as tensors, structures kept."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
