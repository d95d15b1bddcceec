"""`Module`: the base of everything that has parameters, with hooks, state and moves."""

from __future__ import annotations

import functools
import itertools
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from minitorch.autograd.hooks import RemovableHandle, add_hook
from minitorch.backends.device_modules import take_class
from minitorch.core.device import device as device_class
from minitorch.core.dtype import dtype as dtype_class
from minitorch.nn.parameter import Buffer, Parameter, UninitializedParameter
from minitorch.tensor.base import TensorBase
from minitorch.tensor.subclass import is_traceable_wrapper_subclass
from minitorch.tensor.swap import swap_tensors
from minitorch.tensor.tensor import Tensor

__all__ = [
    "Module",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


_EXTRA_STATE = "_extra_state"


# ---------------------------------------------------------------- hooks of all modules


class _GlobalHooks:
    """The hooks that run for every module."""

    def __init__(self) -> None:
        self.forward_pre: dict[int, Callable] = {}
        self.forward: dict[int, Callable] = {}
        self.forward_with_kwargs: set[int] = set()
        self.forward_always: set[int] = set()
        self.backward_pre: dict[int, Callable] = {}
        self.backward: dict[int, Callable] = {}
        self.buffer_registration: dict[int, Callable] = {}
        self.module_registration: dict[int, Callable] = {}
        self.parameter_registration: dict[int, Callable] = {}

    def run_at_calls(self) -> bool:
        return bool(self.forward_pre or self.forward or self.backward_pre or self.backward)


_global = _GlobalHooks()
_any_global_call_hook = False


def _note_global_hook() -> None:
    global _any_global_call_hook
    _any_global_call_hook = True


def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """Run ``hook(module, args)`` before the forward of every module; return its handle."""
    _note_global_hook()
    return add_hook(_global.forward_pre, hook)


def register_module_forward_hook(
    hook: Callable, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Run ``hook(module, args, output)`` after the forward of every module; return its handle."""
    _note_global_hook()
    handle = add_hook(_global.forward, hook)
    if with_kwargs:
        _global.forward_with_kwargs.add(handle.id)
    if always_call:
        _global.forward_always.add(handle.id)
    return handle


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """Run ``hook(module, grad_output)`` before the backward of every module."""
    _note_global_hook()
    return add_hook(_global.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """Run ``hook(module, grad_input, grad_output)`` after the backward of every module."""
    _note_global_hook()
    return add_hook(_global.backward, hook)


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """Run ``hook(module, name, buffer)`` at each registration of a buffer."""
    return add_hook(_global.buffer_registration, hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """Run ``hook(module, name, submodule)`` at each registration of a module."""
    return add_hook(_global.module_registration, hook)


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """Run ``hook(module, name, parameter)`` at each registration of a parameter."""
    return add_hook(_global.parameter_registration, hook)


def _registered(hooks: dict[int, Callable], module: Module, name: str, value: Any) -> Any:
    """Return what is registered, after the hooks of registration."""
    for hook in hooks.values():
        changed = hook(module, name, value)
        if changed is not None:
            value = changed
    return value


def _forward_unimplemented(self: Module, *args: Any) -> None:
    """Compute the module's result; every subclass defines this.

    Raises
    ------
    NotImplementedError
        Always: the subclass did not define it.
    """
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
    )


def _addindent(text: str, spaces: int) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line for line in rest)])


class Module:
    """The base class of neural network modules.

    A subclass calls ``super().__init__()`` first, assigns parameters, buffers and other
    modules as attributes, and defines `forward`.

    Attributes
    ----------
    training : bool
        Whether the module is in training mode (see `train` and `eval`).

    Examples
    --------
    >>> class Scale(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = Parameter(minitorch.ones(3))
    ...
    ...     def forward(self, x):
    ...         return x * self.weight
    >>> [name for name, _ in Scale().named_parameters()]
    ['weight']
    """

    dump_patches: bool = False
    _version: int = 1
    training: bool
    call_super_init: bool = False
    _hooked = False  # whether this module ever got a hook that runs at calls

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                    f"'{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but "
                    f"{len(args) + 1} were given"
                )
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _backward_pre_hooks=OrderedDict(),
            _backward_hooks=OrderedDict(),
            _is_full_backward_hook=None,
            _forward_hooks=OrderedDict(),
            _forward_hooks_with_kwargs=OrderedDict(),
            _forward_hooks_always_called=OrderedDict(),
            _forward_pre_hooks=OrderedDict(),
            _forward_pre_hooks_with_kwargs=OrderedDict(),
            _state_dict_hooks=OrderedDict(),
            _state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_post_hooks=OrderedDict(),
            _modules={},
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Callable[..., Any] = _forward_unimplemented

    # -- calls -------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooked or _any_global_call_hook:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self._call_with_hooks(args, kwargs)

    _wrapped_call_impl = _call_impl

    def _call_with_hooks(self, args: tuple, kwargs: dict) -> Any:
        """Run pre-hooks, `forward` and hooks; see `register_forward_hook`."""
        called: set[int] = set()
        result = None
        try:
            return self._run_hooked(args, kwargs, called)
        except Exception:
            # Hooks with always_call run although something failed; their errors only warn.
            always = [
                (_global.forward, key, key in _global.forward_with_kwargs)
                for key in _global.forward_always
            ] + [
                (self._forward_hooks, key, key in self._forward_hooks_with_kwargs)
                for key in self._forward_hooks_always_called
            ]
            for hooks, key, with_kwargs in always:
                if key in called or key not in hooks:
                    continue
                try:
                    if with_kwargs:
                        changed = hooks[key](self, args, kwargs, result)
                    else:
                        changed = hooks[key](self, args, result)
                    if changed is not None:
                        result = changed
                except Exception as error:
                    import warnings

                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception that "
                        f"was silenced as another error was raised in forward: {error}",
                        stacklevel=2,
                    )
            raise

    def _run_hooked(self, args: tuple, kwargs: dict, called: set[int]) -> Any:
        from minitorch.nn.modules.backward_hooks import BackwardHook

        for key, hook in (*_global.forward_pre.items(), *self._forward_pre_hooks.items()):
            if key in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not isinstance(changed, tuple) or len(changed) != 2:
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple of (new_args, "
                            f"new_kwargs), but got {changed}."
                        )
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        backward = None
        full = [*_global.backward.values()]
        plain: list[Callable] = []
        (full if self._is_full_backward_hook is True else plain).extend(
            self._backward_hooks.values()
        )
        pre = [*_global.backward_pre.values(), *self._backward_pre_hooks.values()]
        if full or pre:
            backward = BackwardHook(self, full, pre)
            args = backward.setup_inputs(args)
        result = self.forward(*args, **kwargs)
        for hooks, with_kwargs in (
            (_global.forward, _global.forward_with_kwargs),
            (self._forward_hooks, self._forward_hooks_with_kwargs),
        ):
            for key, hook in tuple(hooks.items()):
                called.add(key)
                if key in with_kwargs:
                    changed = hook(self, args, kwargs, result)
                else:
                    changed = hook(self, args, result)
                if changed is not None:
                    result = changed
        if backward is not None:
            if not isinstance(result, TensorBase | tuple):
                import warnings

                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a "
                    f"tuple of Tensors but received {type(result)}",
                    stacklevel=3,
                )
            result = backward.setup_outputs(result)
        if plain:
            self._hook_last_node(result, plain)
        return result

    def _hook_last_node(self, result: Any, hooks: list[Callable]) -> None:
        """Register the hooks of `register_backward_hook` on the node of the result."""
        value = result
        while not isinstance(value, TensorBase):
            if isinstance(value, dict):
                value = next(v for v in value.values() if isinstance(v, TensorBase))
            else:
                value = value[0]
        node = value.grad_fn
        if node is not None:
            for hook in hooks:
                node.register_hook(functools.partial(hook, self))

    # -- hooks -------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Run ``hook(module, args)`` before `forward`; what it returns replaces the arguments.

        Parameters
        ----------
        hook : callable
        prepend : bool
            Run before the pre-hooks registered so far.
        with_kwargs : bool
            Call ``hook(module, args, kwargs)``, which returns both or None.

        Returns
        -------
        RemovableHandle
        """
        self._hooked = True
        handle = add_hook(self._forward_pre_hooks, hook)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        if prepend:
            self._forward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_hook(
        self,
        hook: Callable,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Run ``hook(module, args, output)`` after `forward`; what it returns replaces the output.

        Parameters
        ----------
        hook : callable
        prepend : bool
            Run before the hooks registered so far.
        with_kwargs : bool
            Call ``hook(module, args, kwargs, output)``.
        always_call : bool
            Run it although `forward` raised.

        Returns
        -------
        RemovableHandle
        """
        self._hooked = True
        handle = add_hook(self._forward_hooks, hook)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        if prepend:
            self._forward_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_full_backward_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Run ``hook(module, grad_output)`` before the backward pass goes through the module.

        What the hook returns replaces the gradient of the output.
        """
        self._hooked = True
        handle = add_hook(self._backward_pre_hooks, hook)
        if prepend:
            self._backward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_full_backward_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Run ``hook(module, grad_input, grad_output)`` once the gradient of the input is known.

        What the hook returns replaces the gradient of the input.
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self._hooked = True
        self._is_full_backward_hook = True
        handle = add_hook(self._backward_hooks, hook)
        if prepend:
            self._backward_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        """Run a hook at the last node of the module; use `register_full_backward_hook` instead."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self._hooked = True
        self._is_full_backward_hook = False
        return add_hook(self._backward_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Run ``hook(module, state_dict, prefix, local_metadata)`` after `state_dict`."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Run ``hook(module, prefix, keep_vars)`` before `state_dict`."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Run a hook before this module's part of a state is loaded.

        It is called as ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)``.
        """
        return add_hook(self._load_state_dict_pre_hooks, functools.partial(hook, self))

    def _register_load_state_dict_pre_hook(
        self, hook: Callable, with_module: bool = False
    ) -> RemovableHandle:
        if with_module:
            hook = functools.partial(hook, self)
        return add_hook(self._load_state_dict_pre_hooks, hook)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Run ``hook(module, incompatible_keys)`` after the module's state is loaded."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    # -- registration -------------------------------------------------------------

    def _check_name(self, name: Any, what: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a buffer: a tensor of the module that is no parameter.

        Parameters
        ----------
        name : str
            The attribute under which it is found.
        tensor : Tensor or None
            None reserves the name; operations that run on buffers then skip it.
        persistent : bool
            Whether it is part of `state_dict`.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name(name, "buffer")
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, TensorBase):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (torch Tensor "
                "or None required)"
            )
        self._buffers[name] = _registered(_global.buffer_registration, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter (None reserves the name) under the attribute `name`."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name(name, "parameter")
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must "
                    "be created explicitly. To express a parameter as a function of another "
                    "Tensor, compute the value in the forward() method."
                )
        self._parameters[name] = _registered(_global.parameter_registration, self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module (None reserves the name) under the attribute `name`."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {type(name).__name__}")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError('module name can\'t be empty string ""')
        self._modules[name] = _registered(_global.module_registration, self, name, module)

    register_module = add_module

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        found = own.get("_parameters")
        if found is not None and name in found:
            return found[name]
        found = own.get("_modules")
        if found is not None and name in found:
            return found[name]
        found = own.get("_buffers")
        if found is not None and name in found:
            return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if not isinstance(value, TensorBase | Module):
            # The common case: an ordinary attribute, unless the name is a registered one.
            parameters = own.get("_parameters")
            if parameters is None or not (
                name in parameters or name in own["_modules"] or name in own["_buffers"]
            ):
                object.__setattr__(self, name, value)
                return
        self._set_registered(name, value)

    def _set_registered(self, name: str, value: Any) -> None:
        """Set an attribute where the value or the name is a parameter, module or buffer."""
        own = self.__dict__
        parameters = own.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, own, own["_buffers"], own["_modules"])
            self._non_persistent_buffers_set.discard(name)
            self.register_parameter(name, value)
            return
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
            return
        modules = own.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, own, parameters, own["_buffers"])
            self._non_persistent_buffers_set.discard(name)
            modules[name] = _registered(_global.module_registration, self, name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            modules[name] = _registered(_global.module_registration, self, name, value)
            return
        buffers = own.get("_buffers")
        is_buffer = isinstance(value, Buffer)
        if buffers is not None and (is_buffer or name in buffers):
            if value is not None and not isinstance(value, TensorBase):
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)"
                )
            if name not in buffers:
                self._forget(name, own, parameters, modules)
                self.register_buffer(name, value, value.persistent)
            else:
                buffers[name] = _registered(_global.buffer_registration, self, name, value)
            return
        object.__setattr__(self, name, value)

    @staticmethod
    def _forget(name: str, *tables: Any) -> None:
        for table in tables:
            if table is not None and name in table:
                del table[name]

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    # -- finding submodules, parameters and buffers by path ------------------------

    def get_submodule(self, target: str) -> Module:
        """Return the submodule at a dotted path; the module itself for ``""``."""
        module = self
        if target == "":
            return module
        for item in target.split("."):
            if not hasattr(module, item):
                raise AttributeError(f"{module._get_name()} has no attribute `{item}`")
            module = getattr(module, item)
            if not isinstance(module, Module):
                raise AttributeError(f"`{item}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` at a dotted path."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        *path, name = target.split(".")
        parent = self.get_submodule(".".join(path))
        if not isinstance(module, Module):
            raise ValueError(f"Attribute `module` type must be nn.Module, got {type(module)}")
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        found = getattr(module, name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return getattr(module, name)

    def get_extra_state(self) -> Any:
        """Return what a subclass wants in `state_dict` beside tensors; it overrides this."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` returned; a subclass overrides this."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called."
        )

    # -- iteration ------------------------------------------------------------------

    def _named_members(
        self, members: Callable, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, value in members(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield f"{path}.{name}" if path else name, value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters of the module and, with `recurse`, of its submodules."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield (dotted name, parameter); a parameter with several names once."""
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers of the module and, with `recurse`, of its submodules."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield (dotted name, buffer)."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def children(self) -> Iterator[Module]:
        """Yield the modules directly inside."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield (name, module) of the modules directly inside, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self) -> Iterator[Module]:
        """Yield the module and all inside it, each once."""
        for _, module in self.named_modules():
            yield module

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield (dotted name, module) of the module itself and all inside it."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    # -- modes and gradients ----------------------------------------------------------

    def train(self, mode: bool = True) -> Module:
        """Put the module and all inside it in training mode (or evaluation mode); return it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Module:
        """Put the module and all inside it in evaluation mode; return it."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Ask for gradients of all parameters (or no longer); return the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the parameters' gradients, or fill them with zeros."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                if parameter.grad.grad_fn is not None:
                    parameter.grad.detach_()
                else:
                    parameter.grad.requires_grad_(False)
                parameter.grad.zero_()

    def apply(self, fn: Callable[[Module], None]) -> Module:
        """Call `fn` with each module inside, then with the module itself; return it."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # -- moves and casts ----------------------------------------------------------------

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Module:
        """Replace each parameter, gradient and buffer by `fn` of it."""
        from minitorch.autograd.grad_mode import no_grad

        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            with no_grad():
                moved = fn(parameter)
            grad = parameter.grad
            if is_traceable_wrapper_subclass(moved):
                # What is inside are attributes: the whole tensor is exchanged, and stays the same object.
                parameter.grad = None
                moved = Parameter(moved, parameter.requires_grad)
                swap_tensors(parameter, moved)
                if grad is not None:
                    with no_grad():
                        parameter.grad = fn(grad).requires_grad_(grad.requires_grad)
                continue
            if _same_kind(parameter, moved):
                parameter.data = moved
                current = parameter
            else:
                current = Parameter(moved, parameter.requires_grad)
                self._parameters[name] = current
            if grad is not None:
                with no_grad():
                    moved_grad = fn(grad)
                if _same_kind(grad, moved_grad) and current is parameter:
                    parameter.grad = None
                    grad.data = moved_grad
                    parameter.grad = grad
                else:
                    current.grad = moved_grad.requires_grad_(grad.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Module:
        """Move or cast the parameters and buffers in place, and return the module.

        Called as ``to(device, dtype, non_blocking)``, ``to(dtype)``, ``to(tensor)`` or
        ``to(memory_format=...)``. Only floating point and complex tensors are cast.
        """
        device, dtype, memory_format = _parse_to(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}"
            )

        def move(tensor: Tensor) -> Tensor:
            kept = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            options: dict[str, Any] = {}
            if device is not None:
                options["device"] = device
            if kept is not None:
                options["dtype"] = kept
            if memory_format is not None and tensor.dim() in (4, 5):
                options["memory_format"] = memory_format
            return tensor.to(**options) if options else tensor

        return self._apply(move)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Module:
        """Move to `device` without copying: the memory there is uninitialised."""
        from minitorch import empty_like

        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def _cast_floating(self, dtype_name: str) -> Module:
        return self._apply(
            lambda t: getattr(t, dtype_name)() if t.is_floating_point() else t
        )

    def cpu(self) -> Module:
        """Move to the CPU; return the module."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Module:
        """Move to a CUDA device; return the module."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device: Any = None) -> Module:
        """Move to an XPU (OpenCL) device; return the module."""
        return self._apply(lambda t: t.to("xpu" if device is None else device))

    def type(self, dst_type: Any) -> Module:
        """Cast all parameters and buffers to `dst_type`; return the module."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Module:
        """Cast floating point parameters and buffers to float32; return the module."""
        return self._cast_floating("float")

    def double(self) -> Module:
        """Cast floating point parameters and buffers to float64; return the module."""
        return self._cast_floating("double")

    def half(self) -> Module:
        """Cast floating point parameters and buffers to float16; return the module."""
        return self._cast_floating("half")

    def bfloat16(self) -> Module:
        """Cast floating point parameters and buffers to bfloat16; return the module."""
        return self._cast_floating("bfloat16")

    def share_memory(self) -> Module:
        """Move the tensors to shared memory; return the module."""
        return self._apply(lambda t: t.share_memory_())

    # -- state ---------------------------------------------------------------------------

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        """Put this module's own parameters and buffers into `destination`."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + _EXTRA_STATE] = self.get_extra_state()

    def state_dict(
        self,
        *args: Any,
        destination: Any = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> Any:
        """Return the parameters and persistent buffers, by dotted name, in an ordered dictionary.

        Parameters
        ----------
        destination : dict, optional
            Filled and returned instead of a new one.
        prefix : str
            Prepended to the names.
        keep_vars : bool
            Keep the tensors themselves, not detached ones.
        """
        if args:
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, metadata)
            if getattr(hook, "_from_public_api", False):
                if changed is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif changed is not None:
                destination = changed
        return destination

    def _load_from_state_dict(
        self,
        state_dict: dict,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Copy this module's own entries of `state_dict`, and note what does not fit."""
        from minitorch.autograd.grad_mode import no_grad

        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                error_msgs,
            )  # fmt: skip
        persistent = {
            name: value
            for name, value in self._buffers.items()
            if name not in self._non_persistent_buffers_set
        }
        local = {
            name: value
            for name, value in itertools.chain(self._parameters.items(), persistent.items())
            if value is not None
        }
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, own in local.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            given = state_dict[key]
            if not isinstance(given, TensorBase):
                error_msgs.append(
                    f'While copying the parameter named "{key}", expected torch.Tensor or '
                    f"Tensor-like object from checkpoint but received {type(given)}"
                )
                continue
            if own.dim() == 0 and given.dim() == 1 and given.shape[0] == 1:
                given = given[0]
            if given.shape != own.shape:
                error_msgs.append(
                    f"size mismatch for {key}: copying a param with shape "
                    f"{_size_text(given)} from checkpoint, the shape in current model is "
                    f"{_size_text(own)}."
                )
                continue
            try:
                with no_grad():
                    if assign:
                        if isinstance(own, Parameter) and not isinstance(given, Parameter):
                            given = Parameter(given, own.requires_grad)
                        elif isinstance(own, Parameter):
                            given.requires_grad_(own.requires_grad)
                        setattr(self, name, given)
                    else:
                        own.copy_(given)
            except Exception as error:
                error_msgs.append(
                    f'While copying the parameter named "{key}", whose dimensions in the model '
                    f"are {_size_text(own)} and whose dimensions in the checkpoint are "
                    f"{_size_text(given)}, an exception occurred : {error.args}."
                )
        key = prefix + _EXTRA_STATE
        if type(self).set_extra_state is not Module.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != prefix + _EXTRA_STATE:
                    name, *rest = key[len(prefix) :].split(".", 1)
                    if rest:
                        if name not in self._modules:
                            unexpected_keys.append(key)
                    elif name not in local:
                        unexpected_keys.append(key)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the tensors of `state_dict` into the parameters and buffers of the same names.

        Parameters
        ----------
        state_dict : mapping of str to Tensor
        strict : bool
            Raise where names are missing or unexpected.
        assign : bool
            Put the given tensors in place of the module's instead of copying.

        Returns
        -------
        named tuple
            ``missing_keys`` and ``unexpected_keys``.

        Raises
        ------
        RuntimeError
            If sizes differ, or with `strict` names do.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"Expected state_dict to be dict-like, got {type(state_dict)}."
            )
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        entries = OrderedDict(state_dict)

        def load(module: Module, local: dict, prefix: str = "") -> None:
            own_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                own_metadata["assign_to_params_buffers"] = assign
            module._load_from_state_dict(
                local, prefix, own_metadata, True, missing, unexpected, errors
            )
            for name, child in module._modules.items():
                if child is not None:
                    child_prefix = f"{prefix}{name}."
                    part = {k: v for k, v in local.items() if k.startswith(child_prefix)}
                    load(child, part, child_prefix)
            result = _IncompatibleKeys(missing, unexpected)
            for hook in module._load_state_dict_post_hooks.values():
                if hook(module, result) is not None:
                    raise AssertionError(
                        "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                        "expected to return new values, if incompatible_keys need to be "
                        "modified, it should be done inplace."
                    )

        load(self, entries)
        if strict:
            if unexpected:
                names = ", ".join(f'"{k}"' for k in unexpected)
                errors.insert(0, f"Unexpected key(s) in state_dict: {names}. ")
            if missing:
                names = ", ".join(f'"{k}"' for k in missing)
                errors.insert(0, f"Missing key(s) in state_dict: {names}. ")
        if errors:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(
                    type(self).__name__, "\n\t".join(errors)
                )
            )
        return _IncompatibleKeys(missing, unexpected)

    def __getstate__(self) -> dict:
        return self.__dict__.copy()

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        for name in (
            "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs",
            "_forward_hooks_always_called", "_state_dict_hooks", "_state_dict_pre_hooks",
            "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_backward_pre_hooks",
        ):  # fmt: skip
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # -- printing --------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return the text between the brackets of the module's own line; for subclasses."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [
            f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()
        ]
        text = self._get_name() + "("
        lines = extra_lines + child_lines
        if lines:
            if len(extra_lines) == 1 and not child_lines:
                text += extra_lines[0]
            else:
                text += "\n  " + "\n  ".join(lines) + "\n"
        return text + ")"

    def __dir__(self) -> list[str]:
        names = {
            *dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers,
        }  # fmt: skip
        return sorted(name for name in names if not name[:1].isdigit())

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile `forward` in place, as ``minitorch.compile`` does."""
        import minitorch

        self.forward = minitorch.compile(self.forward, *args, **kwargs)  # type: ignore[method-assign]


def _same_kind(a: Tensor, b: Tensor) -> bool:
    """Return whether `b` may become the data of `a`."""
    return type(a) in (Parameter, UninitializedParameter) or type(a) is type(b)


def _size_text(tensor: Tensor) -> str:
    return f"torch.Size({list(tensor.shape)})"


def _parse_to(args: tuple, kwargs: dict) -> tuple[Any, Any, Any]:
    """Return device, dtype and memory format of the arguments of `Module.to`."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    memory_format = kwargs.get("memory_format")
    for value in args:
        if isinstance(value, TensorBase):
            device, dtype = value.device, value.dtype
        elif isinstance(value, dtype_class):
            dtype = value
        elif isinstance(value, bool) or value is None:
            continue  # non_blocking, or the device left as it is
        else:
            device = value
    if "tensor" in kwargs:
        device, dtype = kwargs["tensor"].device, kwargs["tensor"].dtype
    if device is not None and not isinstance(device, device_class):
        device = device_class(device)
    return device, dtype, memory_format


take_class(Module)
