"""The OpenCL backend: any device with an OpenCL 1.2 driver, as the device type ``opencl``.

It is written against the public API for backends (`minitorch.backends`) alone.  PyOpenCL is
imported when the first device is asked for.
"""

from minitorch.backends.opencl import methods
from minitorch.backends.opencl.registration import register

__all__ = ["register"]
