"""Public functions whose signature is no operator's schema.

Each calls operators; those that are also methods of `Tensor` are listed in `METHODS`.
"""

from __future__ import annotations

import math
from typing import Any

from minitorch.core.dtype import int64
from minitorch.core.size import Size
from minitorch.ops import functions as F
from minitorch.ops.overriding import overridable
from minitorch.ops.return_types import make_return_type
from minitorch.tensor.base import TensorBase

__all__ = [
    "_assert", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
    "cartesian_prod", "cdist", "chain_matmul", "einsum",
    "get_device", "histogramdd", "is_complex", "is_conj", "is_floating_point", "is_neg", "is_same_size",
    "is_signed", "is_tensor", "istft", "lu", "meshgrid", "nonzero", "norm", "norm_except_dim", "numel",
    "pca_lowrank", "stft", "svd_lowrank", "tensordot", "unique", "unique_consecutive", "unravel_index",
]  # fmt: skip


def _tensors(args) -> list:
    """Return the tensors of ``f(a, b, c)`` and of ``f([a, b, c])``."""
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        return list(args[0])
    return list(args)


@overridable
def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError with a message unless a condition holds; unlike ``assert``, tracing records it."""
    if not condition:
        raise AssertionError(message)


# ---------------------------------------------------------------- products


def _from_sublists(args) -> tuple[str, list]:
    """Return the equation of ``einsum(a, [0, 1], b, [1, 2], [0, 2])``, and its operands."""

    def letters(sublist) -> str:
        result = ""
        for label in sublist:
            if label is Ellipsis:
                result += "..."
            elif isinstance(label, int) and 0 <= label < 52:
                result += chr(ord("A") + label) if label < 26 else chr(ord("a") + label - 26)
            else:
                raise ValueError(
                    f"einsum(): subscript {label!r} is not within the valid range [0, 52)"
                )
        return result

    operands = list(args[0 : len(args) - len(args) % 2 : 2])
    equation = ",".join(letters(sublist) for sublist in args[1::2])
    if len(args) % 2:
        equation += "->" + letters(args[-1])
    return equation, operands


@overridable
def einsum(*args: Any) -> Any:
    """Return the sum of the products of the operands' elements, as an equation spells it.

    Parameters
    ----------
    *args
        ``einsum("ij,jk->ik", a, b)``, or operands each followed by its list of subscripts, and
        the output's: ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.

    Notes
    -----
    Operands are contracted by pairs; with more than two of them the order is opt_einsum's
    where that is installed, left to right elsewhere.
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if isinstance(args[0], TensorBase):
        equation, operands = _from_sublists(args)
    else:
        equation, operands = args[0], list(args[1:])
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return einsum(equation, *operands[0])
    if len(operands) <= 2:
        return F.einsum(equation, operands)
    return F.einsum(equation, operands, path=_contraction_order(equation, operands))


def _contraction_order(equation: str, operands: list) -> list[int] | None:
    try:
        from opt_einsum import contract_path
    except ImportError:
        return None
    pairs = contract_path(equation, *[tuple(t.shape) for t in operands], shapes=True)[0]
    if any(len(pair) != 2 for pair in pairs):
        return None
    return [place for pair in pairs for place in pair]


@overridable
def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """Return the contraction of `a` and `b` over several dimensions.

    Parameters
    ----------
    dims : int, or two lists of int
        The last `dims` dimensions of `a` with the first of `b`; or which with which.
    """
    if isinstance(dims, TensorBase):
        dims = dims.tolist()
    if isinstance(dims, (list, tuple)) and len(dims) == 1 and isinstance(dims[0], (list, tuple)):
        raise RuntimeError("tensordot expects dims to be int or two lists of int")
    if isinstance(dims, (list, tuple)):
        first, second = dims
        dims_a = list(first) if isinstance(first, (list, tuple)) else [first]
        dims_b = list(second) if isinstance(second, (list, tuple)) else [second]
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(
                "tensordot expects dims <= the numbers of dimensions, but got "
                f"dims={dims}, {a.dim()} and {b.dim()}"
            )
        dims_a = list(range(-dims, 0))
        dims_b = list(range(dims))
    if out is None:
        return F.tensordot(a, b, dims_a, dims_b)
    return F.tensordot(a, b, dims_a, dims_b, out=out)


@overridable
def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """Return the product of matrices, multiplied in the cheapest order."""
    if out is None:
        return F.chain_matmul(_tensors(matrices))
    return F.chain_matmul(_tensors(matrices), out=out)


@overridable
def lu(A: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Return the compact LU factorization and its pivots; `linalg.lu_factor` is its successor."""
    result = _lu_type(*F.linalg_lu_factor_ex(A, pivot=pivot))
    if out is not None:
        for target, value in zip(out, result, strict=False):
            F.resize_(target, value.shape).copy_(value)
        return tuple(out)
    return result if get_infos else tuple(result[:2])


_lu_type = make_return_type("_lu_with_info", ("LU", "pivots", "info"))


@overridable
def norm(
    input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """Return a norm of the elements, all of them or along dimensions.

    Parameters
    ----------
    p : number, "fro" or "nuc"
        ``"fro"`` is the 2-norm of the elements, ``"nuc"`` the sum of the singular values.

    Notes
    -----
    `linalg.vector_norm` and `linalg.matrix_norm` say which of the two they mean.
    """
    if dim is not None and isinstance(dim, int):
        dim = [dim]
    keywords = {} if out is None else {"out": out}
    if isinstance(p, str) and p == "nuc":
        if dtype is not None:
            input = input.to(dtype)
        dims = list(range(input.dim())) if dim is None else list(dim)
        return F.linalg_matrix_norm(input, "nuc", dims, keepdim, **keywords)
    if isinstance(p, str):
        if p != "fro":
            raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
        p = 2
    if dtype is not None:
        keywords["dtype"] = dtype
    return F.linalg_vector_norm(
        input, 2 if p is None else p, None if dim is None else list(dim), keepdim, **keywords
    )


def _orthonormal_range(A: Any, q: int, niter: int, M: Any) -> Any:
    """Return an orthonormal basis of most of the range of A (Halko et al., 2009)."""
    from minitorch.ops.assemble import make_public_function

    def times(matrix):
        product = F.matmul(A, matrix)
        return product if M is None else product - F.matmul(M, matrix)

    def times_adjoint(matrix):
        product = F.matmul(F.adjoint(A), matrix)
        return product if M is None else product - F.matmul(F.adjoint(M), matrix)

    sample = make_public_function("randn")(A.shape[-1], q, dtype=A.dtype, device=A.device)
    basis = F.linalg_qr(times(sample))[0]
    for _ in range(niter):
        basis = F.linalg_qr(times_adjoint(basis))[0]
        basis = F.linalg_qr(times(basis))[0]
    return basis


def _low_rank(A: Any, q: int | None, niter: int, M: Any) -> tuple:
    q = 6 if q is None else q
    rows, columns = A.shape[-2:]
    if rows < columns:
        u, s, v = _low_rank(F.adjoint(A), q, niter, None if M is None else F.adjoint(M))
        return v, s, u
    basis = _orthonormal_range(A, q, niter, M)
    small = F.matmul(F.adjoint(basis), A)
    if M is not None:
        small = small - F.matmul(F.adjoint(basis), M)
    u, s, vh = F.linalg_svd(small, False)
    return F.matmul(basis, u), s, F.adjoint(vh)


_CDIST_MODES = {
    "use_mm_for_euclid_dist_if_necessary": 0,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


@overridable
def cdist(
    x1: Any, x2: Any, p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Any:  # fmt: skip
    """Return the distance of each row of `x1` to each row of `x2`.

    Parameters
    ----------
    x1, x2 : Tensor, shapes (..., P, M) and (..., R, M)
    p : float
        Of the p-norm; not negative.
    compute_mode : str
        Whether Euclidean distances come from a matrix product, which is faster for many rows,
        and less exact where rows nearly agree: ``"use_mm_for_euclid_dist"``,
        ``"donot_use_mm_for_euclid_dist"`` or, for more than 25 rows,
        ``"use_mm_for_euclid_dist_if_necessary"``.
    """
    if compute_mode not in _CDIST_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return F.cdist(x1, x2, p, _CDIST_MODES[compute_mode])


@overridable
def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> tuple:
    """Return the leading `q` singular values and vectors, by a randomized method."""
    return _low_rank(A, q, niter or 0, None if M is None else M.broadcast_to(A.shape))


@overridable
def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> tuple:
    """Return the leading principal components of the rows of a matrix."""
    rows, columns = A.shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)="
            f"{min(rows, columns)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = A - F.mean(A, [-2], True)
    return _low_rank(A, q, niter, None)


# ---------------------------------------------------------------- joining, grids, broadcasting


@overridable
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple:
    """Return coordinate grids of vectors, one a vector.

    Parameters
    ----------
    indexing : {"ij", "xy"}, optional
        ``"ij"`` (the default) gives grids of shape ``(len(a), len(b), ...)``, ``"xy"`` exchanges
        the first two.
    """
    return F.meshgrid(_tensors(tensors), indexing="ij" if indexing is None else indexing)


@overridable
def cartesian_prod(*tensors: Any) -> Any:
    """Return all combinations of an element from each vector, a row each."""
    return F.cartesian_prod(list(tensors))


@overridable
def block_diag(*tensors: Any) -> Any:
    """Return a matrix with the given ones along its diagonal."""
    return F.block_diag(list(tensors)) if tensors else F.empty([1, 0])


def _each(operator, tensors: tuple) -> Any:
    """Return an operator's result for one tensor, or the results for several, or for a sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], TensorBase):
        return operator(tensors[0])
    return tuple([operator(t) for t in _tensors(tensors)])


@overridable
def atleast_1d(*tensors: Any) -> Any:
    """Return the tensors with at least 1 dimension: a number becomes a vector."""
    return _each(F.atleast_1d, tensors)


@overridable
def atleast_2d(*tensors: Any) -> Any:
    """Return the tensors with at least 2 dimensions: a vector becomes a row."""
    return _each(F.atleast_2d, tensors)


@overridable
def atleast_3d(*tensors: Any) -> Any:
    """Return the tensors with at least 3 dimensions: a matrix becomes a stack of columns of size 1."""
    return _each(F.atleast_3d, tensors)


@overridable
def broadcast_tensors(*tensors: Any) -> tuple:
    """Return the tensors, expanded to their common shape."""
    tensors = _tensors(tensors)
    shape = list(broadcast_shapes(*[t.shape for t in tensors]))
    return tuple([F.expand(t, shape) for t in tensors])


def broadcast_shapes(*shapes: Any) -> Size:
    """Return the shape that tensors of `shapes` broadcast to.

    Raises
    ------
    RuntimeError
        If they do not.
    """
    result: list[int] = []
    for shape in shapes:
        shape = [shape] if isinstance(shape, int) else list(shape)
        if any(n < 0 for n in shape):
            raise RuntimeError(
                f"Trying to create tensor with negative dimension: {list(shape)}"
            )
        result = [1] * (len(shape) - len(result)) + result
        for place in range(1, len(shape) + 1):
            n = shape[-place]
            if n == 1 or n == result[-place]:
                continue
            if result[-place] != 1:
                raise RuntimeError(
                    "Shape mismatch: objects cannot be broadcast to a single shape: "
                    f"{list(shapes)}"
                )
            result[-place] = n
    return Size(result)


# ---------------------------------------------------------------- searching


@overridable
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """Return the different elements (or slices along `dim`).

    Returns
    -------
    Tensor or tuple
        The elements; with them, if asked for, where each input element went, and how often
        each occurs.
    """
    if dim is None:
        result = F._unique2(input, sorted, return_inverse, return_counts)
    else:
        result = F.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _asked_for(result, return_inverse, return_counts)


@overridable
def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return `input` without elements (or slices along `dim`) that equal the one before."""
    result = F.unique_consecutive(input, return_inverse, return_counts, dim)
    return _asked_for(result, return_inverse, return_counts)


def _asked_for(result: tuple, inverse: bool, counts: bool) -> Any:
    kept = [result[0]]
    if inverse:
        kept.append(result[1])
    if counts:
        kept.append(result[2])
    return kept[0] if len(kept) == 1 else tuple(kept)


@overridable
def nonzero(input: Any, *, out: Any = None, as_tuple: bool = False) -> Any:
    """Return the positions of the elements that are not zero.

    Returns
    -------
    Tensor, shape (n, input.dim())
        A row a position; with ``as_tuple=True`` a tuple of one vector a dimension instead, which
        indexes `input`.
    """
    if as_tuple:
        return F.nonzero_numpy(input)
    return F.nonzero(input) if out is None else F.nonzero(input, out=out)


@overridable
def unravel_index(indices: Any, shape: Any) -> tuple:
    """Return the coordinates, in an array of `shape`, of positions in its flattened form."""
    if indices.is_floating_point() or indices.is_complex() or indices.dtype.name == "bool":
        raise ValueError(
            f"unravel_index: expected 'indices' to be integer dtype, but got {indices.dtype}"
        )
    if isinstance(shape, TensorBase):
        shape = shape.tolist()
    sizes = [shape] if isinstance(shape, int) else list(shape)
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    count = math.prod(sizes)
    coordinates = []
    indices = indices.to(int64)
    rest = F.remainder(indices, count) if count else indices
    for n in reversed(sizes):
        coordinates.append(F.remainder(rest, n))
        rest = F.div(rest, n, rounding_mode="floor")
    return tuple(reversed(coordinates))


@overridable
def histogramdd(
    input: Any, bins: Any, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """Return how many rows of `input` fall into each cell of a grid.

    Parameters
    ----------
    bins : list of Tensor, list of int, or int
        The edges for each column, or into how many cells of equal width it is cut.
    range : list of float, optional
        Lower and upper limit for each column, one after the other.

    Returns
    -------
    (hist, bin_edges) : named tuple
    """
    columns = input.shape[-1]
    rows = F.reshape(input, [-1, columns])
    if isinstance(bins, int):
        bins = [bins] * columns
    if len(bins) != columns:
        raise RuntimeError(
            f"histogramdd(): the size of bins must be equal to the innermost dimension of the "
            f"input, got {len(bins)} and {columns}"
        )
    edges, places, inside = [], [], None
    for place, given in enumerate(bins):
        column = F.select(rows, 1, place)
        if not isinstance(given, TensorBase):
            if range is not None:
                low, high = range[2 * place], range[2 * place + 1]
            elif column.numel():
                low, high = F.min(column), F.max(column)
                narrow = F.where(F.eq(low, high), 0.5, 0.0)
                low, high = low - narrow, high + narrow
            else:
                low, high = 0.0, 1.0
            if range is not None and low == high:
                low, high = low - 0.5, high + 0.5
            given = F.linspace(low, high, given + 1, dtype=input.dtype, device=input.device)
        edges.append(given)
        fits = F.logical_and(column >= given[0], column <= given[-1])
        inside = fits if inside is None else F.logical_and(inside, fits)
        found = F.searchsorted(given, column.contiguous(), right=True) - 1
        places.append(F.clamp_max(found, given.shape[0] - 2))
    sizes = [e.shape[0] - 1 for e in edges]
    flat = F.zeros(rows.shape[0], dtype=int64, device=input.device)
    for n, found in zip(sizes, places, strict=True):
        flat = flat * n + found
    if weight is None:
        values = F.ones(rows.shape[0], dtype=input.dtype, device=input.device)
    else:
        values = F.reshape(weight, [-1])
    counts = F.new_zeros(input, [math.prod(sizes)])
    # What is outside counts as nothing, in the first cell: how many rows there are inside would be a shape.
    flat, values = F.where(inside, flat, 0), F.where(inside, values, 0)
    counts = F.index_add(counts, 0, flat, values)
    counts = F.reshape(counts, sizes)
    if density:
        counts = counts / F.sum(counts)
        for place, given in enumerate(edges):
            shape = [1] * columns
            shape[place] = sizes[place]
            counts = counts / F.reshape(F.diff(given), shape)
    return _histogramdd_type(counts, tuple(edges))


_histogramdd_type = make_return_type("histogramdd", ("hist", "bin_edges"))


# ---------------------------------------------------------------- short-time transforms


@overridable
def stft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Any = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:  # fmt: skip
    """Return Fourier transforms of overlapping frames of a signal, shape (..., frequency, frame).

    Parameters
    ----------
    n_fft : int
        Samples a frame.
    hop_length : int, optional
        Samples between the beginnings of frames; ``n_fft // 4`` by default.
    center : bool
        Pad the signal so that frame ``t`` is centered at ``t * hop_length``.
    """
    return F.stft(
        input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
        return_complex,
    )  # fmt: skip


@overridable
def istft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Any = None, center: bool = True, normalized: bool = False,
    onesided: bool | None = None, length: int | None = None, return_complex: bool = False,
) -> Any:  # fmt: skip
    """Return the signal that `stft` gives `input` for, by overlapping and adding."""
    return F.istft(
        input, n_fft, hop_length, win_length, window, center, normalized, onesided, length,
        return_complex,
    )  # fmt: skip


# ---------------------------------------------------------------- questions about tensors


def is_tensor(obj: Any) -> bool:
    """Return whether `obj` is a tensor."""
    return isinstance(obj, TensorBase)


def _question(name: str, doc: str) -> Any:
    """Return the public function that asks a tensor's method."""

    def ask(input: Any) -> Any:
        if not isinstance(input, TensorBase):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        return getattr(input, name)()

    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = doc
    return overridable(ask)


get_device = _question("get_device", "Return the number of the device that holds `input`; -1 for the CPU.")
is_complex = _question("is_complex", "Return whether the elements are complex numbers.")
is_conj = _question("is_conj", "Return whether the conjugate bit is set.")
is_floating_point = _question("is_floating_point", "Return whether the elements are real floating-point numbers.")
is_neg = _question("is_neg", "Return whether the negative bit is set.")
is_signed = _question("is_signed", "Return whether the elements may be negative.")
numel = _question("numel", "Return how many elements there are.")


@overridable
def is_same_size(input: Any, other: Any) -> bool:
    """Return whether two tensors have the same shape."""
    return input.is_same_size(other)


@overridable
def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    """Return the norms of the slices along `dim`, which keeps its place; -1 stands for one norm of all."""
    if dim == -1:
        return norm(v, pow)
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    return F.linalg_vector_norm(v, pow, others, True)


# ---------------------------------------------------------------- methods

METHODS: dict[str, Any] = {
    "istft": istft,
    "lu": lu,
    "nonzero": nonzero,
    "norm": norm,
    "stft": stft,
    "unique": unique,
    "unique_consecutive": unique_consecutive,
}


def attach_methods(cls: type) -> None:
    """Give a tensor class the functions of this module that are methods too."""
    for name, function in METHODS.items():
        setattr(cls, name, function)


def public_functions() -> dict[str, Any]:
    """Return the functions of this module, by name."""
    return {name: globals()[name] for name in __all__}
