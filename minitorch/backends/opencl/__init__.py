"""The OpenCL backend."""

from minitorch.backends.opencl import methods  # noqa: F401 - gives arrays their operators
