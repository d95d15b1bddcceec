"""Writes ``cupy_names.json``: what the installed CuPy has, for machines that have none.  Needs CuPy and no GPU.

``python tests/backends/cuda/record_names.py``
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path

FILE = Path(__file__).with_name("cupy_names.json")
NAMESPACES = ("linalg", "fft", "lib.stride_tricks")


def signature(function) -> list | None:
    """Return the parameters as (name, kind, has a default); None where Python cannot tell."""
    try:
        found = inspect.signature(function)
    except (ValueError, TypeError):
        return None
    return [[p.name, p.kind.name, p.default is not p.empty] for p in found.parameters.values()]


def public(owner) -> list[str]:
    return sorted(name for name in dir(owner) if not name.startswith("_"))


def functions_of(owner) -> dict:
    """Return the signature of each public function, by name."""
    found = {}
    for name in public(owner):
        value = getattr(owner, name)
        if callable(value) and not isinstance(value, type):
            found[name] = signature(value)
    return found


def collect(cupy) -> dict:
    """Return all that is recorded."""
    namespaces = {}
    for path in NAMESPACES:
        owner = cupy
        for part in path.split("."):
            owner = getattr(owner, part)
        namespaces[path] = functions_of(owner)
    from cupyx.scipy import sparse

    return {
        "version": cupy.__version__,
        "names": public(cupy),
        "functions": {
            name: s for name, s in functions_of(cupy).items() if not isinstance(getattr(cupy, name), cupy.ufunc)
        },
        "ufuncs": sorted(name for name in public(cupy) if isinstance(getattr(cupy, name), cupy.ufunc)),
        "ndarray": public(cupy.ndarray),
        "namespaces": namespaces,
        "sparse": public(sparse),
        "csr_matrix": public(sparse.csr_matrix),
        "cuda": public(cupy.cuda),
        "runtime": public(cupy.cuda.runtime),
        "Stream": public(cupy.cuda.Stream),
        "Event": public(cupy.cuda.Event),
        "MemoryPool": public(cupy.cuda.MemoryPool),
    }


if __name__ == "__main__":
    import cupy

    FILE.write_text(json.dumps(collect(cupy), indent=0, separators=(",", ":"), sort_keys=True) + "\n", encoding="utf-8")
    print(FILE)
