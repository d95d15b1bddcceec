"""What NumPy computes in place, where the device's memory is the host's: decompositions and Fourier transforms.

A CPU device has no better way: LAPACK and pocketfft run on the same cores, on the same memory, and
nothing is copied to them.  On a device with memory of its own these functions raise `NoKernel`, and
their operators fall back under the user's policy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.opencl.array import CLArray, from_host


def _on_host(function: Any, label: str):
    def run(*args, **kwargs):
        device = next((a.device for a in args if type(a) is CLArray), None)
        if device is None:
            return function(*args, **kwargs)
        arrays = []
        for a in args:
            if type(a) is CLArray:
                view = a.host_view()
                if view is None:
                    raise NoKernel(f"{label} has no kernel for devices with memory of their own")
                arrays.append(view)
            else:
                arrays.append(a)
        return _back(function(*arrays, **kwargs), device)

    run.__name__ = label.rpartition(".")[2]
    run.__doc__ = f"NumPy's ``{label}``, on the memory that host and device share."
    return run


def _back(result, device):
    if isinstance(result, tuple):
        return tuple([_back(r, device) for r in result])
    if isinstance(result, (np.ndarray, np.generic)):
        return from_host(np.asarray(result), device)
    return result


class HostFunctions:
    """Functions of ``numpy.linalg`` or ``numpy.fft`` for arrays of devices that share the host's memory."""

    def __init__(self, module: Any):
        self._module = module
        self.LinAlgError = np.linalg.LinAlgError

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        label = f"{self._module.__name__.rpartition('.')[2]}.{name}"
        found = getattr(self._module, name, None)
        if found is None:
            raise NoKernel(f"there is no {label}")
        made = _on_host(found, label)
        setattr(self, name, made)
        return made
