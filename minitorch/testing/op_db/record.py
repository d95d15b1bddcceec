"""What is written down of one operator for the tests that run over all operators."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import minitorch
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops.registry import DECLARATIONS
from minitorch.tensor.base import TensorBase

FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
BOOL = ("bool",)

REAL_FLOATS = FLOATS + HALVES
FLOATS_AND_COMPLEX = FLOATS + HALVES + COMPLEX
NUMBERS = FLOATS + HALVES + COMPLEX + INTEGERS
REAL_NUMBERS = FLOATS + HALVES + INTEGERS
ANY = NUMBERS + BOOL
ANY_REAL = REAL_NUMBERS + BOOL


class Sample:
    """The arguments of one call."""

    __slots__ = ("args", "kwargs", "label")

    def __init__(self, *args: Any, **kwargs: Any):
        self.args = args
        self.kwargs = kwargs
        self.label = ""

    def map(self, function: Callable) -> Sample:
        """Return the sample with ``function(tensor)`` in place of each tensor, also those in lists."""
        return Sample(*[_map(a, function) for a in self.args], **{k: _map(v, function) for k, v in self.kwargs.items()})

    def tensors(self) -> list:
        """Return all tensors of the sample, in order."""
        found: list = []
        self.map(lambda tensor: found.append(tensor) or tensor)
        return found

    def __repr__(self) -> str:
        parts = [_describe(a) for a in self.args] + [f"{k}={_describe(v)}" for k, v in self.kwargs.items()]
        return f"({', '.join(parts)})"


class ErrorSample:
    """The arguments of a call that has to fail, and how."""

    __slots__ = ("args", "error", "kwargs", "match")

    def __init__(self, error: type[BaseException] | tuple, match: str, *args: Any, **kwargs: Any):
        self.error = error
        self.match = match
        self.args = args
        self.kwargs = kwargs


def _map(value: Any, function: Callable) -> Any:
    if isinstance(value, TensorBase):
        return function(value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, (TensorBase, list, tuple)) for v in value):
        return type(value)([_map(v, function) for v in value])
    return value


def _describe(value: Any) -> str:
    if isinstance(value, TensorBase):
        tensor: Any = value
        return f"{tensor.dtype.name}{list(tensor.shape)} of strides {list(tensor.stride())}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_describe(v) for v in value)}]"
    return repr(value)


class Maker:
    """Makes the tensors of samples: the same ones each time, without the global generator.

    The elements of a floating tensor all differ, by far more than the step of `gradcheck`, so
    that no sample lies on a kink such as that of `max`.

    Attributes
    ----------
    dtype, device, requires_grad
        Of the tensors made, where nothing else is said.
    """

    def __init__(self, device: Any, dtype: Any, requires_grad: bool, seed: int):
        self.device = device
        self.dtype = dtype
        self.requires_grad = requires_grad
        self.random = np.random.default_rng(seed)

    @property
    def is_float(self) -> bool:
        """Whether the dtype is floating or complex."""
        return self.dtype.is_floating_point or self.dtype.is_complex

    def __call__(
        self,
        *shape: int,
        low: float | None = None,
        high: float | None = None,
        avoid: tuple = (),
        layout: str = "rows",
        dtype: Any = None,
        grad: bool | None = None,
    ) -> Any:
        """Return a tensor of elements between `low` and `high`.

        Parameters
        ----------
        avoid : tuple of float
            Values that no element of a floating tensor comes near: kinks and poles.
        layout : {"rows", "columns", "gaps", "expanded"}
            How it lies in memory.  ``"expanded"`` repeats the first row with a stride of 0.
        grad : bool, optional
            Whether it requires a gradient, where that is not the sample's choice.
        """
        dtype = self.dtype if dtype is None else dtype
        if layout == "expanded":
            row = self(1, *shape[1:], low=low, high=high, avoid=avoid, dtype=dtype, grad=grad)
            return row.detach().expand(*shape).requires_grad_(row.requires_grad)
        values = self._values(shape, dtype, low, high, avoid)
        if layout == "columns":
            values = np.ascontiguousarray(values.T).T
        elif layout == "gaps" and values.ndim:
            wide = np.zeros((*values.shape[:-1], 2 * values.shape[-1] + 1), values.dtype)
            wide[..., 1::2] = values
            values = wide[..., 1::2]
        tensor = minitorch.from_numpy(values)
        if tensor.device != minitorch.device(self.device):
            tensor = tensor.to(self.device)
        wants = self.requires_grad if grad is None else grad
        return tensor.requires_grad_() if wants and (dtype.is_floating_point or dtype.is_complex) else tensor

    def _values(self, shape: tuple, dtype: Any, low: Any, high: Any, avoid: tuple) -> Any:
        if dtype.is_complex:
            real = self._values(shape, minitorch.float64, low, high, avoid)
            imaginary = self._values(shape, minitorch.float64, -1.5, 1.5, (0.0,))  # off the cuts of log, sqrt, ...
            return np.asarray(real + 1j * imaginary).astype(dtype.np)
        if dtype.name == "bool":
            return np.asarray(self.random.integers(0, 2, shape)).astype(np.bool_)
        if not dtype.is_floating_point:
            lowest = 0 if dtype.name == "uint8" else -9
            low = lowest if low is None else max(int(np.ceil(low)), lowest)
            high = 10 if high is None else max(int(np.ceil(high)), low + 1)
            return np.asarray(self.random.integers(low, high, shape)).astype(dtype.np)
        low = -2.0 if low is None else low
        high = 2.0 if high is None else high
        count = int(np.prod(shape))
        # One value in each of `count` intervals, away from its ends, in random order.
        steps = self.random.permutation(count) + self.random.uniform(0.2, 0.8, count)
        values = low + steps * ((high - low) / max(count, 1))
        for point in avoid:
            near = np.abs(values - point) < 0.1
            values[near] = point + np.where(values[near] < point, -0.15, 0.15)
        return np.asarray(values.reshape(shape)).astype(dtype.np)

    def indices(self, *shape: int, high: int, low: int = 0) -> Any:
        """Return an int64 tensor of indices in ``[low, high)``."""
        return minitorch.from_numpy(np.asarray(self.random.integers(low, high, shape)))

    def distinct(self, count: int, high: int) -> Any:
        """Return an int64 tensor of `count` different indices below `high`."""
        return minitorch.from_numpy(self.random.permutation(high)[:count].astype(np.int64))

    def mask(self, *shape: int) -> Any:
        """Return a bool tensor."""
        return minitorch.from_numpy(np.asarray(self.random.integers(0, 2, shape)).astype(np.bool_))

    def well_conditioned(self, *shape: int, grad: bool | None = None) -> Any:
        """Return square matrices that are far from singular."""
        n = shape[-1]
        values = self._values(shape, minitorch.complex128 if self.dtype.is_complex else minitorch.float64, -1, 1, ())
        values = values / max(n, 1) + np.eye(n) * np.linspace(1, 2, n)
        tensor = minitorch.from_numpy(values.astype(self.dtype.np))
        wants = self.requires_grad if grad is None else grad
        return tensor.requires_grad_() if wants else tensor

    def positive_definite(self, *shape: int) -> Any:
        """Return Hermitian positive definite matrices with well separated eigenvalues."""
        n = shape[-1]
        values = self._values(shape, minitorch.complex128 if self.dtype.is_complex else minitorch.float64, -1, 1, ())
        values = (values @ np.conj(np.swapaxes(values, -1, -2))) / max(n, 1) + np.eye(n) * np.linspace(1, 2, n)
        tensor = minitorch.from_numpy(values.astype(self.dtype.np))
        return tensor.requires_grad_() if self.requires_grad else tensor


class OpRecord:
    """What the generic tests know of one public operator.

    Parameters
    ----------
    name : str
        Its public path: ``"sin"``, ``"linalg.inv"``, ``"nn.functional.gelu"``, ``"Tensor.view"``.
    samples : callable
        ``samples(make)`` yields a `Sample` for each kind of call, with a `Maker`.
    reference : callable, optional
        The same function on NumPy arrays; floating ones come in double precision.
    dtypes : tuple of str
        What the tensors made may be.
    errors : callable, optional
        ``errors(make)`` yields `ErrorSample`.
    operators : tuple of str, optional
        Base names in the operator table that the record stands for, where the name does not say.
    aliases : tuple of str
        Public paths of functions that do the same.
    autograd : bool
        Whether results have gradients.
    no_gradcheck, no_gradgrad, no_forward, no_complex_grad : str
        Why first derivatives, second derivatives, forward mode, complex gradients are not tested; empty where they are.
    no_out, no_inplace, no_meta, no_layouts : str
        Why the test of that name does not apply, where the operator table says it would.
    prepare : callable, optional
        Takes the positional arguments of a sample (and its keyword arguments) and returns them as the function whose
        gradients are checked passes them on: a matrix made symmetric, say.
    project : callable, optional
        Applied to the result wherever values are compared: what of it does not depend on a free choice.
    call : callable, optional
        What is called, where the name is no function: a property of `Tensor`.
    random : bool
        Whether results are random; calls are then seeded.
    tolerance : float
        Multiplies the tolerances of values.
    grad_atol, grad_rtol : float
        Tolerances of gradients; the reason stands in a comment where they are given.
    """

    def __init__(
        self,
        name: str,
        samples: Callable,
        *,
        reference: Callable | None = None,
        dtypes: tuple = FLOATS,
        errors: Callable | None = None,
        operators: tuple | None = None,
        aliases: tuple = (),
        autograd: bool = True,
        no_gradcheck: str = "",
        no_gradgrad: str = "",
        no_forward: str = "",
        no_complex_grad: str = "",
        no_out: str = "",
        no_inplace: str = "",
        no_meta: str = "",
        no_layouts: str = "",
        prepare: Callable | None = None,
        project: Callable | None = None,
        call: Callable | None = None,
        random: bool = False,
        tolerance: float = 1.0,
        grad_atol: float = 1e-5,
        grad_rtol: float = 1e-3,
    ):
        self.name = name
        self.call = call
        self.make_samples = samples
        self.reference = reference
        self.dtypes = dtypes
        self.make_errors = errors
        self.aliases = aliases
        self.autograd = autograd
        self.no_gradcheck = no_gradcheck
        self.no_gradgrad, self.no_forward, self.no_complex_grad = no_gradgrad, no_forward, no_complex_grad
        self.no_out, self.no_inplace, self.no_meta, self.no_layouts = no_out, no_inplace, no_meta, no_layouts
        self.prepare = prepare
        self.project = project
        self.random = random
        self.tolerance = tolerance
        self.grad_atol, self.grad_rtol = grad_atol, grad_rtol
        self.basename = self._basename()
        self.operators = (self.basename,) if operators is None else operators
        self.family = ""

    def _basename(self) -> str:
        module, _, last = self.name.rpartition(".")
        if module in ("linalg", "special", "fft"):
            return f"{module}_{last}"
        return last

    def __repr__(self) -> str:
        return f"<record of {self.name}>"

    # -- callables -------------------------------------------------------------------------

    @property
    def function(self) -> Callable:
        """The public function."""
        if self.call is not None:
            return self.call
        found: Any = minitorch
        for part in self.name.split("."):
            found = getattr(found, part)
        return found

    @property
    def method(self) -> Callable | None:
        """The method of `Tensor` of the same name, if the table says that there is one."""
        if "." in self.name or not self._declared("functional", self.basename, 2):
            return None
        if any(op.schema.arguments and op.schema.arguments[0].name != "self" for op in self.overloads()):
            return None  # the arguments come in another order, as those of `where`
        return getattr(minitorch.Tensor, self.basename)

    @property
    def inplace(self) -> Callable | None:
        """The in-place method, if there is one."""
        name = self.basename + "_"
        if self.no_inplace or "." in self.name or not self._declared("inplace", name, 2):
            return None
        return getattr(minitorch.Tensor, name)

    def out_names(self) -> list[tuple]:
        """Return the names of the written arguments of each ``out=`` overload."""
        if self.no_out or self.name.startswith("Tensor.") or not hasattr(self.function, "binder"):
            return []  # a Python function has the parameters that are written there
        return [
            d.out_names
            for name, d in DECLARATIONS.items()
            if d.kind == "out" and d.variants & 1 and name.partition(".")[0] == self.basename
        ]

    def _declared(self, kind: str, basename: str, variant: int) -> bool:
        return any(
            d.kind == kind and d.variants & variant and name.partition(".")[0] == basename
            for name, d in DECLARATIONS.items()
        )

    def overloads(self) -> list:
        """Return the operators that the record stands for."""
        names = [n for n, d in DECLARATIONS.items() if d.kind == "functional" and n.partition(".")[0] in self.operators]
        return [OPERATORS["aten::" + name] for name in names]

    # -- samples ---------------------------------------------------------------------------

    def samples(self, dtype: Any, device: Any = "cpu", requires_grad: bool = False) -> Iterator[Sample]:
        """Yield the samples for a dtype: the same ones at each call."""
        yield from self.make_samples(self.maker(dtype, device, requires_grad))

    def error_samples(self, device: Any = "cpu") -> Iterator[ErrorSample]:
        """Yield the calls that have to fail."""
        if self.make_errors is not None:
            yield from self.make_errors(self.maker(getattr(minitorch, self.dtypes[0]), device, False))

    def maker(self, dtype: Any, device: Any = "cpu", requires_grad: bool = False) -> Maker:
        """Return what makes the tensors of samples."""
        return Maker(device, dtype, requires_grad, zlib.crc32(self.name.encode()))

    def supports(self, *names: str) -> bool:
        """Return whether one of the dtypes is supported."""
        return any(name in self.dtypes for name in names)
