"""The Python array API standard, version 2025.12: `minitorch.array_api` is what ``Tensor.__array_namespace__()`` returns.

Arrays are tensors. Functions have the standard's names and arguments (``axis``, ``keepdims``) and follow its rules where they
differ from PyTorch's. Operators between tensors, as ``x + y``, are PyTorch's. `docs/array_api.md` says more.

Examples
--------
>>> import minitorch
>>> x = minitorch.ones(2, 3)
>>> xp = x.__array_namespace__()
>>> xp.sum(x, axis=0, keepdims=True).shape
torch.Size([1, 3])
"""

from math import e, inf, nan, pi

from minitorch.array_api import fft, linalg
from minitorch.array_api.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from minitorch.array_api.data_types import astype, can_cast, finfo, iinfo, isdtype, result_type
from minitorch.array_api.elementwise import (
    abs,
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    clip,
    conj,
    copysign,
    cos,
    cosh,
    divide,
    equal,
    exp,
    expm1,
    floor,
    floor_divide,
    greater,
    greater_equal,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    pow,
    real,
    reciprocal,
    remainder,
    round,
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    trunc,
)
from minitorch.array_api.inspection import __array_namespace_info__
from minitorch.array_api.linalg import matmul, matrix_transpose, tensordot, vecdot
from minitorch.array_api.manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    take,
    take_along_axis,
    tile,
    unstack,
)
from minitorch.array_api.searching import (
    argmax,
    argmin,
    argsort,
    isin,
    nonzero,
    searchsorted,
    sort,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    where,
)
from minitorch.array_api.statistics import (
    all,
    any,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from minitorch.core.dtype import (
    bool,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

__array_api_version__ = "2025.12"
# The versions that programs may ask for: each added to the one before, and took nothing away.
API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")

newaxis = None
