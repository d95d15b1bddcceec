"""PyTorch's path of what authors of subclasses and modes import from its core: names for what is elsewhere here."""

from __future__ import annotations

from typing import Any

from minitorch.autograd.grad_mode import _set_grad_enabled
from minitorch.core.generator import Generator
from minitorch.dispatch import local_state, scopes
from minitorch.dispatch.introspect import (
    tls_is_excluded as _dispatch_tls_is_dispatch_key_excluded,
)
from minitorch.dispatch.introspect import (
    tls_is_included as _dispatch_tls_is_dispatch_key_included,
)
from minitorch.dispatch.key_set import DispatchKeySet
from minitorch.dispatch.keys import DispatchKey, parse_key
from minitorch.dispatch.local_state import ExcludeKeysGuard as _ExcludeDispatchKeyGuard
from minitorch.dispatch.local_state import ForceKeysGuard as _ForceDispatchKeyGuard
from minitorch.dispatch.local_state import IncludeKeysGuard as _IncludeDispatchKeyGuard
from minitorch.dispatch.local_state import PreserveKeysGuard as _PreserveDispatchKeyGuard
from minitorch.dispatch.mode_stack import mode_stack
from minitorch.ops.overriding import disabled_torch_function_impl as _disabled_torch_function_impl
from minitorch.tensor.subclass import disabled_torch_dispatch_impl as _disabled_torch_dispatch_impl

_AutoDispatchBelowAutograd = local_state.below_autograd
_AutoDispatchBelowADInplaceOrView = local_state.below_ad_inplace_or_view
_DisableTorchDispatch = scopes.disable_torch_dispatch
_DisableFuncTorch = scopes.disable_functorch
_EnablePythonDispatcher = scopes.enable_python_dispatcher
_DisablePythonDispatcher = scopes.disable_python_dispatcher
_EnablePreDispatch = scopes.enable_pre_dispatch


def _dispatch_keys(tensor: Any) -> DispatchKeySet:
    """Return the key set of a tensor."""
    return DispatchKeySet.from_bits(tensor.key_set)


def _dispatch_tls_local_include_set() -> DispatchKeySet:
    """Return the keys that take part in every call of this thread."""
    return DispatchKeySet.from_bits(local_state.current().included)


def _dispatch_tls_local_exclude_set() -> DispatchKeySet:
    """Return the keys that take part in no call of this thread."""
    return DispatchKeySet.from_bits(local_state.current().excluded)


def _dispatch_tls_set_dispatch_key_included(key: DispatchKey | str, included: bool) -> None:
    """Let a key take part in every call of this thread, or only in those on tensors that carry it."""
    bits = (parse_key(key) if isinstance(key, str) else key).bits
    state = local_state.current()
    state.included = state.included | bits if included else state.included & ~bits


def _dispatch_tls_set_dispatch_key_excluded(key: DispatchKey | str, excluded: bool) -> None:
    """Exclude a key from all calls of this thread, or no longer."""
    bits = (parse_key(key) if isinstance(key, str) else key).bits
    state = local_state.current()
    state.excluded = state.excluded | bits if excluded else state.excluded & ~bits


def _len_torch_dispatch_stack() -> int:
    """Return how many dispatch modes are active."""
    return len(mode_stack())


def _get_dispatch_stack_at(index: int) -> Any:
    """Return an active dispatch mode; 0 is the outermost."""
    return mode_stack()[index]


def _is_torch_function_enabled() -> bool:
    """Return whether ``__torch_function__`` handlers run."""
    return not local_state.current().function_disabled


def __getattr__(name: str) -> Any:
    if name in ("DisableTorchFunction", "DisableTorchFunctionSubclass"):
        from minitorch import overrides

        return getattr(overrides, name)
    if name == "_functions":
        raise AttributeError(f"module 'minitorch._C' has no attribute {name!r}")
    raise AttributeError(
        f"module 'minitorch._C' has no attribute {name!r}: it holds what authors of subclasses and modes use, and nothing else"
    )
