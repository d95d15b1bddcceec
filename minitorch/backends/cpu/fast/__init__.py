"""Kernels for large arrays, run by loops that the build or numba has compiled.

They fuse what takes NumPy several passes: softmax, normalization, smooth activations, attention,
and, with numba (the extra ``minitorch[fast]``), pooling and scattered sums.  `table` names them;
nothing here is imported, and numba neither, before an operator meets its first large operand.

=========================  ==============================================================
``MINITORCH_FAST=0``       leaves all work to the NumPy kernels
``MINITORCH_FAST_FROM=n``  the number of elements that counts as large (default 32768)
``NUMBA_CACHE_DIR``        where numba keeps compiled kernels; ``~/.cache/minitorch`` otherwise
=========================  ==============================================================
"""
