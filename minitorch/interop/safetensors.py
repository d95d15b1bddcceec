"""Files of the safetensors format: names and tensors, nothing that could run.

The names and arguments are those of ``safetensors.torch``, and the files the same; the library ``safetensors`` reads
and writes them (``pip install "safetensors>=0.8"``).

    from minitorch.interop.safetensors import load_file, save_file

    save_file({"weight": minitorch.ones(2)}, "weights.safetensors", metadata={"epoch": "3"})
    load_file("weights.safetensors", device="opencl")["weight"]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

import minitorch

try:
    import safetensors as library

    _TensorSpec = library.TensorSpec
except (ImportError, AttributeError) as error:
    raise ImportError(
        'minitorch.interop.safetensors needs the library safetensors, 0.8 or newer: pip install "safetensors>=0.8"'
    ) from error

__all__ = ["load", "load_file", "load_model", "save", "save_file", "save_model"]

# The format's names of the dtypes.
_DTYPES = {
    "F64": minitorch.float64, "F32": minitorch.float32, "F16": minitorch.float16, "BF16": minitorch.bfloat16,
    "F8_E4M3": minitorch.float8_e4m3fn, "F8_E4M3FNUZ": minitorch.float8_e4m3fnuz,
    "F8_E5M2": minitorch.float8_e5m2, "F8_E5M2FNUZ": minitorch.float8_e5m2fnuz,
    "I64": minitorch.int64, "I32": minitorch.int32, "I16": minitorch.int16, "I8": minitorch.int8,
    "U64": minitorch.uint64, "U32": minitorch.uint32, "U16": minitorch.uint16, "U8": minitorch.uint8,
    "BOOL": minitorch.bool, "C64": minitorch.complex64,
}  # fmt: skip
_SAVED = frozenset(_DTYPES.values())
# The library hands these out as arrays of bytes only: NumPy has no names for them.
_WITHOUT_ARRAYS = frozenset(name for name in _DTYPES if name.startswith("F8"))


def save(tensors: Mapping[str, minitorch.Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """Return the bytes of a file with the tensors.

    Parameters
    ----------
    tensors : mapping of str to Tensor
        Contiguous, of any device; no two of them show the same memory.
    metadata : mapping of str to str, optional
        Texts for readers of the file.

    Raises
    ------
    ValueError
        If a value is no tensor, is sparse or not contiguous, or has a dtype that the format lacks.
    RuntimeError
        If tensors share memory: the file would hold it twice, and they would be apart when loaded.

    Examples
    --------
    >>> data = save({"x": minitorch.tensor([1.0, 2.0], dtype=minitorch.bfloat16)})
    >>> load(data)["x"]
    tensor([1., 2.], dtype=torch.bfloat16)
    """
    arrays, specs = _specs(tensors)
    data = bytes(library.serialize(specs, metadata=_texts(metadata)))
    del arrays  # the library read their memory until here
    return data


def save_file(
    tensors: Mapping[str, minitorch.Tensor],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write a file with the tensors; arguments and errors are those of `save`."""
    arrays, specs = _specs(tensors)
    library.serialize_file(specs, filename, metadata=_texts(metadata))
    del arrays


def load(data: bytes) -> dict[str, minitorch.Tensor]:
    """Return the tensors in the bytes of a file, on the CPU, in memory of their own.

    Raises
    ------
    safetensors.SafetensorError
        If the bytes are no such file.
    ValueError
        If a tensor has a dtype that minitorch lacks.
    """
    return {name: _tensor(name, found["dtype"], found["shape"], found["data"]) for name, found in library.deserialize(data)}


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, minitorch.Tensor]:
    """Return the tensors of a file, on a device; errors are those of `load`.

    The file is mapped and each tensor copied out of it, so that memory is needed once; a file with float8 is read
    whole first.
    """
    tensors = {}
    with library.safe_open(filename, framework="numpy") as file:
        names = list(file.keys())
        kinds = {name: file.get_slice(name).get_dtype() for name in names}
        if not _WITHOUT_ARRAYS.isdisjoint(kinds.values()):
            with open(filename, "rb") as stream:
                return {name: tensor.to(device) for name, tensor in load(stream.read()).items()}
        for name in names:
            _dtype(name, kinds[name])
            tensors[name] = minitorch.from_numpy(file.get_tensor(name)).to(device)
    return tensors


def save_model(
    model: minitorch.nn.Module,
    filename: str,
    metadata: Mapping[str, str] | None = None,
    force_contiguous: bool = True,
) -> None:
    """Write the state of a module; of tensors that are one, such as tied weights, one name is written.

    The names left out are kept in the metadata, each with the name that stands for it.

    Parameters
    ----------
    model : nn.Module
    filename : str
    metadata : mapping of str to str, optional
    force_contiguous : bool
        Whether tensors that are not contiguous are copied first; else they are refused.
    """
    state = dict(model.state_dict())
    texts = dict(metadata or {})
    for kept, others in _duplicates(state).items():
        for name in others:
            texts.setdefault(name, kept)
            del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    save_file(state, filename, metadata=texts or None)


def load_model(
    model: minitorch.nn.Module, filename: str | os.PathLike[str], strict: bool = True, device: Any = "cpu"
) -> tuple[set[str], list[str]]:
    """Load a file that `save_model` wrote into a module.

    Returns
    -------
    missing : set of str
        Names of the module that the file does not have; another name of a tensor that it has is none.
    unexpected : list of str
        Names of the file that the module does not have.

    Raises
    ------
    RuntimeError
        If `strict`, and there is such a name; in any case if shapes differ.
    """
    state = load_file(filename, device=device)
    duplicates = _duplicates(dict(model.state_dict()), preferred=state)
    missing_names, unexpected_names = model.load_state_dict(state, strict=False)
    missing, unexpected = set(missing_names), list(unexpected_names)
    for others in duplicates.values():
        for name in others:
            if name in missing:
                missing.remove(name)
            else:  # the file has two values for one tensor
                unexpected.append(name)
    if strict and (missing or unexpected):
        raise RuntimeError(
            f"Error(s) in loading state_dict for {type(model).__name__} from {os.fspath(filename)}: missing keys "
            f"{sorted(missing)}, unexpected keys {sorted(unexpected)}. Pass strict=False to load the others."
        )
    return missing, unexpected


def _texts(metadata: Mapping[str, str] | None) -> dict[str, str] | None:
    return None if metadata is None else dict(metadata)


def _dtype(name: str, kind: str) -> minitorch.dtype:
    if kind not in _DTYPES:
        raise ValueError(f"safetensors: {name!r} has elements of {kind}, for which minitorch has no dtype.")
    return _DTYPES[kind]


def _tensor(name: str, kind: str, shape: list[int], data: Any) -> minitorch.Tensor:
    array = np.frombuffer(data, _little_endian(_dtype(name, kind).np)).reshape(shape)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return minitorch.from_numpy(array)


def _little_endian(dtype: np.dtype) -> np.dtype:
    """Return a dtype in the byte order of files."""
    return dtype if sys.byteorder == "little" or dtype.itemsize == 1 else dtype.newbyteorder("<")


def _specs(tensors: Mapping[str, minitorch.Tensor]) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Return what the library's writers take, and the arrays whose memory it points to."""
    if not isinstance(tensors, Mapping):
        raise ValueError(f"safetensors: a dict of names and tensors is saved, not {type(tensors).__name__}.")
    for name, tensor in tensors.items():
        if not isinstance(tensor, minitorch.Tensor):
            raise ValueError(f"safetensors: {name!r} is {type(tensor).__name__}, not a Tensor.")
        if tensor.layout != minitorch.strided:
            raise ValueError(f"safetensors: {name!r} is sparse; save {name}.to_dense(), or its indices and values.")
        if tensor.dtype not in _SAVED:
            raise ValueError(f"safetensors: {name!r} has dtype {tensor.dtype}, which the format lacks; convert it.")
        if not tensor.is_contiguous():
            raise ValueError(f"safetensors: {name!r} is not contiguous, strides {tensor.stride()}; save {name}.contiguous().")
    shared = [group for group in _sharing(tensors) if len(group) > 1]
    if shared:
        raise RuntimeError(
            f"safetensors: tensors share memory: {shared}. The file would hold it twice, and they would be apart when "
            "loaded. Save clones, or a module with save_model, which writes one of them."
        )
    arrays, specs = [], {}
    for name, tensor in tensors.items():
        array = tensor.detach().cpu().resolve_conj().resolve_neg().numpy()
        array = array.astype(_little_endian(array.dtype), copy=False)
        arrays.append(array)
        specs[name] = _TensorSpec(
            dtype=str(tensor.dtype).removeprefix("torch."),
            shape=list(tensor.shape),
            data_ptr=array.ctypes.data,
            data_len=array.nbytes,
        )
    return arrays, specs


def _extent(tensor: minitorch.Tensor) -> tuple[int, int]:
    """Return the first byte that a tensor shows of its storage, and the one behind the last."""
    low = high = tensor.storage_offset()
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        low += min((size - 1) * stride, 0)
        high += max((size - 1) * stride, 0)
    return low * tensor.element_size(), (high + 1) * tensor.element_size()


def _sharing(tensors: Mapping[str, minitorch.Tensor]) -> list[list[str]]:
    """Return the names in groups: of one group are those whose memory overlaps, each with the next."""
    storages: dict[tuple[str, int], list[tuple[int, int, str]]] = {}
    for name, tensor in tensors.items():
        if tensor.numel() and tensor.device.type != "meta":
            where = (str(tensor.device), tensor.untyped_storage()._cdata)
            storages.setdefault(where, []).append((*_extent(tensor), name))
    groups = []
    for extents in storages.values():
        end = -1
        for low, high, name in sorted(extents):
            if low < end:
                groups[-1].append(name)
            else:
                groups.append([name])
            end = max(end, high)
    return groups


def _duplicates(state: Mapping[str, minitorch.Tensor], preferred: Iterable[str] = ()) -> dict[str, list[str]]:
    """Return for each group that shares memory the name that stands for it, with the others."""
    found = {}
    preferred = frozenset(preferred)
    for group in _sharing(state):
        if len(group) < 2:
            continue
        extents = {name: _extent(state[name]) for name in group}
        low, high = min(e[0] for e in extents.values()), max(e[1] for e in extents.values())
        whole = [name for name in group if extents[name] == (low, high)]
        if not whole:
            raise RuntimeError(
                f"safetensors: {sorted(group)} share memory, and none of them shows all of it; give each a clone of its own."
            )
        kept = min(whole, key=lambda n: (n not in preferred, n))
        found[kept] = sorted(n for n in group if n != kept)
    return found
