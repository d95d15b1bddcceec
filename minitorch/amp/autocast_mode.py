"""`autocast`, and the decorators by which an `autograd.Function` says what it does under it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from minitorch.autocast_mode import (
    autocast_decrement_nesting,
    autocast_increment_nesting,
    autocast_state,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_enabled,
    key_of,
    policies,
    supported_dtypes,
)
from minitorch.autocast_mode import cast as cast_value
from minitorch.core.device import device
from minitorch.core.dtype import dtype as dtype_class
from minitorch.dispatch.local_state import current

__all__ = ["autocast", "custom_bwd", "custom_fwd"]

# Devices whose autocast is off where there is no device, with what their module says.
_ASKED_FOR = ("cuda", "opencl")


class autocast:
    """Scope in which chosen operators compute in a lower precision, and others in float32.

    Matrix products and convolutions compute in `dtype`, and what needs range or precision in float32; tensors keep
    their dtypes, arguments are cast on the way in. `minitorch.amp.policies` says which operator does what.
    Enter it around the forward pass and the loss; `backward` belongs outside: it computes in
    the dtypes of the forward pass by itself, and gradients have their parameters' dtypes.

    Parameters
    ----------
    device_type : str
        Whose operators: ``"cpu"``, ``"cuda"``, ``"opencl"``, or a device of a registered backend.
    dtype : dtype, optional
        bfloat16 or float16.  Default: what `get_autocast_dtype` says, bfloat16 on the CPU, float16 on most others.
    enabled : bool
        False switches autocast off inside of a scope that has it on.
    cache_enabled : bool, optional
        Whether the cast of a parameter is kept until the outermost scope ends.  Default: as before.

    Raises
    ------
    ValueError
        If `device_type` is no string.
    RuntimeError
        If the device type is unknown, or has no autocast.

    Warns
    -----
    UserWarning
        If the device cannot compute in `dtype`, or is not there: autocast is off then.

    Notes
    -----
    Threads begin without autocast.  An instance may be entered again while it is entered, and used as a decorator.

    Examples
    --------
    >>> x, w = minitorch.ones(2, 3), minitorch.ones(3, 4, requires_grad=True)
    >>> with autocast("cpu"):
    ...     y = x @ w
    ...     loss = minitorch.nn.functional.mse_loss(y, minitorch.zeros(2, 4))
    >>> y.dtype, loss.dtype
    (torch.bfloat16, torch.float32)
    >>> loss.backward()
    >>> w.grad.dtype
    torch.float32
    """

    def __init__(
        self, device_type: str, dtype: dtype_class | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if dtype is not None and not isinstance(dtype, dtype_class):
            raise ValueError(f"Expected `dtype` to be a dtype, got: `{type(dtype)}`")
        kind = device(device_type).type
        self._key = key_of(kind)
        self.device = kind
        self._cache_enabled = cache_enabled
        self._enabled = enabled and _can_compute(kind, dtype)
        self.fast_dtype = dtype or get_autocast_dtype(kind)

    def __enter__(self) -> autocast:
        state, thread = autocast_state(), current()
        bits = self._key.bits
        state.scopes.append((thread.excluded & bits, state.dtypes.get(self.device), state.cache_enabled))
        if self._enabled:
            policies(self.device)  # a backend's kernels are registered when they are first wanted
            thread.excluded &= ~bits
        else:
            thread.excluded |= bits
        state.dtypes[self.device] = self.fast_dtype
        if self._cache_enabled is not None:
            state.cache_enabled = self._cache_enabled
        autocast_increment_nesting()
        return self

    def __exit__(self, *exc_info: Any) -> bool:
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        state, thread = autocast_state(), current()
        excluded, dtype, state.cache_enabled = state.scopes.pop()
        thread.excluded = (thread.excluded & ~self._key.bits) | excluded
        if dtype is None:
            state.dtypes.pop(self.device, None)
        else:
            state.dtypes[self.device] = dtype
        return False

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return `func` so that it runs in this scope."""

        @functools.wraps(func)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return run


def _can_compute(kind: str, dtype: dtype_class | None) -> bool:
    """Return whether a device is there and computes in a dtype; warn if not."""
    minitorch: Any = import_module("minitorch")
    if kind in _ASKED_FOR and not minitorch.get_device_module(kind).is_available():
        warnings.warn(
            f"{kind.upper() if kind == 'cuda' else kind} is not available. Disabling autocast.", UserWarning, stacklevel=3
        )
        return False
    supported = supported_dtypes(kind)
    wanted = dtype or get_autocast_dtype(kind)
    if wanted not in supported:
        shown = "CPU" if kind == "cpu" else kind
        warnings.warn(
            f"In {shown} autocast, but the target dtype {wanted} is not supported. Disabling autocast.\n{shown} autocast only "
            f"supports dtypes of {', '.join(map(str, supported)) or 'none'} currently.",
            UserWarning,
            stacklevel=3,
        )
        return False
    return True


# -- autograd.Function -----------------------------------------------------------------


def _cast_all(value: Any, target: dtype_class, device_type: str) -> Any:
    """Return a value with the eligible tensors in it cast, in nested containers too."""
    if isinstance(value, Mapping):
        return {_cast_all(k, target, device_type): _cast_all(v, target, device_type) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_cast_all(item, target, device_type) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return cast_value(value, target, device_type)


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: dtype_class | None = None
) -> Callable[..., Any]:
    """Return the ``forward`` of an `autograd.Function` so that it knows of autocast; a decorator.

    Parameters
    ----------
    fwd : callable, optional
        ``forward(ctx, *args)``.
    device_type : str
    cast_inputs : dtype, optional
        Under autocast the floating tensors of the device, except float64, arrive cast to it, and ``forward`` runs with
        autocast off.  By default it runs as it is called.

    Raises
    ------
    ValueError
        If `device_type` is no string.

    See Also
    --------
    custom_bwd : the same for ``backward``.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def run(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        is_on = is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_on and cast_inputs is None
        if cast_inputs is None or not is_on:
            return fwd(*args, **kwargs)
        kind = device(device_type).type
        with autocast(device_type, enabled=False):
            return fwd(*_cast_all(args, cast_inputs, kind), **_cast_all(kwargs, cast_inputs, kind))

    return run


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Return the ``backward`` of an `autograd.Function` so that it runs under the autocast of its ``forward``.

    The ``forward`` must have `custom_fwd`.

    Raises
    ------
    ValueError
        If `device_type` is no string.

    Examples
    --------
    >>> class Product(minitorch.autograd.Function):
    ...     @staticmethod
    ...     @custom_fwd(device_type="cpu")
    ...     def forward(ctx, a, b):
    ...         ctx.save_for_backward(a, b)
    ...         return a @ b
    ...     @staticmethod
    ...     @custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         a, b = ctx.saved_tensors
    ...         return grad @ b.T, a.T @ grad
    >>> a, b = (minitorch.ones(2, 2, requires_grad=True) for _ in range(2))
    >>> with autocast("cpu"):
    ...     c = Product.apply(a, b)
    >>> c.sum().backward()
    >>> c.dtype, a.grad.dtype
    (torch.bfloat16, torch.float32)
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def run(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return run
