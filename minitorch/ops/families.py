"""The operator families, and how a concern's files for them are loaded."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

FAMILIES = (
    "factories",
    "windows",
    "views",
    "view_copies",
    "pointwise",
    "special_functions",
    "reductions",
    "sorting",
    "indexing",
    "embedding",
    "segments",
    "linalg",
    "factorizations",
    "fft",
    "activation",
    "normalization",
    "convolution",
    "pooling",
    "attention",
    "recurrent",
    "vision",
    "loss",
    "optimizers",
    "random",
    "sparse",
    "sparse_products",
    "sparse_values",
    "quantized",
)


def load_families(package: str) -> None:
    """Import ``package.<family>`` for every family that the concern has a file for."""
    for family in FAMILIES:
        name = f"{package}.{family}"
        if find_spec(name) is not None:
            import_module(name)
