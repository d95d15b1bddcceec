"""Settings of PyTorch's about precision and determinism.

Kernels here compute float32 products in float32 or better, and give the same results on every run, so that
they decide nothing; programs set and read them, and what they read is what they set.
"""

from __future__ import annotations

_precision = "highest"
_deterministic = False
_warn_only = False


def set_float32_matmul_precision(precision: str) -> None:
    """Say how precise products of float32 must at least be: ``"highest"``, ``"high"`` or ``"medium"``; here all are "highest".

    Raises
    ------
    ValueError
        For another word.
    """
    global _precision
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"set_float32_matmul_precision(): {precision!r} is not one of 'highest', 'high', 'medium'")
    _precision = precision


def get_float32_matmul_precision() -> str:
    """Return what `set_float32_matmul_precision` was called with last; ``"highest"`` before."""
    return _precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for operators that give the same result on every run; they do so anyway."""
    global _deterministic, _warn_only
    _deterministic, _warn_only = bool(mode), bool(mode and warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether `use_deterministic_algorithms` asked for determinism."""
    return _deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether `use_deterministic_algorithms` asked for warnings alone."""
    return _warn_only


_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Do what `use_deterministic_algorithms` does: 0 or ``"default"``, 1 or ``"warn"``, 2 or ``"error"``."""
    number = _DEBUG_MODES.get(debug_mode, -1) if isinstance(debug_mode, str) else debug_mode
    if number not in (0, 1, 2):
        raise RuntimeError(
            f"set_deterministic_debug_mode(): {debug_mode!r} is not one of 'default', 'warn', 'error', 0, 1, 2"
        )
    use_deterministic_algorithms(number > 0, warn_only=number == 1)


def get_deterministic_debug_mode() -> int:
    """Return what `set_deterministic_debug_mode` set, as a number."""
    return (1 if _warn_only else 2) if _deterministic else 0


def set_flush_denormal(mode: bool) -> bool:
    """Ask for denormal numbers to be computed as zeros; returns False, as this is not supported."""
    return False
