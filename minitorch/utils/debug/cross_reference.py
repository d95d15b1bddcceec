"""`CrossReferenceMode`: run each operator on a second device too, and report where the two disagree."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from minitorch.core.device import device as device_class
from minitorch.dispatch.keys import PYTHON
from minitorch.dispatch.mode_stack import disable_all_modes
from minitorch.dispatch.namespace import OpOverload
from minitorch.dispatch.tags import Tag
from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor
from minitorch.tensor.wrapper import has_elements, host_array
from minitorch.utils.debug.text import call_text, value_text
from minitorch.utils.debug.values import mapped, tensors_in
from minitorch.utils.module_tracker import ModuleTracker

__all__ = ["CrossReferenceError", "CrossReferenceMode", "Disagreement"]

_UNINITIALISED = frozenset(("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"))
_SHAPE_FROM_VALUES = (Tag.dynamic_output_shape, Tag.data_dependent_output)
# (rtol, atol) by the size of an element, as PyTorch's assert_close has them.
_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "complex64": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7), "complex128": (1e-7, 1e-7),
}  # fmt: skip


class Disagreement(NamedTuple):
    """One operator call that came out differently on the second device.

    Attributes
    ----------
    op : OpOverload
    what : str
        ``"shape"``, ``"dtype"``, ``"stride"``, ``"values"``, ``"number of results"`` or ``"error"``.
    where : str
        Which result, or which argument that was written.
    expected, found
        What it is, and what it is on the second device.
    call : str
        The call as text.
    module : str
        The module that was running, ``"Global"`` for none.
    """

    op: Any
    what: str
    where: str
    expected: Any
    found: Any
    call: str
    module: str

    def __str__(self) -> str:
        place = "" if self.module == "Global" else f" in {self.module}"
        return f"{self.call}{place}: {self.what} of {self.where} is {self.expected}, and {self.found} on the second device"


class CrossReferenceError(AssertionError):
    """Two devices disagree; `disagreement` says where."""

    def __init__(self, disagreement: Disagreement):
        super().__init__(str(disagreement))
        self.disagreement = disagreement


class CrossReferenceMode(TorchDispatchMode):
    """Scope in which each operator also runs on copies of its arguments on another device, and results are compared.

    On ``"meta"``, the default, shapes, dtypes and strides are; on a device with elements, those too.  What the
    second device cannot do is counted and skipped.

    Parameters
    ----------
    device : str or device
    strides : bool
        Whether strides are compared.
    first : bool
        Whether the first disagreement is an error; if not, all are collected.
    rtol, atol : float, optional
        Those of `testing.assert_close` for the dtype when omitted.
    ignore : sequence of OpOverload or OpOverloadPacket
        Operators that are not compared.

    Attributes
    ----------
    disagreements : list of Disagreement
    compared, unsupported : Counter of str
        By operator, how many calls were compared, and how many the second device refused.

    Raises
    ------
    CrossReferenceError
        An AssertionError, at the first disagreement if `first` is set.

    Examples
    --------
    >>> with CrossReferenceMode() as mode:
    ...     y = minitorch.ones(2, 3).t().exp().sum(0)
    >>> mode.disagreements, mode.compared["aten.exp.default"]
    ([], 1)
    """

    def __init__(
        self,
        device: Any = "meta",
        *,
        strides: bool = True,
        first: bool = True,
        rtol: float | None = None,
        atol: float | None = None,
        ignore: Any = (),
    ):
        super().__init__()
        self.device = device_class(device)
        self.strides = strides
        self.first = first
        self.rtol, self.atol = rtol, atol
        self.ignore = frozenset(str(op) for op in ignore)
        self.disagreements: list[Disagreement] = []
        self.compared: Counter[str] = Counter()
        self.unsupported: Counter[str] = Counter()
        self._tracker = ModuleTracker()

    def __enter__(self) -> Any:
        self._tracker.__enter__()
        return super().__enter__()

    def __exit__(self, *exc_info: Any) -> None:
        super().__exit__(*exc_info)
        self._tracker.__exit__(*exc_info)

    def __torch_dispatch__(self, func: OpOverload, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        if str(func) in self.ignore or str(func.overloadpacket) in self.ignore or not _comparable((args, keywords)):
            return func(*args, **keywords)
        with disable_all_modes():
            twins: dict[int, Any] = {}
            other_args = mapped(lambda value: self._twin(value, twins), args)
            other_keywords = mapped(lambda value: self._twin(value, twins), keywords)
            if "device" in {argument.name for argument in func._schema.arguments} and not any(True for _ in tensors_in(args)):
                other_keywords["device"] = self.device
        result = func(*args, **keywords)
        with disable_all_modes():
            call = call_text(func, args, keywords)
            try:
                other = func(*other_args, **other_keywords)
            except NotImplementedError:
                self.unsupported[str(func)] += 1
                return result
            except RuntimeError as error:
                if any(tag in func.tags for tag in _SHAPE_FROM_VALUES):
                    self.unsupported[str(func)] += 1
                else:
                    self._report(func, "error", "the call", "none", f"{type(error).__name__}: {error}", call)
                return result
            self.compared[str(func)] += 1
            self._compare(func, result, other, call)
            for argument, value, twin in _written(func, args, keywords, other_args, other_keywords):
                self._compare(func, value, twin, call, f"the written argument {argument}")
        return result

    def _twin(self, value: Any, twins: dict[int, Any]) -> Any:
        """Return an argument as the second device gets it: a copy of a tensor, with its strides."""
        if isinstance(value, device_class):
            return self.device
        if not isinstance(value, Tensor):
            return value
        found = twins.get(id(value))
        if found is None:
            found = twins[id(value)] = self._copy(value.detach())
        return found

    def _copy(self, tensor: Any) -> Any:
        if tensor.is_conj():
            return self._copy(tensor.conj()).conj()
        if tensor.is_neg():
            return F._neg_view(self._copy(F._neg_view(tensor)))
        sizes = [n if step or n == 0 else 1 for n, step in zip(tensor.shape, tensor.stride(), strict=True)]
        copy = F.empty_strided(sizes, list(tensor.stride()), dtype=tensor.dtype, device=self.device)
        if self.device.type != "meta":
            copy.copy_(F.as_strided(tensor, sizes, list(tensor.stride())))
        return copy if sizes == list(tensor.shape) else F.expand(copy, list(tensor.shape))

    def _compare(self, func: Any, expected: Any, found: Any, call: str, where: str = "the result") -> None:
        one, other = list(tensors_in(expected)), list(tensors_in(found))
        if len(one) != len(other):
            self._report(func, "number of results", where, len(one), len(other), call)
            return
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            place = where if len(one) == 1 else f"result {number}"
            if tuple(left.shape) != tuple(right.shape):
                self._report(func, "shape", place, tuple(left.shape), tuple(right.shape), call)
            elif left.dtype is not right.dtype:
                self._report(func, "dtype", place, left.dtype, right.dtype, call)
            elif self.strides and _steps(left) != _steps(right):
                self._report(func, "stride", place, left.stride(), right.stride(), call)
            elif self.device.type != "meta" and self._has_values(func) and not self._agree(left, right):
                self._report(func, "values", place, _shown(left), _shown(right), call)

    def _has_values(self, func: Any) -> bool:
        return func.basename not in _UNINITIALISED and Tag.nondeterministic_seeded not in func.tags

    def _agree(self, left: Any, right: Any) -> bool:
        one, other = _values(left), _values(right)
        if one.dtype.kind not in "fc":
            return bool((one == other).all())
        rtol, atol = _TOLERANCES.get(left.dtype.name, (0.0, 0.0))
        rtol = rtol if self.rtol is None else self.rtol
        atol = atol if self.atol is None else self.atol
        return bool(np.isclose(other, one, rtol=rtol, atol=atol, equal_nan=True).all())

    def _report(self, func: Any, what: str, where: str, expected: Any, found: Any, call: str) -> None:
        disagreement = Disagreement(func, what, where, expected, found, call, self._tracker.innermost)
        self.disagreements.append(disagreement)
        if self.first:
            raise CrossReferenceError(disagreement)


def _comparable(values: Any) -> bool:
    """Return whether copies can be made of all tensors: not of examples under ``vmap``, zeros without memory, subclasses."""
    return all(has_elements(t) and not t._is_zerotensor() and not t.key_set & PYTHON for t in tensors_in(values))


def _written(func: OpOverload, args: tuple, kwargs: dict, other_args: tuple, other_kwargs: dict) -> Any:
    """Yield name, value and twin of each argument that the operator writes."""
    for index, argument in enumerate(func._schema.arguments):
        if not argument.is_write:
            continue
        if argument.name in kwargs:
            yield argument.name, kwargs[argument.name], other_kwargs[argument.name]
        elif index < len(args):
            yield argument.name, args[index], other_args[index]


def _steps(tensor: Any) -> Any:
    """Return the strides that matter: none of dimensions of one element, or of tensors without elements."""
    if not tensor.numel():
        return None
    return [step for n, step in zip(tensor.shape, tensor.stride(), strict=True) if n > 1]


def _values(tensor: Any) -> np.ndarray:
    array = host_array(F.clone(tensor.detach()))
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def _shown(tensor: Any) -> str:
    return value_text(tensor) if tensor.numel() > 8 else str(_values(tensor).tolist())
