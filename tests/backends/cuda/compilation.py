"""What each source is compiled for: every combination of types that the package asks for, and those worth a check."""

from __future__ import annotations

from minitorch.backends.cuda.programs import FLOATS, names

ARCHITECTURES = ("75", "80", "90")
_INDICES = ("int64", "int32")


def variants(name: str) -> list[dict[str, str]]:
    """Return the types, by macro, that a source is compiled for."""
    each = [{"T": t} for t in FLOATS]
    if name == "softmax":
        return [{"T": t, "O": t} for t in FLOATS] + [{"T": t, "O": "float32"} for t in ("float16", "bfloat16")]
    if name == "batch_norm":
        mixed = [{"T": t, "P": "float32", "R": "float32"} for t in ("float16", "bfloat16")]
        return [{"T": t, "P": t, "R": t} for t in FLOATS] + mixed
    if name in ("loss", "embedding"):
        return [{"T": t, "I": i} for t in FLOATS for i in _INDICES]
    if name == "scatter":
        return [{"T": t, "I": i} for t in ("float32", "float64", "int32", "int64") for i in _INDICES]
    if name == "optimizer":
        return [{"T": t, "S": "float32"} for t in FLOATS] + [{"T": "float64", "S": "float64"}]
    return [{}] if name == "philox" else each


CASES = [(name, types) for name in names() for types in variants(name)]
IDS = ["-".join((name, *types.values())) for name, types in CASES]
