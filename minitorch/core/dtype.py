"""Element types: the `dtype` singletons, their NumPy counterparts, and their limits."""

from __future__ import annotations

import ml_dtypes
import numpy as np

__all__ = [
    "bfloat16", "bool", "cdouble", "cfloat", "complex64", "complex128", "double", "dtype", "finfo",
    "float", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float16",
    "float32", "float64", "get_default_dtype", "half", "iinfo", "int", "int8", "int16", "int32",
    "int64", "long", "qint8", "qint32", "quint2x4", "quint4x2", "quint8", "set_default_dtype", "short", "uint8", "uint16",
    "uint32", "uint64",
]  # fmt: skip

DTYPES: dict[str, dtype] = {}
"""Every dtype of numbers by its name, in the order of their definition."""
QUANTIZED_DTYPES: dict[str, dtype] = {}
"""The dtypes of quantized tensors: integers that stand for numbers by a scale and a zero point."""

QUANTIZED = 4


class dtype:
    """The type of a tensor's elements.

    There is one object per type; compare them with ``is`` or ``==``.

    Attributes
    ----------
    name : str
        ``"float32"``.
    np : numpy.dtype
        What arrays of this type have as their dtype; no array has a quantized one (Note [Quantized dtypes]).
    structure : numpy.dtype
        The same; of a quantized type what the handles of its tensors name.
    scalar_name : str
        The word PyTorch's error texts use: ``"Float"``, ``"Long"``.
    itemsize : int
        Bytes per element.
    is_floating_point, is_complex, is_signed : bool
    category : int
        0 for bool, 1 for integers, 2 for floating point, 3 for complex, 4 for quantized.
    """

    __slots__ = (
        "abbr",
        "category",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "name",
        "np",
        "scalar_name",
        "structure",
    )

    def __init__(self, name: str, np_dtype, scalar_name: str, category, abbr: str):
        self.name = name
        structure = np.dtype(np_dtype)
        self.scalar_name = scalar_name
        self.abbr = abbr
        self.itemsize = structure.itemsize
        self.category = category
        self.is_floating_point = category == 2
        self.is_complex = category == 3
        if category == QUANTIZED:
            self.structure = structure
            QUANTIZED_DTYPES[name] = self
            return
        self.np = self.structure = structure
        self.is_signed = category > 0 and not name.startswith("uint")
        DTYPES[name] = self

    def __getattr__(self, name: str):
        if name == "np":
            raise RuntimeError(
                f"no ordinary tensor has the dtype {self!r}, which is that of quantized tensors: make one with "
                "quantize_per_tensor() or quantize_per_channel(), and get numbers back with dequantize() or int_repr()"
            )
        if name == "is_signed":
            raise RuntimeError(f"{self!r}.is_signed: not supported for quantized types; ask that of int_repr().dtype")
        raise AttributeError(f"dtype has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"torch.{self.name}"  # PyTorch's text, which programs parse

    def __reduce__(self):
        return _dtype_by_name, (self.name,)

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo) -> dtype:
        return self

    def to_real(self) -> dtype:
        """Return the type of the real part; a type that is not complex is its own."""
        return _TO_REAL.get(self, self)

    def to_complex(self) -> dtype:
        """Return the complex type whose parts have this precision, or the next wider one.

        Raises
        ------
        RuntimeError
            If there is none: bool, integers, float8.
        """
        if self.is_complex:
            return self
        result = _TO_COMPLEX.get(self)
        if result is None:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.scalar_name}")
        return result


def _dtype_by_name(name: str) -> dtype:
    return DTYPES[name] if name in DTYPES else QUANTIZED_DTYPES[name]


bool_ = dtype("bool", np.bool_, "Bool", 0, "b8")
uint8 = dtype("uint8", np.uint8, "Byte", 1, "u8")
uint16 = dtype("uint16", np.uint16, "UInt16", 1, "u16")
uint32 = dtype("uint32", np.uint32, "UInt32", 1, "u32")
uint64 = dtype("uint64", np.uint64, "UInt64", 1, "u64")
int8 = dtype("int8", np.int8, "Char", 1, "i8")
int16 = dtype("int16", np.int16, "Short", 1, "i16")
int32 = dtype("int32", np.int32, "Int", 1, "i32")
int64 = dtype("int64", np.int64, "Long", 1, "i64")
float16 = dtype("float16", np.float16, "Half", 2, "f16")
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, "BFloat16", 2, "bf16")
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, "Float8_e4m3fn", 2, "f8e4m3fn")
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, "Float8_e5m2", 2, "f8e5m2")
float8_e4m3fnuz = dtype(
    "float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, "Float8_e4m3fnuz", 2, "f8e4m3fnuz"
)
float8_e5m2fnuz = dtype(
    "float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, "Float8_e5m2fnuz", 2, "f8e5m2fnuz"
)
float32 = dtype("float32", np.float32, "Float", 2, "f32")
float64 = dtype("float64", np.float64, "Double", 2, "f64")
complex64 = dtype("complex64", np.complex64, "ComplexFloat", 3, "c64")
complex128 = dtype("complex128", np.complex128, "ComplexDouble", 3, "c128")

# Note [Quantized dtypes]
# Their `structure` is one of a single integer: it has the size of the integer, is equal to no other dtype, and no
# ufunc takes it.  The handles of quantized tensors name it (`quantized.handle`), so that `from_numpy_dtype` needs no branch.
# No array is made of it: `np`, which all that makes arrays asks for, raises.
qint8 = dtype("qint8", [("qint8", np.int8)], "QInt8", QUANTIZED, "qi8")
quint8 = dtype("quint8", [("quint8", np.uint8)], "QUInt8", QUANTIZED, "qu8")
qint32 = dtype("qint32", [("qint32", np.int32)], "QInt32", QUANTIZED, "qi32")
quint4x2 = dtype("quint4x2", [("quint4x2", np.uint8)], "QUInt4x2", QUANTIZED, "qu4x2")
quint2x4 = dtype("quint2x4", [("quint2x4", np.uint8)], "QUInt2x4", QUANTIZED, "qu2x4")

_QUANTIZED_LIMITS = {
    qint8: (-128, 127), quint8: (0, 255), qint32: (-(2**31), 2**31 - 1), quint4x2: (0, 15), quint2x4: (0, 3),
}  # fmt: skip


def quantized_limits(d: dtype) -> tuple:
    """Return the least and the greatest integer that a quantized dtype keeps.

    Raises
    ------
    RuntimeError
        If the dtype is no quantized one.
    """
    found = _QUANTIZED_LIMITS.get(d)
    if found is None:
        raise RuntimeError(
            f"ScalarType {d.scalar_name} is not supported for quantized tensors: {d.name} is none of "
            f"{', '.join(QUANTIZED_DTYPES)}"
        )
    return found


_TO_COMPLEX = {
    float16: complex64,  # NumPy has no complex32
    bfloat16: complex64,
    float32: complex64,
    float64: complex128,
}
_TO_REAL = {complex64: float32, complex128: float64}

# Keyed by the NumPy dtype object: one probe. NumPy has several dtype objects for the same
# type (`long` and `longlong`); they are equal and hash alike.
_FROM_NUMPY: dict[np.dtype, dtype] = {d.structure: d for d in (*DTYPES.values(), *QUANTIZED_DTYPES.values())}


def from_numpy_dtype(np_dtype) -> dtype:
    """Return the dtype of arrays whose NumPy dtype is `np_dtype`.

    Raises
    ------
    TypeError
        If there is none: strings, objects, structures, non-native byte order.
    """
    found = _FROM_NUMPY.get(np_dtype)
    if found is not None:
        return found
    np_dtype = np.dtype(np_dtype)
    found = _FROM_NUMPY.get(np_dtype)
    if found is not None:
        return found
    if not np_dtype.isnative:
        raise TypeError(
            "given numpy array has byte order different from the native byte order. "
            f"Conversion between byte orders is currently not supported (dtype {np_dtype.str!r}; "
            "use array.astype(array.dtype.newbyteorder('=')))"
        )
    supported = ", ".join(d.name for d in DTYPES.values())
    raise TypeError(
        f"can't convert np.ndarray of type numpy.{np_dtype.type.__name__}. "
        f"The only supported types are: {supported}."
    )


# ---------------------------------------------------------------- the default dtype

_default_dtype = float32
_default_listeners: list = []


def get_default_dtype() -> dtype:
    """Return the type that floating-point values get when none is asked for."""
    return _default_dtype


def get_default_complex_dtype() -> dtype:
    """Return the type that complex values get when none is asked for."""
    return _TO_COMPLEX[_default_dtype]


def set_default_dtype(d: dtype) -> None:
    """Set the type that floating-point values get when none is asked for.

    Parameters
    ----------
    d : dtype
        float16, bfloat16, float32 or float64.
    """
    global _default_dtype
    if not isinstance(d, dtype):
        raise TypeError(
            "invalid dtype object: only floating-point types are supported as the default type"
        )
    if d not in _TO_COMPLEX:
        raise TypeError(
            "only floating-point types are supported as the default type: "
            f"float16, bfloat16, float32 or float64, not {d.name}"
        )
    _default_dtype = d
    for listener in _default_listeners:
        listener(d)


def on_default_dtype_change(listener) -> None:
    """Call ``listener(dtype)`` whenever the default dtype is set."""
    _default_listeners.append(listener)


# ---------------------------------------------------------------- limits

# bits, eps, max, smallest normal, resolution. float8_e5m2fnuz has PyTorch's eps of 1/8.
_FLOAT_LIMITS = {
    "float64": (64, 2.0**-52, 1.7976931348623157e308, 2.0**-1022, 1e-15),
    "float32": (32, 2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 1e-6),
    "float16": (16, 2.0**-10, 65504.0, 2.0**-14, 1e-3),
    "bfloat16": (16, 2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 1e-2),
    "float8_e4m3fn": (8, 2.0**-3, 448.0, 2.0**-6, 1.0),
    "float8_e5m2": (8, 2.0**-2, 57344.0, 2.0**-14, 1.0),
    "float8_e4m3fnuz": (8, 2.0**-3, 240.0, 2.0**-7, 1.0),
    "float8_e5m2fnuz": (8, 2.0**-3, 57344.0, 2.0**-15, 1.0),
}


class _Limits:
    __slots__ = ()

    def __eq__(self, other: object):
        return type(other) is type(self) and other.dtype == self.dtype  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]


class finfo(_Limits):
    """Limits of a floating-point type; of a complex type, those of its parts.

    Parameters
    ----------
    type : dtype, optional
        The default dtype when omitted.

    Attributes
    ----------
    bits : int
    eps, max, min, tiny, smallest_normal, resolution : float
    dtype : str
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: dtype | None = None):
        if type is None:
            type = _default_dtype
        if not isinstance(type, dtype):
            raise TypeError(f"finfo(): argument 'type' must be a dtype, not {type!r}")
        real = type.to_real()
        limits = _FLOAT_LIMITS.get(real.name)
        if limits is None:
            raise TypeError(
                "torch.finfo() requires a floating point input type. "
                f"Use torch.iinfo to handle '{type}'"
            )
        self.bits, self.eps, self.max, self.smallest_normal, self.resolution = limits
        self.min = -self.max
        self.tiny = self.smallest_normal
        self.dtype = real.name

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo(_Limits):
    """Limits of an integer type.

    Parameters
    ----------
    type : dtype

    Attributes
    ----------
    bits, max, min : int
    dtype : str
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: dtype):
        if not isinstance(type, dtype):
            raise TypeError(f"iinfo(): argument 'type' must be a dtype, not {type!r}")
        if type.category == 0:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.category == QUANTIZED:
            self.min, self.max = _QUANTIZED_LIMITS[type]
            self.bits = (self.max - self.min).bit_length()
            self.dtype = type.name
            return
        if type.category != 1:
            raise TypeError(
                f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'"
            )
        self.bits = type.itemsize * 8
        self.max = (1 << (self.bits - type.is_signed)) - 1
        self.min = -(1 << (self.bits - 1)) if type.is_signed else 0
        self.dtype = type.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


# ---------------------------------------------------------------- names that hide builtins

# Nothing above uses the builtins of these names (annotations are never evaluated).
bool = bool_
float = float32
double = float64
half = float16
cfloat = complex64
cdouble = complex128
long = int64
int = int32
short = int16
