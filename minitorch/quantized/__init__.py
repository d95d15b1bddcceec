"""Quantized tensors: integers that stand for numbers by a scale and a zero point.

Nothing of it is imported before the first such tensor is made (`tensor.components.load_kernels`).  `handle` is what a
tensor holds, `rounding` the one rule by which numbers become integers, `kernels/` the operators that compute with the integers,
`fallback` what happens with all others, `library` the operators of ``minitorch.ops.quantized``.
"""
