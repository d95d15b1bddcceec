"""Kernels for large arrays, compiled by numba where it is installed (the extra ``minitorch[fast]``).

They fuse what takes NumPy several passes: softmax, normalization, smooth activations, pooling,
scattered sums.  `table` names them; nothing here is imported, and numba neither, before an
operator meets its first large operand.

=========================  ==============================================================
``MINITORCH_FAST=0``       leaves all work to the NumPy kernels
``MINITORCH_FAST_FROM=n``  the number of elements that counts as large (default 32768)
``NUMBA_CACHE_DIR``        where compiled kernels are kept; ``~/.cache/minitorch`` otherwise
=========================  ==============================================================
"""
