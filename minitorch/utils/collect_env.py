"""``python -m minitorch.utils.collect_env``: what a bug report should say of a machine and its libraries."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np

import minitorch
from minitorch.backends.lazy import LAZY_BACKENDS
from minitorch.compiled import core_is_compiled

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main"]

_PACKAGES = (
    "numpy", "ml_dtypes", "scipy", "numba", "threadpoolctl", "sympy", "safetensors", "opt_einsum", "cython", "pyopencl",
    "pocl-binary-distribution",
    "intel-opencl-rt", "cupy-cuda12x", "cupy-cuda13x", "torch",
)  # fmt: skip


class SystemEnv(NamedTuple):
    """What was found.

    Attributes
    ----------
    devices : dict of str to str
        For each device type that is known, what can be used of it, or why nothing can.
    packages : dict of str to str
        Versions of the installed libraries that this one uses.
    variables : dict of str to str
        Those of the environment that it reads.
    """

    minitorch_version: str
    core: str
    python_version: str
    python_platform: str
    cpu: str
    threads: str
    blas: str
    devices: dict[str, str]
    packages: dict[str, str]
    variables: dict[str, str]


def get_env_info() -> SystemEnv:
    """Return what can be found out about this machine; devices are looked for, which loads their drivers."""
    packages = {}
    for name in _PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    shown = ("MINITORCH_", "TORCH_", "OMP_", "OPENBLAS_", "MKL_", "NUMBA_", "POCL_", "OCL_", "CUDA_")
    return SystemEnv(
        minitorch_version=minitorch.__version__,
        core="compiled" if core_is_compiled() else "interpreted",
        python_version=sys.version.replace("\n", " "),
        python_platform=platform.platform(),
        cpu=_cpu_name(),
        threads=f"{minitorch.get_num_threads()} of {os.cpu_count()} cores",
        blas=_blas_name(),
        devices={name: _state_of(name) for name in LAZY_BACKENDS},
        packages=packages,
        variables={name: value for name, value in sorted(os.environ.items()) if name.startswith(shown)},
    )


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _blas_name() -> str:
    built: Any = np.show_config(mode="dicts")
    found = (built or {}).get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def _state_of(name: str) -> str:
    try:
        count = minitorch.get_device_module(name).device_count()  # type: ignore[attr-defined]
    except Exception as error:  # a report must not fail on what it reports
        return f"not usable: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    return f"{count} device{'s' if count != 1 else ''}" if count else "no device"


def get_pretty_env_info() -> str:
    """Return it as text.

    Examples
    --------
    >>> get_pretty_env_info().splitlines()[0].startswith("minitorch version: ")
    True
    """
    found = get_env_info()
    lines = [
        f"minitorch version: {found.minitorch_version}", f"Core: {found.core}", f"Python version: {found.python_version}",
        f"Python platform: {found.python_platform}", f"CPU: {found.cpu}", f"Threads: {found.threads}",
        f"BLAS of NumPy: {found.blas}",
    ]  # fmt: skip
    for title, items in (("Devices", found.devices), ("Libraries", found.packages), ("Environment", found.variables)):
        lines += ["", f"{title}:", *[f"  {name}: {value}" for name, value in items.items()]]
        if not items:
            lines.append("  none")
    return "\n".join(lines)


def main() -> None:
    """Print it."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
