"""`FakeTensorMode`: the scope in which tensors come into being without elements.

Note [What a fake call does]
    In this order (spec M6): what is no fake tensor yet is converted, or refused; an operator with a fake impl has it
    called; an implicit composite is taken apart; all others run their Meta kernels on stand-ins (`stand_ins`), and the
    results claim the common device (`devices`).  A Meta kernel that finds its arguments right and cannot go on without
    elements has the call end in one of the named exceptions, or in symbols (`dynamic_shapes`).  What is computed of
    known elements alone is computed on these too (`constants`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch.core.layout import strided
from minitorch.core.pytree import tree_leaves, tree_map
from minitorch.dispatch.fake_impl import run_fake_impl
from minitorch.dispatch.keys import BACKEND_MASK, QUANTIZED
from minitorch.dispatch.mode_stack import InfraSlot, disable_all_modes, infra_mode, mode_stack, set_mode_stack
from minitorch.dispatch.namespace import overload_of
from minitorch.dispatch.tags import Tag
from minitorch.errors import MissingKernelError, NeedsElementsError
from minitorch.fake.constants import LARGEST, Constants, elements
from minitorch.fake.converter import FakeTensorConverter
from minitorch.fake.devices import Placement
from minitorch.fake.dynamic_shapes import UNKNOWN, new_size
from minitorch.fake.exceptions import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from minitorch.fake.fake_tensor import CONVERT_FIRST, FakeTensor, _tensors
from minitorch.fake.stand_ins import META_DEVICE, StandIns
from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.ops.composite.quantized import MAKERS
from minitorch.tensor.base import TensorBase
from minitorch.tensor.components import load_kernels

# What makes quantized tensors of others.
_QUANTIZING = frozenset(f"aten::{name}" for name in MAKERS)
_LIFTS = frozenset(("aten::lift_fresh", "aten::lift_fresh_copy", "aten::lift"))


def _is_of_quantized(func: Any) -> bool:
    """Return whether an operator of ordinary tensors makes quantized ones, or is given some in packed parameters."""
    return func.qualname in _QUANTIZING or (func.namespace == "quantized" and "CompositeExplicitAutograd" in func.kernels)


class FakeTensorMode(TorchDispatchMode):
    """Scope in which factories make fake tensors, and operators run on such without computing anything.

    Parameters
    ----------
    allow_fallback_kernels : bool
        Accepted; every operator of the library has a Meta kernel, so none is ever run on zeros to see what it does.
    allow_non_fake_inputs : bool
        Whether real tensors that meet fake ones are converted; without it they are refused.
    shape_env : ShapeEnv, optional
        Gives sizes that are not known symbols (`from_tensor`, and operators whose results depend on elements).
    static_shapes : bool, optional
        Whether `from_tensor` keeps the sizes of its tensors; True unless there is a `shape_env`.

    Examples
    --------
    >>> from minitorch._subclasses import FakeTensorMode
    >>> with FakeTensorMode() as mode:
    ...     layer = minitorch.nn.Linear(50_000, 50_000)  # 10 GB
    ...     y = layer(minitorch.empty(8, 50_000))
    >>> y
    FakeTensor(..., size=(8, 50000), grad_fn=<AddmmBackward0>)
    """

    _mode_key = InfraSlot.FAKE

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ) -> None:
        super().__init__()
        self.allow_fallback_kernels = allow_fallback_kernels
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env = shape_env
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self.export = export
        self.converter = FakeTensorConverter()
        self.constants = Constants()
        self._numbers = itertools.count()  # of tensors that are converted without a name

    @property
    def fake_tensor_converter(self) -> FakeTensorConverter:
        return self.converter

    @property
    def allows_scalar_outputs(self) -> bool:
        """Whether ``.item()`` returns a symbol."""
        return self.shape_env is not None and self.shape_env.allow_scalar_outputs

    @property
    def allows_dynamic_shapes(self) -> bool:
        """Whether operators whose shapes depend on elements return symbols as sizes."""
        return self.shape_env is not None and self.shape_env.allow_dynamic_output_shape_ops

    def from_tensor(
        self,
        tensor: Any,
        *,
        static_shapes: bool | None = None,
        source: Any = None,
        symbolic_context: Any = None,
        trace: bool = True,
    ) -> FakeTensor:
        """Return the fake counterpart of a real tensor, the same one each time.

        It has the geometry, the device, ``requires_grad`` and ``.grad`` of the real one, is a parameter if that is
        one, and shares storages with the counterparts of those that the real one shares its memory with.

        Parameters
        ----------
        tensor : Tensor
        static_shapes : bool, optional
            False gives its sizes symbols, which needs a shape environment; as the mode says when omitted.
        source : str, optional
            What guards call the tensor.
        symbolic_context : iterable of int, optional
            The dimensions that get symbols; all when omitted.

        Raises
        ------
        UnsupportedFakeTensorException
            If it belongs to a class with handlers of its own, or to a transform.
        """
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError(_mixing(tensor, self))
            return tensor
        static = self.static_shapes if static_shapes is None else static_shapes
        sizes = None
        if not static:
            if self.shape_env is None:
                raise AssertionError(
                    "from_tensor(static_shapes=False) needs a shape environment: FakeTensorMode(shape_env=ShapeEnv())"
                )
            sizes = self._symbolic_sizes(source, symbolic_context)
        with disable_all_modes():
            return self.converter.from_real_tensor(self, tensor, sizes=sizes)

    def _symbolic_sizes(self, source: Any, dynamic_dims: Any) -> Any:
        if source is None:
            source = f"t{next(self._numbers)}"

        def sizes(shape: tuple, strides: tuple, offset: int) -> tuple:
            return self.shape_env.create_symbolic_sizes_strides(shape, strides, offset, source, dynamic_dims)

        return sizes

    def is_our_fake(self, value: Any) -> bool:
        """Return whether a tensor is a fake one of this mode."""
        return isinstance(value, FakeTensor) and value.fake_mode is self

    # -- calls -----------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: tuple[type, ...], args: tuple = (), kwargs: Any = None) -> Any:
        if any(not issubclass(kind, FakeTensor) for kind in types):
            return NotImplemented  # their handlers may know how to take themselves off
        kwargs = kwargs or {}
        tensors = _tensors((*args, *kwargs.values()))
        if _is_of_quantized(func) or any(t.key_set & QUANTIZED for t in tensors):
            return self._run_on_components(func, args, kwargs)
        if func.qualname in _LIFTS and not isinstance(tensors[0], FakeTensor):
            return self._lift(func, tensors[0])
        if any(type(t) is not FakeTensor or t.handle.mode is not self for t in tensors):
            args = tuple([self._converted(value, func) for value in args])
            kwargs = {name: self._converted(value, func) for name, value in kwargs.items()}
            tensors = _tensors((*args, *kwargs.values()))
        _refuse_layouts(func, kwargs)
        if tensors and all(t.constant is not None for t in tensors) and _is_pure(func, kwargs):
            return self._run_known(func, args, kwargs, tensors)
        result = self._run(func, args, kwargs, tensors)
        if func.schema.is_mutable:
            for index, argument in enumerate(func.schema.arguments):
                if argument.is_write:
                    value = args[index] if index < len(args) else kwargs.get(argument.name)
                    for written in _tensors((value,)):
                        self.constants.forget(written)
        return result

    def _run_on_components(self, func: Any, args: tuple, kwargs: dict) -> Any:
        """Return the result of an operator that makes or takes quantized tensors: its kernel calls others, of fake integers."""
        args = tuple([self._converted(value, func) for value in args])
        kwargs = {name: self._converted(value, func) for name, value in kwargs.items()}
        quantized = next((t for t in _tensors((*args, *kwargs.values())) if t.key_set & QUANTIZED), None)
        with self:
            if quantized is None:
                load_kernels("Quantized")
                return func._op_dk("CompositeExplicitAutograd", *args, **kwargs)
            keys = quantized.key_set & (QUANTIZED | BACKEND_MASK)
            return func.redispatch_boxed(keys, args, kwargs or None)

    def _run_known(self, func: Any, args: tuple, kwargs: dict, tensors: list) -> Any:
        """Return the result of an operator of constants: of constants too, where they are small enough."""
        value = func.call(elements(args), {name: elements(v) for name, v in kwargs.items()} or None)
        try:
            result = self._run(func, args, kwargs, tensors, with_symbols=False)
        except (DataDependentOutputException, DynamicOutputShapeException):
            return tree_map(self._of_known, value)
        for fake, constant in zip(tree_leaves(result), tree_leaves(value), strict=True):
            if isinstance(fake, FakeTensor) and fake.constant is not constant and constant.numel() <= LARGEST:
                self.constants.set(fake, constant)
        return result

    def _of_known(self, value: Any) -> Any:
        """Return a fake tensor for a new real one whose elements are known."""
        if not isinstance(value, TensorBase):
            return value
        return self.converter.from_real_tensor(self, value, make_constant=value.numel() <= LARGEST, remember=False)

    def _run(self, func: Any, args: tuple, kwargs: dict, tensors: list, with_symbols: bool = True) -> Any:
        """Return the result of an operator of fake tensors (Note [What a fake call does])."""
        if func.fake_impls:
            with self:
                return run_fake_impl(func.fake_impls[-1], FakeImplContext(self, func), args, kwargs)
        if not func.kernels.get("Meta") and not func.kernels.get("CompositeExplicitAutograd"):
            if func._can_decompose():
                with self:
                    return func.decompose(*args, **kwargs)
        stand_ins = StandIns(self)
        placement = Placement(func, args, kwargs, tensors)
        keywords = stand_ins.keywords(kwargs)
        if keywords is None or "device" not in keywords:
            if any(argument.name == "device" for argument in func.schema.arguments) and not tensors:
                keywords = {**(keywords or {}), "device": META_DEVICE}
        try:
            result = func.call(tuple([stand_ins.enter(value) for value in args]), keywords)
        except NeedsElementsError as error:
            exception = _without_elements(func, error)
            if not with_symbols or not self._allows(exception):
                raise exception from error
            return self._run_unknown(func, args, kwargs, exception)
        except MissingKernelError as error:
            raise UnsupportedOperatorException(overload_of(error.qualname)) from error
        stand_ins.settle()
        return stand_ins.leave(result, placement.of)

    def _allows(self, exception: RuntimeError) -> bool:
        """Return whether the mode has symbols for what an operator cannot know."""
        kind = type(exception)
        return self.allows_dynamic_shapes if kind is DynamicOutputShapeException else self.allows_scalar_outputs

    def _run_unknown(self, func: Any, args: tuple, kwargs: dict, exception: RuntimeError) -> Any:
        """Return the result of an operator that depends on elements, with symbols for what is unknown."""
        fn = UNKNOWN.get(func.qualname)
        composite = func.active("CompositeExplicitAutograd")
        with self:
            if fn is not None:
                return fn(self, *args, **kwargs)
            if composite is not None:  # its parts say what is unknown
                return func._op_dk("CompositeExplicitAutograd", *args, **kwargs)
        raise exception

    def _lift(self, func: Any, real: Any) -> FakeTensor:
        """Return the fake counterpart of a tensor that was just made of Python data."""
        if func.basename == "lift_fresh_copy":
            real = real.clone()
        return self._of_known(real)

    def _converted(self, value: Any, func: Any) -> Any:
        """Return an argument with fake tensors of this mode for the tensors in it."""
        if type(value) is list or type(value) is tuple:
            return type(value)([self._converted(item, func) for item in value])
        if not isinstance(value, TensorBase):
            return value
        if value.key_set & QUANTIZED:
            handle: Any = value.handle
            components = tuple([self._converted(part, func) for part in handle.components()])
            same = all([a is b for a, b in zip(components, handle.components(), strict=True)])
            return value if same else handle.with_components(components).tensor()
        if isinstance(value, FakeTensor):
            if value.handle.mode is not self:
                raise AssertionError(_mixing(value, self))
            return value
        if not self.allow_non_fake_inputs:
            raise AssertionError(
                f"{CONVERT_FIRST} Found in {func}: a real tensor of shape {list(value.shape)} on {value.device}. Convert it with "
                "fake_mode.from_tensor(tensor)."
            )
        return self.converter.from_real_tensor(self, value)


class FakeImplContext:
    """What `get_ctx` returns in fake impls that run for fake tensors (spec L12)."""

    def __init__(self, mode: FakeTensorMode, func: Any):
        self._mode = mode
        self._func = func

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """Return a size that is known only when the operator runs on real data.

        Raises
        ------
        DynamicOutputShapeException
            If the mode has no shape environment, or that one does not allow it.
        ValueError
            If `min` is negative.
        """
        if not self._mode.allows_dynamic_shapes:
            raise DynamicOutputShapeException(self._func)
        if min < 0:
            raise ValueError(f"new_dynamic_size(min={min}, max={max}): a size is not negative")
        return new_size(self._mode, min, max)

    create_unbacked_symint = new_dynamic_size


def _without_elements(func: Any, error: NeedsElementsError) -> RuntimeError:
    """Return what says that an operator, or a part of a composite, needs elements."""
    if error.name == "index":  # a mask stands for the places of its ones
        return DynamicOutputShapeException(overload_of("aten::nonzero"))
    own = _needs(func)
    if own is None:
        func = overload_of("aten::" + error.name)
        own = _needs(func)
    return own(func) if own is not None else DynamicOutputShapeException(func)


def _needs(func: Any) -> type[RuntimeError] | None:
    """Return what an operator raises that is tagged as needing elements."""
    tags = func.tags or ()
    if Tag.data_dependent_output in tags:
        return DataDependentOutputException
    return DynamicOutputShapeException if Tag.dynamic_output_shape in tags else None


def _is_pure(func: Any, kwargs: dict) -> bool:
    """Return whether an operator computes the same of the same elements, on the CPU."""
    device = kwargs.get("device")
    return Tag.nondeterministic_seeded not in (func.tags or ()) and (device is None or device.type == "cpu")


def _refuse_layouts(func: Any, kwargs: dict) -> None:
    layout = kwargs.get("layout")
    if layout is not None and layout is not strided:
        raise UnsupportedFakeTensorException(f"{func}: there are no fake tensors of layout {layout}")


def _mixing(tensor: FakeTensor, mode: FakeTensorMode) -> str:
    return (
        f"Mixing fake modes NYI: a tensor of shape {list(tensor.shape)} belongs to {tensor.fake_mode!r}, and meets "
        f"{mode!r}. Make both with one mode."
    )


@contextmanager
def unset_fake_temporarily() -> Iterator[FakeTensorMode | None]:
    """Scope: no fake mode is active.  Gives the one that was, None if there was none."""
    modes = mode_stack()
    fake = infra_mode(InfraSlot.FAKE)
    set_mode_stack(tuple([mode for mode in modes if mode is not fake]))
    try:
        yield fake
    finally:
        set_mode_stack(modes)


def active_fake_mode() -> FakeTensorMode | None:
    """Return the fake mode that is active in this thread, None if there is none."""
    return infra_mode(InfraSlot.FAKE)
