"""`QuantizedHandle`: the integers of a quantized tensor, and how they stand for numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minitorch.core.dtype import dtype as dtype_class
from minitorch.core.dtype import from_numpy_dtype, int8, int32, qint8, qint32, quint2x4, quint4x2, quint8, uint8
from minitorch.core.meta_array import contiguous_strides
from minitorch.core.qscheme import per_channel_affine, per_channel_affine_float_qparams, per_tensor_affine, qscheme
from minitorch.tensor.base import TensorBase
from minitorch.tensor.components import ComponentHandle, tensor_of

INTEGERS: dict[dtype_class, dtype_class] = {
    qint8: int8, quint8: uint8, qint32: int32, quint4x2: uint8, quint2x4: uint8,
}  # fmt: skip
"""The dtype of the integers, by the quantized dtype."""
QUANTIZED_OF = {int8: qint8, uint8: quint8, int32: qint32}
PACKED = {quint4x2: 2, quint2x4: 4}
"""How many elements stand in one byte, of the dtypes where it is several."""


@dataclass(frozen=True, eq=False, slots=True)
class PerTensor:
    """One scale and one zero point for all elements."""

    scale: float
    zero_point: int

    @property
    def scheme(self) -> qscheme:
        return per_tensor_affine

    def tensors(self) -> tuple:
        """Return the parameters that are tensors."""
        return ()

    def with_tensors(self, tensors: tuple) -> PerTensor:
        """Return the same with other tensors."""
        return self


@dataclass(frozen=True, eq=False, slots=True)
class PerChannel:
    """A scale and a zero point for each index along `axis`: tensors of float64 and int64.

    Where the zero points are floating point numbers (float32, as the scales) the scheme is per_channel_affine_float_qparams:
    they are added before rounding.
    """

    scales: Any
    zero_points: Any
    axis: int

    @property
    def float_qparams(self) -> bool:
        return self.zero_points.dtype.is_floating_point

    @property
    def scheme(self) -> qscheme:
        return per_channel_affine_float_qparams if self.float_qparams else per_channel_affine

    def tensors(self) -> tuple:
        """Return the parameters that are tensors."""
        return self.scales, self.zero_points

    def with_tensors(self, tensors: tuple) -> PerChannel:
        """Return the same with other tensors."""
        return PerChannel(*tensors, self.axis)


class QuantizedHandle(ComponentHandle):
    """The handle of a quantized tensor.

    Attributes
    ----------
    ints : Tensor
        The integers, of the tensor's shape and strides; of a packed dtype (`PACKED`) a row of bytes.
    params : PerTensor or PerChannel
    of_others : bool
        Whether it is a view, or shares its integers as one does: others have them too, and parameters of their own for them.
    """

    __slots__ = ("_shape", "dtype", "ints", "of_others", "params")

    functionality = "Quantized"

    def __init__(self, ints: Any, params: Any, dtype: dtype_class, shape: Any = None):
        self.ints = ints
        self.params = params
        self.dtype = dtype.structure
        self._shape = shape
        self.of_others = False

    @property
    def shape(self) -> tuple:  # type: ignore[override]
        return self.ints.handle.shape if self._shape is None else self._shape

    @property
    def strides(self) -> tuple:
        if self._shape is None:
            return self.ints.handle.strides
        return contiguous_strides(self._shape, 1)

    @property
    def packed(self) -> bool:
        """Whether several elements stand in one byte."""
        return self._shape is not None

    def components(self) -> tuple:
        return *self.params.tensors(), self.ints

    def with_components(self, components: tuple) -> QuantizedHandle:
        params = self.params.with_tensors(components[:-1])
        return QuantizedHandle(components[-1], params, self.qdtype, self._shape)

    @property
    def qdtype(self) -> dtype_class:
        """The quantized dtype."""
        return from_numpy_dtype(self.dtype)

    def tensor(self) -> Any:
        """Return a new tensor around the handle, which shares the storage of its integers."""
        result = tensor_of(self)
        result.storage_cell = self.ints.storage_of()
        return result

    def __reduce__(self) -> tuple:
        return QuantizedHandle, (self.ints, self.params, self.qdtype, self._shape)

    def memory_tensor(self) -> Any:
        return self.ints

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize


def wrap(ints: Any, params: Any, dtype: dtype_class, shape: tuple | None = None) -> Any:
    """Return a quantized tensor of integers, which it shares, and parameters."""
    return QuantizedHandle(ints, params, dtype, shape).tensor()


def like(tensor: Any, ints: Any) -> Any:
    """Return a quantized tensor of other integers with the dtype and the parameters of `tensor`."""
    handle = tensor.handle
    return wrap(ints, handle.params, handle.qdtype)


def is_quantized(value: Any) -> bool:
    """Return whether a value is a quantized tensor."""
    return isinstance(value, TensorBase) and isinstance(value.handle, QuantizedHandle)


def ints_of(tensor: Any, name: str) -> Any:
    """Return the integers of a tensor, one an element.

    Raises
    ------
    RuntimeError
        If several stand in one byte: `name` is the operator that cannot have that.
    """
    handle = tensor.handle
    if handle.packed:
        raise RuntimeError(
            f"{name}: not supported for {handle.qdtype.name}, whose elements are packed {PACKED[handle.qdtype]} to a byte; "
            "dequantize() first"
        )
    return handle.ints


def per_tensor(tensor: Any, name: str) -> PerTensor:
    """Return the parameters of a tensor that has one scale for all elements.

    Raises
    ------
    RuntimeError
        If it has several.
    """
    params = tensor.handle.params
    if not isinstance(params, PerTensor):
        raise RuntimeError(
            f"{name}: Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false: the tensor is quantized "
            f"{params.scheme!r}, with {params.scales.shape[0]} scales along axis {params.axis}"
        )
    return params


def per_channel(tensor: Any, name: str) -> PerChannel:
    """Return the parameters of a tensor that has a scale for each channel.

    Raises
    ------
    RuntimeError
        If it has one for all.
    """
    params = tensor.handle.params
    if not isinstance(params, PerChannel):
        raise RuntimeError(
            f"{name}: Expected quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == "
            "kPerChannelAffineFloatQParams to be true, but got false: the tensor has one scale, q_scale()"
        )
    return params
