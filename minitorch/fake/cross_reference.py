"""`CrossRefFakeMode`: each operator of a real run is run on fake tensors too, and the results must look alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.core.pytree import tree_leaves, tree_map_only
from minitorch.dispatch.tags import Tag
from minitorch.fake.exceptions import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
)
from minitorch.fake.mode import FakeTensorMode
from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.tensor.base import TensorBase

_LIFTS = ("lift_fresh", "lift_fresh_copy")


class CrossRefFakeMode(TorchDispatchMode):
    """Scope in which each operator is run on fake tensors before it runs, and both results are compared.

    Parameters
    ----------
    ignore_op_fn : callable, optional
        Operators for which it returns True are not compared.
    check_strides : bool
        Of dimensions of several, in tensors that have elements; the others mean nothing.
    check_aliasing : bool
        Whether results must share memory with the same arguments.

    Raises
    ------
    MetadataMismatchError
        At the first difference: a Meta kernel, or a fake impl, is wrong.

    Examples
    --------
    >>> with CrossRefFakeMode():
    ...     y = minitorch.nn.Linear(3, 2)(minitorch.ones(4, 3))
    """

    def __init__(
        self,
        ignore_op_fn: Callable[[Any], bool] | None = None,
        *,
        check_strides: bool = True,
        check_aliasing: bool = True,
    ) -> None:
        super().__init__()
        self.ignore_op_fn = ignore_op_fn
        self.check_strides = check_strides
        self.check_aliasing = check_aliasing

    def __torch_dispatch__(self, func: Any, types: tuple[type, ...], args: tuple = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        expected = self._expected(func, args, kwargs)
        result = func(*args, **kwargs)
        if expected is not None:
            self._compare(func, (args, kwargs), result, *expected)
        return result

    def _expected(self, func: Any, args: tuple, kwargs: dict) -> tuple[Any, Any] | None:
        """Return the fake result and the fake arguments; None where there is nothing to compare."""
        if func.basename in _LIFTS or (self.ignore_op_fn is not None and self.ignore_op_fn(func)):
            return None
        try:
            with FakeTensorMode() as mode:
                # A storage of its own, which an operator may resize.
                fakes = tree_map_only(TensorBase, mode.from_tensor, (args, kwargs))
                return func(*fakes[0], **fakes[1]), fakes
        except (DataDependentOutputException, DynamicOutputShapeException, UnsupportedFakeTensorException):
            return None

    def _compare(self, func: Any, given: Any, result: Any, fake_result: Any, fake_given: Any) -> None:
        if Tag.nondeterministic_bitwise in (func.tags or ()):
            return
        real, fake = tree_leaves(result), tree_leaves(fake_result)
        if len(real) != len(fake):
            raise MetadataMismatchError(f"{func}: {len(fake)} results of fake tensors, and {len(real)} of real ones")
        inputs, fake_inputs = tree_leaves(given), tree_leaves(fake_given)
        for number, (one, other) in enumerate(zip(fake, real, strict=True)):
            if isinstance(one, TensorBase) != isinstance(other, TensorBase):
                raise MetadataMismatchError(
                    f"{func}: result {number} is a {type(one).__name__} of fake tensors, else a {type(other).__name__}"
                )
            if not isinstance(other, TensorBase):
                continue
            found, expected = self._look(one, fake_inputs), self._look(other, inputs)
            for name, value in expected.items():
                if found[name] != value:
                    raise MetadataMismatchError(
                        f"{func}: result {number} has {name} {found[name]} of fake tensors, and {value} of real ones. The shape "
                        "function or fake impl of the operator is wrong."
                    )

    def _look(self, tensor: Any, inputs: list) -> dict[str, Any]:
        """Return what is compared of a result."""
        shape = tuple(tensor.shape)
        look = {"shape": shape, "dtype": tensor.dtype, "device": tensor.device}
        if tensor._is_zerotensor():
            return look
        look["offset"] = tensor.storage_offset()
        if self.check_strides and 0 not in shape:
            look["strides"] = tuple([step if n > 1 else None for n, step in zip(shape, tensor.stride(), strict=True)])
        if self.check_aliasing:
            storage = tensor.untyped_storage()
            others = [value for value in inputs if isinstance(value, TensorBase) and not value._is_zerotensor()]
            look["arguments of the same storage"] = [i for i, t in enumerate(others) if t.untyped_storage() == storage]
            look["arguments that it is"] = [i for i, t in enumerate(others) if t is tensor]
        return look
