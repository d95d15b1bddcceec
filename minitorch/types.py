"""Types for annotations: the names of ``torch.types``."""

from __future__ import annotations

import builtins
from typing import TypeAlias

from minitorch.core.device import device
from minitorch.core.dtype import dtype
from minitorch.core.size import Size
from minitorch.core.symbolic import SymBool, SymFloat, SymInt
from minitorch.tensor.tensor import Tensor

_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_bool: TypeAlias = builtins.bool
_complex: TypeAlias = builtins.complex
_dtype: TypeAlias = dtype
_device: TypeAlias = device
_size: TypeAlias = Size | list[int] | tuple[int, ...]

Number: TypeAlias = int | float | bool
IntLikeType: TypeAlias = int | SymInt
FloatLikeType: TypeAlias = float | SymFloat
BoolLikeType: TypeAlias = bool | SymBool
Device: TypeAlias = device | str | int | None
TensorOrTensors: TypeAlias = Tensor | tuple[Tensor, ...] | list[Tensor]
