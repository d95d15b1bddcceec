"""`assert_close`: are two tensors, or two structures of tensors and numbers, equal up to rounding?

Elements are compared with NumPy, so that a wrong operator cannot approve of itself.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minitorch.core.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from minitorch.core.promotion import promote_types
from minitorch.tensor.base import TensorBase
from minitorch.tensor.creation import as_tensor
from minitorch.tensor.wrapper import host_array

# By dtype ``(rtol, atol)``; other dtypes have to be equal.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
_NUMBER_DTYPES = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


class _Options:
    """How to compare."""

    def __init__(self, rtol: float | None, atol: float | None, **flags: bool):
        if (rtol is None) != (atol is None):
            given, missing = ("rtol", "atol") if atol is None else ("atol", "rtol")
            raise ValueError(
                f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing} (only {given})."
            )
        for name, value in (("rtol", rtol), ("atol", atol)):
            if value is not None and not value >= 0:
                raise ValueError(f"{name} must not be negative, and is {value}")
        self._tolerances = None if rtol is None else (rtol, atol)
        self.equal_nan = flags["equal_nan"]
        self.allow_subclasses = flags["allow_subclasses"]
        self.check_device = flags["check_device"]
        self.check_dtype = flags["check_dtype"]
        self.check_layout = flags["check_layout"]
        self.check_stride = flags["check_stride"]

    def tolerances(self, *names: str) -> tuple[float, float]:
        """Return ``(rtol, atol)``: those given, or the larger ones that the dtypes have."""
        if self._tolerances is not None:
            return self._tolerances  # type: ignore[return-value]
        pairs = [_TOLERANCES.get(name, (0.0, 0.0)) for name in names]
        return max(p[0] for p in pairs), max(p[1] for p in pairs)


class _Difference(Exception):
    """Says what differs; `path` leads to it from the outermost structure."""

    def __init__(self, text: str):
        super().__init__(text)
        self.text = text
        self.path: list = []


def _compare(actual: Any, expected: Any, options: _Options) -> None:
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise _Difference(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
        _compare_items(range(len(actual)), actual, expected, options)
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing = sorted(expected.keys() - actual.keys(), key=str)
        additional = sorted(actual.keys() - expected.keys(), key=str)
        if missing or additional:
            raise _Difference(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\n"
                f"Additional keys in the actual mapping: {additional}"
            )
        _compare_items(sorted(actual.keys(), key=str), actual, expected, options)
    elif actual is None or expected is None:
        if actual is not expected:
            raise _Difference(f"None mismatch: {actual} is not {expected}")
    elif isinstance(actual, (bool, np.bool_)) and isinstance(expected, (bool, np.bool_)):
        if bool(actual) is not bool(expected):
            raise _Difference(f"Booleans mismatch: {bool(actual)} is not {bool(expected)}")
    elif isinstance(actual, numbers.Number) and isinstance(expected, numbers.Number):
        _compare_numbers(actual, expected, options)
    else:
        _compare_tensors(*_tensors_of(actual, expected, options), options)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _compare_items(keys: Any, actual: Any, expected: Any, options: _Options) -> None:
    for key in keys:
        try:
            _compare(actual[key], expected[key], options)
        except _Difference as difference:
            difference.path.insert(0, key)
            raise


def _compare_numbers(actual: Any, expected: Any, options: _Options) -> None:
    actual = actual.item() if isinstance(actual, np.generic) else actual
    expected = expected.item() if isinstance(expected, np.generic) else expected
    if options.check_dtype and type(actual) is not type(expected):
        raise _Difference(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    names = [_NUMBER_DTYPES.get(type(value), "float64") for value in (actual, expected)]
    rtol, atol = options.tolerances(*names)
    _compare_scalars(actual, expected, rtol, atol, options.equal_nan)


def _compare_scalars(actual: Any, expected: Any, rtol: float, atol: float, equal_nan: bool) -> None:
    if actual == expected or (equal_nan and actual != actual and expected != expected):
        return
    distance = abs(actual - expected)
    if distance <= atol + rtol * abs(expected) and distance != float("inf"):
        return
    exact = rtol == atol == 0
    relative = distance / abs(expected) if expected != 0 else float("inf")
    raise _Difference(
        f"Scalars are not {'equal' if exact else 'close'}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {distance}{'' if exact else f' (up to {atol} allowed)'}\n"
        f"Relative difference: {relative}{'' if exact else f' (up to {rtol} allowed)'}"
    )


def _tensors_of(actual: Any, expected: Any, options: _Options) -> tuple[Any, Any]:
    """Return both as tensors.

    Raises
    ------
    TypeError
        If they are no arrays or tensors, or not of related types.
    """
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if related and (options.allow_subclasses or type(actual) is type(expected)):
        try:
            return as_tensor(actual), as_tensor(expected)
        except (TypeError, ValueError, RuntimeError):
            pass
    raise TypeError(
        f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
    )


def _compare_tensors(actual: Any, expected: Any, options: _Options) -> None:
    facts = [("shape", actual.shape, expected.shape)]
    if options.check_layout:
        facts.append(("layout", actual.layout, expected.layout))
    if options.check_device:
        facts.append(("device", actual.device, expected.device))
    if options.check_dtype:
        facts.append(("dtype", actual.dtype, expected.dtype))
    if options.check_stride:
        facts.append(("stride()", actual.stride(), expected.stride()))
    for name, one, other in facts:
        if one != other:
            raise _Difference(f"The values for attribute {name!r} do not match: {one} != {other}.")
    if actual.is_meta or expected.is_meta:
        return
    if actual.layout is strided and expected.layout is strided:
        _compare_dense(actual, expected, options)
    elif actual.layout is not expected.layout:
        _compare_dense(actual.detach().to_dense(), expected.detach().to_dense(), options)
    else:
        _compare_sparse(actual.detach(), expected.detach(), options)


def _compare_sparse(actual: Any, expected: Any, options: _Options) -> None:
    """Compare tensors of one sparse layout: indices have to be equal, and values close."""
    layout = actual.layout
    kind = f"Sparse {layout.name.removeprefix('sparse_').upper()}"
    if actual._nnz() != expected._nnz():
        raise _Difference(
            f"The number of specified values in {kind[0].lower()}{kind[1:]} tensors does not match: {actual._nnz()} != "
            f"{expected._nnz()}"
        )
    names = {
        sparse_coo: ("_indices", "_values"),
        sparse_csr: ("crow_indices", "col_indices", "values"), sparse_bsr: ("crow_indices", "col_indices", "values"),
        sparse_csc: ("ccol_indices", "row_indices", "values"), sparse_bsc: ("ccol_indices", "row_indices", "values"),
    }[layout]  # fmt: skip
    for name in names:
        _compare_dense(getattr(actual, name)(), getattr(expected, name)(), options, f"{kind} {name.lstrip('_')}")


def _compare_dense(actual: Any, expected: Any, options: _Options, what: str = "Tensor-likes") -> None:
    if "indices" in what:
        rtol, atol = 0.0, 0.0
    else:
        rtol, atol = options.tolerances(actual.dtype.name, expected.dtype.name)
    one, other = _array(actual), _array(expected)
    if actual.dtype is not expected.dtype:
        common = promote_types(actual.dtype, expected.dtype).np
        one, other = one.astype(common), other.astype(common)
    if one.dtype.kind in "biu" and one.dtype != np.uint64:
        one, other = one.astype(np.int64), other.astype(np.int64)
    with np.errstate(all="ignore"):
        _compare_arrays(one, other, rtol, atol, options.equal_nan, what)


def _array(tensor: TensorBase) -> Any:
    return host_array(tensor)


def _compare_arrays(actual: Any, expected: Any, rtol: float, atol: float, equal_nan: bool, what: str) -> None:
    exact = rtol == atol == 0
    close = actual == expected
    if equal_nan:
        close |= (actual != actual) & (expected != expected)
    distances = np.abs(actual - expected)
    if not exact:
        sizes = np.abs(expected)
        allowed = np.add(atol, rtol * sizes.astype(_working_dtype(sizes)))
        close |= (distances.astype(_working_dtype(distances)) <= allowed) & np.isfinite(sizes)
    if np.all(close):
        return
    if actual.ndim == 0:
        _compare_scalars(actual.item(), expected.item(), rtol, atol, equal_nan)
        return
    sizes = np.abs(expected)
    if sizes.dtype.kind in "iu":
        distances_as_float, sizes = distances.astype(np.float32), sizes.astype(np.float32)
    else:
        distances_as_float = distances
    ratios = np.divide(distances_as_float, sizes)
    wrong = int(close.size - np.count_nonzero(close))
    lines = [
        f"{what} are not {'equal' if exact else 'close'}!\n",
        f"Mismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})",
    ]
    for name, values, limit in (("absolute", distances, atol), ("relative", ratios, rtol)):
        values = np.where(close, np.zeros((), values.dtype), values)
        # NaN counts as the greatest, as it does in `argmax`.
        index = np.unravel_index(int(np.argmax(values)), values.shape)
        place = tuple([int(i) for i in index])
        value = values[index].item()
        lines.append(f"Greatest {name} difference: {value} at index {place}{'' if exact else f' (up to {limit} allowed)'}")
    raise _Difference("\n".join(lines))


def _working_dtype(array: Any) -> Any:
    """Return a dtype of enough precision to compare with a tolerance."""
    return np.float64 if array.dtype.kind in "iufV" else array.dtype


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless ``abs(actual - expected) <= atol + rtol * abs(expected)`` everywhere.

    Parameters
    ----------
    actual, expected : Tensor, array, number, or sequence or mapping of them
    allow_subclasses : bool
        Whether the types may differ when one is a subclass of the other.
    rtol, atol : float, optional
        Given both or neither.  The defaults depend on the dtype: 1.3e-6 and 1e-5 for float32, 1e-7
        both for float64, 1e-3 and 1e-5 for float16, 1.6e-2 and 1e-5 for bfloat16; integers have to
        be equal.
    equal_nan : bool
        Whether NaNs equal each other.
    check_device, check_dtype, check_layout, check_stride : bool
        Whether these have to be equal too.
    msg : str or callable, optional
        The text of the error, or a function that makes it from the default text.

    Raises
    ------
    AssertionError
        If they are not close; the text names the greatest differences and where they are.
    TypeError
        If they are nothing that can be compared.
    ValueError
        If only one of `rtol` and `atol` is given, or one is negative.

    Examples
    --------
    >>> assert_close(minitorch.tensor([1.0, 2.0]), minitorch.tensor([1.0, 2.0 + 1e-7]))
    >>> assert_close([1.0, minitorch.ones(2)], [1.0, minitorch.zeros(2)])
    Traceback (most recent call last):
        ...
    AssertionError: Tensor-likes are not close!
    <BLANKLINE>
    Mismatched elements: 2 / 2 (100.0%)
    Greatest absolute difference: 1.0 at index (0,) (up to 1e-05 allowed)
    Greatest relative difference: inf at index (0,) (up to 1.3e-06 allowed)
    <BLANKLINE>
    The failure occurred for item [1]
    """
    __tracebackhide__ = True
    options = _Options(
        rtol, atol, equal_nan=equal_nan, allow_subclasses=allow_subclasses, check_device=check_device,
        check_dtype=check_dtype, check_layout=check_layout, check_stride=check_stride,
    )
    text = None
    try:
        _compare(actual, expected, options)
    except _Difference as difference:
        text = difference.text
        if difference.path:
            text += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in difference.path)}"
    if text is not None:
        raise AssertionError(text if msg is None else msg(text) if callable(msg) else msg)
