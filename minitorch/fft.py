"""Discrete Fourier transforms, as torch.fft."""

from minitorch.ops.assemble import module_functions

globals().update(module_functions("fft", "fft_"))
