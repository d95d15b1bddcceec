"""Anomaly mode: errors of backward name the forward call, and NaNs are caught where they arise."""

from __future__ import annotations

import os
import traceback
import warnings
from typing import Any

from minitorch.dispatch.keys import FUNCTORCH_KEYS
from minitorch.dispatch.local_state import current

# Frames of this package at the end of a stack say nothing to the reader.
_PACKAGE = os.path.dirname(__file__)


def note(node: Any) -> None:
    """Remember where a node was made."""
    if node.extra is None:
        node.extra = {}
    frames = traceback.extract_stack()
    while frames and os.path.dirname(frames[-1].filename) == _PACKAGE:
        frames.pop()
    node.extra["traceback"] = "".join(traceback.format_list(frames))
    parent = current().evaluating_node
    if parent is not None:
        node.extra["parent"] = parent


def _report(node: Any) -> None:
    text = (node.extra or {}).get("traceback")
    if text is None:
        warnings.warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
            "forward pass for more information.",
            UserWarning,
            stacklevel=3,
        )
        return
    warnings.warn(
        f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{text}",
        UserWarning,
        stacklevel=3,
    )
    parent = (node.extra or {}).get("parent")
    if parent is not None:
        _report(parent)


def _has_nan(grad: Any) -> bool:
    """Return whether there is a NaN, under vmap in any of the examples."""
    while grad.key_set & FUNCTORCH_KEYS:
        grad = grad.handle.value
    return bool(grad.isnan().any())


def watch(node: Any, grads: list) -> Any:
    """Run a node; report where it was made if it raises or returns NaN.

    Raises
    ------
    RuntimeError
        If it returns a NaN.
    """
    try:
        results = list(node.apply(grads))
    except Exception:
        _report(node)
        raise
    if current().anomaly_check_nan:
        for i, grad in enumerate(results):
            if grad is not None and grad.dtype.category >= 2 and _has_nan(grad):
                _report(node)
                raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
    return results


class set_detect_anomaly:
    """Switch anomaly mode on or off; as a scope, for the scope.

    Parameters
    ----------
    mode : bool
    check_nan : bool
        Raise when a backward function returns a NaN.
    """

    def __init__(self, mode: bool, check_nan: bool = True):
        state = current()
        self._old = (state.anomaly, state.anomaly_check_nan)
        state.anomaly, state.anomaly_check_nan = mode, check_nan

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc_info: Any) -> None:
        state = current()
        state.anomaly, state.anomaly_check_nan = self._old


class detect_anomaly(set_detect_anomaly):
    """Scope: anomaly mode is on."""

    def __init__(self, check_nan: bool = True):
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            UserWarning,
            stacklevel=2,
        )
        super().__init__(True, check_nan)
        current().anomaly = self._old[0]

    def __enter__(self) -> None:
        current().anomaly = True


def is_anomaly_enabled() -> bool:
    """Return whether anomaly mode is on in this thread."""
    return current().anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly mode looks for NaNs."""
    return current().anomaly_check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode on or off."""
    set_detect_anomaly(enabled, check_nan)
