"""What modules share whose weights are fake quantized."""

from __future__ import annotations

from typing import Any


def required_qconfig(qconfig: Any, name: str) -> Any:
    """Return the `QConfig`; raise `AssertionError` where there is none."""
    if not qconfig:
        raise AssertionError(f"{name}: a qconfig must be provided for QAT module")
    return qconfig


def checked_float_module(mod: Any, cls: Any, float_classes: tuple[type, ...]) -> None:
    """Raise `AssertionError` unless a module is one that can be trained with fake quantization as `cls`."""
    if type(mod) not in float_classes:
        raise AssertionError(
            f"qat.{cls.__name__}.from_float only works for {' or '.join(c.__name__ for c in float_classes)}, not for "
            f"{type(mod).__name__}"
        )
    if not getattr(mod, "qconfig", None):
        raise AssertionError(f"qat.{cls.__name__}.from_float: Input float module must have a valid qconfig")
