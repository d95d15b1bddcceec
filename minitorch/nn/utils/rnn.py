"""Sequences of different lengths: packing and padding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from minitorch.backends.device_modules import take_class
from minitorch.core.dtype import int64
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase
from minitorch.tensor.creation import tensor
from minitorch.tensor.tensor import Tensor

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence",
    "pad_packed_sequence", "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """The steps of several sequences, one after the other, without padding.

    Attributes
    ----------
    data : Tensor, shape (steps of all sequences, ...)
        Step by step; within a step, the sequences from the longest to the shortest.
    batch_sizes : Tensor of int64
        How many sequences have each step.
    sorted_indices, unsorted_indices : Tensor or None
        How the sequences were sorted by length, and the way back.
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Any = None,
        sorted_indices: Any = None,
        unsorted_indices: Any = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the sequence with its data cast or moved."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [None if i is None else i.to(data.device) for i in self[2:]]
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self) -> PackedSequence:
        """Return the sequence on the CPU."""
        return self.to("cpu")

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the sequence on a CUDA device."""
        return self.to(*(args or ("cuda",)), **kwargs)

    def float(self) -> PackedSequence:
        """Return the sequence in float32."""
        return type(self)(self.data.float(), *self[1:])

    def double(self) -> PackedSequence:
        """Return the sequence in float64."""
        return type(self)(self.data.double(), *self[1:])

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return self.data.is_cuda


take_class(PackedSequence)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the permutation that undoes another one."""
    if permutation is None:
        return None
    result = F.empty_like(permutation)
    return result.scatter_(
        0, permutation, F.arange(0, permutation.numel(), device=permutation.device)
    )


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Return the steps of padded sequences without the padding.

    Parameters
    ----------
    input : Tensor, shape (longest, batch, ...) or, with `batch_first`, (batch, longest, ...)
    lengths : Tensor or list of int
    enforce_sorted : bool
        The sequences are sorted by falling length already.
    """
    if not isinstance(lengths, TensorBase):
        lengths = tensor(lengths, dtype=int64)
    else:
        lengths = lengths.cpu()
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = F.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
    counts = [int(n) for n in lengths.tolist()]
    if len(counts) != input.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} "
            f"(batch_size={input.shape[1]})"
        )
    if not counts or counts[-1] <= 0 or min(counts) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if any(a < b for a, b in zip(counts, counts[1:], strict=False)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    sizes = [sum(1 for n in counts if n > t) for t in range(counts[0])]
    steps = [input[t, :n] for t, n in enumerate(sizes)]
    return PackedSequence(F.cat(steps), tensor(sizes, dtype=int64), sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return padded sequences, and their lengths: undo `pack_padded_sequence`."""
    sizes = sequence.batch_sizes.tolist()
    longest = len(sizes)
    if total_length is not None:
        if total_length < longest:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being "
                f"{longest}"
            )
        longest = total_length
    data = sequence.data
    batch = sizes[0]
    rows = []
    start = 0
    for n in sizes:
        step = data[start : start + n]
        start += n
        if n < batch:
            filler = F.full(
                [batch - n, *data.shape[1:]], padding_value, dtype=data.dtype, device=data.device
            )
            step = F.cat([step, filler])
        rows.append(step)
    for _ in range(longest - len(sizes)):
        rows.append(
            F.full(
                [batch, *data.shape[1:]], padding_value, dtype=data.dtype, device=data.device
            )
        )
    padded = F.stack(rows)
    lengths = tensor([sum(1 for n in sizes if n > i) for i in range(batch)], dtype=int64)
    if batch_first:
        padded = padded.transpose(0, 1)
    order = sequence.unsorted_indices
    if order is not None:
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Return sequences of different lengths stacked, the short ones padded.

    Parameters
    ----------
    sequences : list of Tensor, shape (length, ...)
    padding_side : {"right", "left"}
    """
    if isinstance(sequences, TensorBase):
        sequences = sequences.unbind(0)
    elif not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    sequences = tuple(sequences)
    longest = max(s.shape[0] for s in sequences)
    rows = []
    for s in sequences:
        missing = longest - s.shape[0]
        if missing:
            pad = [0, 0] * (s.dim() - 1)
            pad += [0, missing] if padding_side == "right" else [missing, 0]
            s = F.constant_pad_nd(s, pad, padding_value)
        rows.append(s)
    return F.stack(rows, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """Return the sequences without their padding."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [
        s[: int(n)] for s, n in zip(padded_sequences.unbind(0), lengths.tolist(), strict=True)
    ]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Return a packed sequence of tensors of different lengths."""
    lengths = tensor([s.shape[0] for s in sequences], dtype=int64)
    return pack_padded_sequence(
        pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted
    )


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the tensors that `pack_sequence` packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
