"""Parameters that are computed from others.

A parametrized module gets a class of its own, in which the parameter is a property that applies
the parametrizations to what is stored.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.nn.modules.container import ModuleDict, ModuleList
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.tensor.base import TensorBase

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization",
    "remove_parametrizations", "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

_cache_depth = 0
_cache: dict[tuple[int, str], Any] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized parameter at most once within this scope."""
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one parameter, with what they are applied to.

    Parameters
    ----------
    modules : sequence of Module
    original : Tensor
    unsafe : bool
        Do not check shapes and dtypes.
    """

    def __init__(self, modules: Any, original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        new = original
        with no_grad():
            for module in reversed(self):
                inverse = getattr(module, "right_inverse", None)
                if inverse is not None:
                    new = inverse(new)
        self.is_tensor = isinstance(new, TensorBase)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if isinstance(original, Parameter):
                with no_grad():
                    if new is not original:
                        original.data = new
                self.register_parameter("original", original)
            else:
                self.register_buffer("original", new)
        else:
            for i, value in enumerate(new):
                if isinstance(original, Parameter):
                    value = Parameter(value, original.requires_grad)
                    self.register_parameter(f"original{i}", value)
                else:
                    self.register_buffer(f"original{i}", value)

    def right_inverse(self, value: Any) -> None:
        """Set what is stored so that the parameter becomes `value`."""
        with no_grad():
            for module in reversed(self):
                inverse = getattr(module, "right_inverse", None)
                if inverse is None:
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement "
                        "right_inverse."
                    )
                value = inverse(value)
            if self.is_tensor:
                self.original.copy_(value)
            else:
                for i, part in enumerate(value):
                    getattr(self, f"original{i}").copy_(part)

    def forward(self) -> Any:
        """Return the parameter."""
        modules = list(self)
        if self.is_tensor:
            value = modules[0](self.original)
        else:
            value = modules[0](*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in modules[1:]:
            value = module(value)
        return value


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a module has a parametrized parameter (of that name)."""
    parametrizations = module._modules.get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    if tensor_name is None:
        return len(parametrizations) > 0
    return tensor_name in parametrizations


def _make_property(name: str) -> property:
    def get(self: Any) -> Any:
        if not _cache_depth:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def put(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, put)


def _own_class(module: Module) -> type:
    """Give a module a subclass of its class, in which properties can be put."""
    cls = type(module)
    if getattr(cls, "_is_parametrized_class", False):
        return cls

    def default_deepcopy(self: Any, memo: dict) -> Any:
        import copy

        found = memo.get(id(self))
        if found is not None:
            return found
        replica = self.__new__(type(self))
        memo[id(self)] = replica
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return replica

    def refuse_pickle(self: Any, protocol: Any = None) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict()."
        )

    own = type(
        f"Parametrized{cls.__name__}",
        (cls,),
        {
            "__reduce_ex__": refuse_pickle,
            "__deepcopy__": default_deepcopy,
            "_is_parametrized_class": True,
        },
    )
    module.__class__ = own
    copyreg.pickle(own, refuse_pickle)  # type: ignore[arg-type]
    return own


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer from now on by `parametrization` of what is stored.

    Parameters
    ----------
    module : Module
    tensor_name : str
    parametrization : Module
        Its `forward` takes what is stored; an optional ``right_inverse`` says what to store for
        a given value.
    unsafe : bool
        Let the result have another shape or dtype.

    Returns
    -------
    Module
        The module itself.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        parts = module.parametrizations[tensor_name]
        if not unsafe:
            value = getattr(module, tensor_name)
            new = parametrization(value)
            _check_same(value, new, tensor_name)
        parts.append(parametrization)
        return module
    if tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parts = ParametrizationList([parametrization], original, unsafe=unsafe)
        if not unsafe:
            with no_grad():
                _check_same(original, parts(), tensor_name)
        delattr(module, tensor_name)
        own = _own_class(module)
        if not is_parametrized(module):
            module.parametrizations = ModuleDict()
        setattr(own, tensor_name, _make_property(tensor_name))
        module.parametrizations[tensor_name] = parts
        return module
    raise ValueError(
        f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with "
        f"name '{tensor_name}'"
    )


def _check_same(value: Any, new: Any, name: str) -> None:
    if new.dtype != value.dtype or new.shape != value.shape:
        raise ValueError(
            f"Registering a parametrization may not change the dtype or shape of the tensor "
            f"'{name}', unless the `unsafe` flag is enabled: {value.dtype} {list(value.shape)} "
            f"became {new.dtype} {list(new.shape)}."
        )


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a parametrized parameter an ordinary one again.

    Parameters
    ----------
    leave_parametrized : bool
        Keep the computed value, not the stored one.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parts = module.parametrizations[tensor_name]
    if parts.is_tensor:
        original = parts.original
        if leave_parametrized:
            with no_grad():
                value = getattr(module, tensor_name)
                original.data = value.detach().clone() if value is original else value.detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name).detach()
        original = Parameter(value) if parts.original0.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before it was parametrized, or has."""
    return type(module).__mro__[1] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Parametrize another module as one is, and give it what is stored there.

    Parameters
    ----------
    from_module : Module
        A parametrized one.
    to_module : Module
        Its parameters of the same names are overwritten; others are made where they are missing.
    tensor_name : str, optional
        The parametrized tensor to be transferred; all where it is missing.

    Returns
    -------
    Module
        `to_module`.
    """
    if not is_parametrized(from_module):
        return to_module
    names = [tensor_name] if tensor_name is not None else list(from_module.parametrizations)
    for name in names:
        if not is_parametrized(from_module, name):
            raise ValueError(f"Module {from_module} does not have a parametrization on {name}")
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            to_module.register_parameter(name, Parameter(getattr(from_module, name).detach().clone()))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization, unsafe=source.unsafe)
        target = to_module.parametrizations[name]
        for part in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
            setattr(target, part, getattr(source, part))
    return to_module
