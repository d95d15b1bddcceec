"""`infer_schema` (spec L11)."""

# ruff: noqa: UP006, UP007, UP035, UP045, B006 - the spellings of `typing` are what is tested

from __future__ import annotations

import collections.abc
import typing
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import pytest

import minitorch
from minitorch import Tensor
from minitorch.dispatch.schema_parser import parse_schema
from minitorch.library import infer_schema

Number = Union[int, float, bool]


def every_base(
    x: Tensor,
    n: int,
    f: float,
    b: bool,
    s: str,
    num: Number,
    d: minitorch.dtype,
    dev: minitorch.device,
) -> Tensor: ...


def every_optional(
    x: Optional[Tensor],
    n: Optional[int],
    f: float | None,
    b: Optional[bool],
    s: Optional[str],
    num: Optional[Number],
    d: Optional[minitorch.dtype],
    dev: Optional[minitorch.device],
) -> None: ...


def every_list(
    a: List[Tensor],
    b: Sequence[Tensor],
    c: list[Optional[Tensor]],
    d: List[int],
    e: collections.abc.Sequence[float],
    f: list[bool],
    g: Sequence[Number],
) -> List[Tensor]: ...


def every_optional_list(
    a: Optional[List[int]], b: Optional[Sequence[float]], c: list[bool] | None
) -> Tuple[Tensor, int, float, bool, Number]: ...


def defaults(
    x: Tensor,
    n: int = 3,
    f: float = 1.5,
    b: bool = True,
    s: str = 'a"b',
    o: Optional[int] = None,
    d: minitorch.dtype = minitorch.float32,
    dev: minitorch.device = minitorch.device("cpu"),
) -> Tuple[Tensor]: ...


def keyword_only(x: Tensor, *, y: Tensor, n: int = 1) -> int: ...


def no_arguments() -> tuple[Tensor, list[Tensor]]: ...


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (
            every_base,
            "(Tensor x, SymInt n, float f, bool b, str s, Scalar num, ScalarType d, Device dev)"
            " -> Tensor",
        ),
        (
            every_optional,
            "(Tensor? x, SymInt? n, float? f, bool? b, str? s, Scalar? num, ScalarType? d,"
            " Device? dev) -> ()",
        ),
        (
            every_list,
            "(Tensor[] a, Tensor[] b, Tensor?[] c, SymInt[] d, float[] e, bool[] f, Scalar[] g)"
            " -> Tensor[]",
        ),
        (
            every_optional_list,
            "(SymInt[]? a, float[]? b, bool[]? c) -> (Tensor, SymInt, float, bool, Scalar)",
        ),
        (
            defaults,
            '(Tensor x, SymInt n=3, float f=1.5, bool b=True, str s="a\\"b", SymInt? o=None,'
            ' ScalarType d=float32, Device dev="cpu") -> ((Tensor))',
        ),
        (keyword_only, "(Tensor x, *, Tensor y, SymInt n=1) -> SymInt"),
        (no_arguments, "() -> (Tensor, Tensor[])"),
    ],
)
def test_type_map(fn, expected):
    text = infer_schema(fn, mutates_args=())
    assert text == expected
    parse_schema(f"f{text}")


def test_name():
    assert infer_schema(no_arguments, mutates_args=(), op_name="foo").startswith("foo() -> ")


def mutable(x: Tensor, y: Tensor, z: Optional[Tensor], ts: List[Tensor], n: int) -> Tensor: ...


@pytest.mark.parametrize(
    ("mutates_args", "expected"),
    [
        ({"y"}, "Tensor x, Tensor(a1!) y, Tensor? z, Tensor[] ts"),
        (("y", "x"), "Tensor(a0!) x, Tensor(a1!) y, Tensor? z, Tensor[] ts"),
        (["z"], "Tensor x, Tensor y, Tensor(a2!)? z, Tensor[] ts"),
        (["ts"], "Tensor x, Tensor y, Tensor? z, Tensor(a3!)[] ts"),
        ("unknown", "Tensor(a0!) x, Tensor(a1!) y, Tensor(a2!)? z, Tensor(a3!)[] ts"),
    ],
)
def test_mutated_arguments(mutates_args, expected):
    text = infer_schema(mutable, mutates_args=mutates_args)
    assert text == f"({expected}, SymInt n) -> Tensor"


def refused(x):
    """A bundle of functions that have no schema, by what is wrong."""

    def no_annotation(x, n: int) -> Tensor: ...
    def no_return(x: Tensor): ...
    def tuple_argument(x: Tuple[int, int]) -> Tensor: ...
    def dict_argument(x: Dict[str, int]) -> Tensor: ...
    def varargs(*x: Tensor) -> Tensor: ...
    def varkwargs(**x: Tensor) -> Tensor: ...
    def positional_only(x: Tensor, /) -> Tensor: ...
    def anything(x: Any) -> Tensor: ...
    def list_of_str(x: List[str]) -> Tensor: ...
    def list_of_lists(x: List[List[int]]) -> Tensor: ...
    def optional_tensor_list(x: Optional[List[Tensor]]) -> Tensor: ...
    def some_union(x: Union[int, str]) -> Tensor: ...
    def str_return(x: Tensor) -> str: ...
    def optional_return(x: Tensor) -> Optional[Tensor]: ...
    def int_list_return(x: Tensor) -> List[int]: ...
    def open_tuple_return(x: Tensor) -> Tuple[Tensor, ...]: ...
    def list_default(x: List[int] = [1]) -> Tensor: ...
    def infinite_default(x: float = float("inf")) -> Tensor: ...

    return locals()[x]


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ("no_annotation", "Parameter x must have a type annotation"),
        ("no_return", "No return type annotation"),
        ("tuple_argument", "Parameter x has unsupported type.*tuples cannot be arguments"),
        ("dict_argument", "Parameter x has unsupported type"),
        ("varargs", "positional-only args, varargs, or varkwargs"),
        ("varkwargs", "positional-only args, varargs, or varkwargs"),
        ("positional_only", "positional-only args, varargs, or varkwargs"),
        ("anything", "Parameter x has unsupported type"),
        ("list_of_str", "unsupported type"),
        ("list_of_lists", "unsupported type"),
        ("optional_tensor_list", "unsupported type"),
        ("some_union", "unsupported type"),
        ("str_return", "Return has unsupported type str"),
        ("optional_return", "Return has unsupported type"),
        ("int_list_return", "Return has unsupported type"),
        ("open_tuple_return", "Return has unsupported type"),
        ("list_default", "unsupported default value"),
        ("infinite_default", "unsupported default value inf"),
    ],
)
def test_refused(which, message):
    with pytest.raises(ValueError, match=message) as caught:
        infer_schema(refused(which), mutates_args=())
    assert "Got func with signature (" in str(caught.value)


def test_refused_mutations():
    with pytest.raises(ValueError, match=r"\['q'\] in mutates_args were not found"):
        infer_schema(mutable, mutates_args={"q"})
    with pytest.raises(ValueError, match="only Tensors or collections of Tensors"):
        infer_schema(mutable, mutates_args={"n"})
    with pytest.raises(ValueError, match="a sequence of the names"):
        infer_schema(mutable, mutates_args="x")


@pytest.mark.oracle
def test_agrees_with_the_reference():
    torch = pytest.importorskip("torch")
    names = {"Tensor": torch.Tensor, "Number": Number, "minitorch": torch, **vars(typing)}
    names["collections"] = collections
    for fn in (every_base, every_optional, every_list, every_optional_list, keyword_only):
        theirs = type(fn)(fn.__code__, names, fn.__name__)
        theirs.__annotations__ = fn.__annotations__
        theirs.__kwdefaults__ = fn.__kwdefaults__
        assert infer_schema(fn, mutates_args=()) == torch.library.infer_schema(
            theirs, mutates_args=()
        )
