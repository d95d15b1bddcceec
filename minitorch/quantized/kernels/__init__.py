"""Kernels of the Quantized keys, by the families of their operators."""
