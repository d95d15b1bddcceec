"""Promotion: the lattice of types, and the rule of categories over operands."""

import itertools

import numpy as np
import pytest

from minitorch.core import dtype as dt
from minitorch.core.promotion import can_cast, promote_types, result_type, result_type_of_two

ALL = list(dt.DTYPES.values())
NAMES = {
    "b": "bool", "B": "uint8", "i": "int8", "s": "int16", "w": "int32", "l": "int64",
    "h": "float16", "g": "bfloat16", "f": "float32", "d": "float64",
    "F": "complex64", "D": "complex128", "H": "uint16", "W": "uint32", "L": "uint64",
    ".": None,
}  # fmt: skip

# A row and a column for each type; "." where the pair does not promote.
TABLE = """
  b B i s w l h g f d F D H W L
b b B i s w l h g f d F D . . .
B B B s s w l h g f d F D . . .
i i s i s w l h g f d F D . . .
s s s s s w l h g f d F D . . .
w w w w w w l h g f d F D . . .
l l l l l l l h g f d F D . . .
h h h h h h h h f f d F D h h h
g g g g g g g f g f d F D g g g
f f f f f f f f f f d F D f f f
d d d d d d d d d d d D D d d d
F F F F F F F F F F D F D . . .
D D D D D D D D D D D D D . . .
H . . . . . . h g f d . . H . .
W . . . . . . h g f d . . . W .
L . . . . . . h g f d . . . . L
"""


def table_rows():
    header, *rows = [line.split() for line in TABLE.strip().splitlines()]
    for first, *results in rows:
        for second, result in zip(header, results, strict=True):
            yield NAMES[first], NAMES[second], NAMES[result]


def promoted(a, b):
    try:
        return promote_types(dt.DTYPES[a], dt.DTYPES[b]).name
    except RuntimeError:
        return None


def test_promote_types_is_the_table():
    wrong = [
        (a, b, promoted(a, b)) for a, b, expected in table_rows() if promoted(a, b) != expected
    ]
    assert not wrong


def test_refusal_says_which_types():
    with pytest.raises(RuntimeError, match=r"Promotion for uint16, .* to promote UInt16 and Char"):
        promote_types(dt.uint16, dt.int8)
    with pytest.raises(RuntimeError, match=r"Promotion for Float8 .* to promote Float8_e5m2 and Float"):
        promote_types(dt.float8_e5m2, dt.float32)


@pytest.mark.parametrize("name", [n for n in dt.DTYPES if n.startswith("float8")])
def test_float8_promotes_with_itself_only(name):
    for other in dt.DTYPES:
        assert promoted(name, other) == (name if other == name else None)


def test_can_cast_looks_at_kinds_only():
    assert can_cast(dt.float64, dt.float16)
    assert can_cast(dt.int64, dt.uint8)
    assert can_cast(dt.bool_, dt.int8)
    assert not can_cast(dt.float16, dt.int64)
    assert not can_cast(dt.complex64, dt.float64)
    assert not can_cast(dt.int8, dt.bool_)


def array(name, ndim=1):
    return np.zeros((1,) * ndim, dt.DTYPES[name].np)


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ((array("float32"), array("float64", 0)), "float32"),
        ((array("int32"), array("int64", 0)), "int32"),
        ((array("int32"), array("float64", 0)), "float64"),
        ((array("float16", 0), array("float32", 0)), "float32"),
        ((array("int64"), 1.5), "float32"),
        ((array("uint8"), 300), "uint8"),
        ((array("bool"), 1), "int64"),
        ((array("bool"), True), "bool"),
        ((array("float16"), 2j), "complex64"),
        ((array("float64"), 2j), "complex128"),
        ((array("float64", 0), 2j), "complex128"),
        ((array("complex64"), 1.0), "complex64"),
        ((array("uint16"), 1), "uint16"),
        ((array("bfloat16"), array("float16", 0)), "bfloat16"),
        ((1, 2), "int64"),
        ((1, 2.0), "float32"),
        ((True, 2j), "complex64"),
        ((array("int8"), array("int16", 0), 2.0), "float32"),
        ((array("int8", 0), array("float64", 0), array("int16")), "float64"),
        ((array("bool"), array("int8", 0), array("int16", 0)), "int16"),
    ],
)
def test_result_type(operands, expected):
    expected = dt.DTYPES[expected].np
    assert result_type(*operands) == expected
    assert result_type(*reversed(operands)) == expected
    if len(operands) == 2:
        assert result_type_of_two(*operands) == expected
        assert result_type_of_two(*reversed(operands)) == expected


def test_result_type_follows_the_default_dtype():
    assert result_type(array("int64"), 1.5) == np.float32
    dt.set_default_dtype(dt.float64)
    try:
        assert result_type(array("int64"), 1.5) == np.float64
        assert result_type_of_two(array("int64"), 1.5) == np.float64
        assert result_type(2j) == np.complex128
    finally:
        dt.set_default_dtype(dt.float32)
    assert result_type(array("int64"), 1.5) == np.float32


def test_result_type_wants_operands():
    with pytest.raises(TypeError, match="at least one operand"):
        result_type()
    with pytest.raises(TypeError, match="array or a number"):
        result_type("text")


@pytest.mark.oracle
def test_types_against_torch(torch):

    def theirs(fn, a, b):
        try:
            return fn(getattr(torch, a.name), getattr(torch, b.name))
        except RuntimeError:
            return None

    for a, b in itertools.product(ALL, repeat=2):
        expected = theirs(torch.promote_types, a, b)
        assert promoted(a.name, b.name) == (expected and str(expected).split(".")[1]), (a, b)
        assert can_cast(a, b) == theirs(torch.can_cast, a, b), (a, b)


@pytest.mark.oracle
@pytest.mark.parametrize("default", ["float32", "float64", "bfloat16"])
def test_operands_against_torch(default, torch):
    kinds = [(d, n) for d in ALL for n in (0, 1)] + [True, 3, 2.5, 2j]
    ours_of = {k: k if not isinstance(k, tuple) else array(k[0].name, k[1]) for k in kinds}
    theirs_of = {
        k: k
        if not isinstance(k, tuple)
        else torch.empty((1,) * k[1], dtype=getattr(torch, k[0].name))
        for k in kinds
    }
    dt.set_default_dtype(dt.DTYPES[default])
    torch.set_default_dtype(getattr(torch, default))
    try:
        for a, b in itertools.product(kinds, repeat=2):
            try:
                expected = str(torch.result_type(theirs_of[a], theirs_of[b])).split(".")[1]
            except RuntimeError:
                expected = None
            if expected == "complex32":  # NumPy has none
                expected = "complex64"
            for fn in (result_type, result_type_of_two):
                try:
                    found = dt.from_numpy_dtype(fn(ours_of[a], ours_of[b])).name
                except RuntimeError:
                    found = None
                assert found == expected, (a, b)
    finally:
        dt.set_default_dtype(dt.float32)
        torch.set_default_dtype(torch.float32)
