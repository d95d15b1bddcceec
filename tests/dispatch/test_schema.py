"""Schemas: the grammar (spec S1 to S8), matching a call (S9, S10), conversion (X2, X3)."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minitorch.core.dtype as dtypes
from minitorch.core.device import device
from minitorch.core.layout import strided
from minitorch.core.memory_format import channels_last, contiguous_format
from minitorch.dispatch.schema import Type, dispatch_positions
from minitorch.dispatch.schema_matching import accept_type, match, with_defaults
from minitorch.dispatch.schema_parser import parse_schema

# -- grammar -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "foo() -> ()",
        "foo(Tensor x) -> (Tensor a, int b)",
        "foo(Tensor(a -> *) x) -> Tensor(a)[]",
        "foo(Tensor?[] xs) -> Tensor",
        "foo(Tensor[]? xs) -> Tensor",
        "foo(Tensor(a!)? x) -> ()",
        "foo(Tensor x, ...) -> ...",
        "foo(*, Tensor x) -> Tensor",
        "foo(int?[] x, int[]? y=None) -> ()",
        'foo(Device d="cpu") -> ()',
        "foo(int x=None) -> ()",
        "ns::foo.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        "foo(Tensor(a!)[] self, Scalar[] scalars) -> ()",
        "foo(t[](a!) self, t el) -> t[](a!)",
        "foo(Tensor?(a!)[] xs) -> ()",
        "foo(Tensor(a! -> a|b) x) -> ()",
        "foo((Tensor, int)[] x) -> ((Tensor, int))",
        "foo(Tensor x) -> ((Tensor))",
        "foo(Dict(str, Tensor) x, Future(t) y) -> RRef(t)?",
        "foo(Tensor[][] x) -> int[]",
        "foo(int[2] x=1, int[2] y=[1, 2], int[1] z=[0], SymInt[2] w=[0, 0]) -> ()",
        "foo(float x=1., Scalar y=1, Scalar z=0.5, float w=1e-05, bool b=True) -> ()",
        'foo(str x="a\\"b", str? y=None, str[] z=["u,v", "="]) -> ()',
        "foo(Generator g, Stream s, Storage t, QScheme q, Any a, complex c) -> ()",
    ],
)
def test_accepted_schemas_print_as_they_were_written(text):
    assert str(parse_schema(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("foo", "only an operator name"),
        ("foo(Tensor x)", "expected '->'"),
        ("foo(Tensor) -> Tensor", "expected a type and a name"),
        ("foo(Foo x) -> ()", "unknown type 'Foo'"),
        ("foo(Tensor(a!->a!) x) -> ()", "alias sets"),
        ("foo(Tensor x=3) -> ()", "cannot have the default"),
        ("foo(int x=1, int y) -> ()", "'y' has no default"),
        ("foo.default(Tensor x) -> ()", "not a legal overload name"),
        ("foo.__x(Tensor x) -> ()", "not a legal overload name"),
        ("foo(Device d=cpu) -> ()", "cannot have the default"),
        ("foo(Dimname x) -> ()", "unknown type"),
        ("foo(SymFloat x) -> ()", "unknown type"),
        ("foo(float z=inf) -> ()", "cannot have the default"),
        # what the reference lets pass (spec 5, Simplify)
        ("foo(Tensor x, int x) -> ()", "two arguments are called 'x'"),
        ('foo(int x="a") -> ()', "cannot have the default"),
        ("foo(*, int x, *, int y) -> ()", "second '*'"),
        # malformed text
        ("", "expected an operator name"),
        ("(Tensor x) -> ()", "expected an operator name"),
        ("a::b::foo(Tensor x) -> ()", r"expected '\('"),
        ("foo(Tensor x -> ()", r"expected '\)'"),
        ("foo(int x,) -> ()", "expected a type and a name"),
        ("foo(..., int x) -> ()", "must be the last"),
        ("foo(int x) ->", "expected a return type"),
        ("foo(int x) -> () more", "expected the end"),
        ("foo(int x) -> Tensor, Tensor", "expected a type"),
        ("foo(int[] x=1) -> ()", "cannot have the default"),
        ("foo(Dict(int) x) -> ()", "takes 2 types"),
        ("foo(Tensor(a)(b) x) -> ()", "two alias annotations"),
        ("foo(int x=3 int y) -> ()", "cannot have the default"),
    ],
)
def test_rejected_schemas_say_what_is_wrong(text, message):
    with pytest.raises(RuntimeError, match=message):
        parse_schema(text)


def test_whitespace_is_insignificant():
    assert str(
        parse_schema(" ns :: foo . bar ( Tensor ( a ! ) x,int [ 2 ]n = 1 )->Tensor(a!)")
    ) == ("ns::foo.bar(Tensor(a!) x, int[2] n=1) -> Tensor(a!)")


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("foo(ScalarType d=long) -> ()", "foo(ScalarType d=4) -> ()"),
        ("foo(ScalarType d=float32) -> ()", "foo(ScalarType d=6) -> ()"),
        ("foo(Layout l=strided) -> ()", "foo(Layout l=0) -> ()"),
        ("foo(MemoryFormat m=contiguous_format) -> ()", "foo(MemoryFormat m=0) -> ()"),
        ("foo(int reduction=Mean) -> ()", "foo(int reduction=1) -> ()"),
        ("foo(int[2] x=[1, 1]) -> ()", "foo(int[2] x=1) -> ()"),
        ("foo(SymInt[2] z=0) -> ()", "foo(SymInt[2] z=[0, 0]) -> ()"),
        ("foo(Tensor(a)?[] xs) -> ()", "foo(Tensor?(a)[] xs) -> ()"),
        ("foo(Tensor(b|a) x) -> ()", "foo(Tensor(a|b) x) -> ()"),
        ("foo(str x='a') -> ()", 'foo(str x="a") -> ()'),
        ("foo(int x=1, *) -> (Tensor)", "foo(int x=1) -> Tensor"),
        ("foo(float x=1) -> ()", "foo(float x=1.) -> ()"),
    ],
)
def test_printing_normalizes(written, printed):
    assert str(parse_schema(written)) == printed
    assert str(parse_schema(printed)) == printed


def test_defaults_are_python_values():
    schema = parse_schema(
        'f(ScalarType a=long, Layout b=strided, MemoryFormat c=contiguous_format, Device d="cpu",'
        ' int[3] e=2, float f=1, Scalar g=1, str h="x", Tensor? i=None, bool j=False) -> ()'
    )
    assert [a.default for a in schema.arguments] == [
        dtypes.int64,
        strided,
        contiguous_format,
        device("cpu"),
        [2, 2, 2],
        1.0,
        1,
        "x",
        None,
        False,
    ]
    assert all(a.has_default for a in schema.arguments)


def test_alias_sets_are_queryable():
    schema = parse_schema(
        "f(Tensor(a) p, Tensor(b!) q, Tensor(c -> *) r, Tensor(d|e) s, Tensor(f! -> g) t, Tensor u)"
        " -> Tensor(b!) out"
    )
    infos = [a.alias_info for a in schema.arguments]
    assert [(i.before_set, i.after_set, i.is_write) for i in infos[:5]] == [
        ({"a"}, {"a"}, False),
        ({"b"}, {"b"}, True),
        ({"c"}, {"*"}, False),
        ({"d", "e"}, {"d", "e"}, False),
        ({"f"}, {"g"}, True),
    ]
    assert infos[5] is None
    assert schema.returns[0].alias_info.is_write
    assert schema.returns[0].name == "out"


def test_alias_info_of_a_list_has_that_of_its_elements():
    info = parse_schema("f(Tensor(a!)[] xs) -> ()").arguments[0].alias_info
    assert info.is_write
    assert info.before_set == frozenset()
    assert info.element.before_set == {"a"}
    assert info.sets == {"a"}


@pytest.mark.parametrize(
    ("text", "is_mutable", "is_view"),
    [
        ("f(Tensor x) -> Tensor", False, False),
        ("f(Tensor(a) x) -> Tensor(a)", False, True),
        ("f(Tensor(a!) x) -> Tensor(a!)", True, False),
        ("f(Tensor(a) x, Tensor(b!) y) -> Tensor(a)", True, False),
        ("f(Tensor(a -> *) x) -> Tensor(a)[]", False, True),
    ],
)
def test_derived_flags(text, is_mutable, is_view):
    schema = parse_schema(text)
    assert (schema.is_mutable, schema.is_view) == (is_mutable, is_view)


def test_introspection_of_arguments_and_returns():
    schema = parse_schema(
        "ns::op.out(Tensor self, int[2]? size=None, *, ScalarType dtype=float, Tensor(a!) out,"
        " SymInt n)"
        " -> (Tensor(a!) values, int)"
    )
    assert (schema.name, schema.overload_name, schema.full_name) == ("ns::op", "out", "ns::op.out")
    assert schema.kwarg_only_start == 2
    assert [a.kwarg_only for a in schema.arguments] == [False, False, True, True, True]
    assert [a.N for a in schema.arguments] == [None, 2, None, None, None]
    assert [a.is_out for a in schema.arguments] == [False, False, False, True, False]
    assert [a.has_default for a in schema.arguments] == [False, True, True, False, False]
    assert [str(a.type) for a in schema.arguments] == [
        "Tensor",
        "Optional[List[int]]",
        "int",
        "Tensor",
        "int",
    ]
    assert [a.real_type for a in schema.arguments[2:]] == ["ScalarType", "Tensor", "SymInt"]
    assert [(r.name, str(r.type)) for r in schema.returns] == [("values", "Tensor"), ("", "int")]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Scalar", "number"),
        ("Scalar?", "Optional[number]"),
        ("ScalarType", "int"),
        ("Layout?", "Optional[int]"),
        ("MemoryFormat", "int"),
        ("SymInt[2]?", "Optional[List[int]]"),
        ("Tensor?[]", "List[Optional[Tensor]]"),
        ("(Tensor, int)", "Tuple[Tensor, int]"),
        ("Dict(str, Tensor)", "Dict[str, Tensor]"),
    ],
)
def test_types_have_two_spellings(text, shown):
    kind = parse_schema(f"f({text} x) -> ()").arguments[0].type
    assert (kind.text, str(kind)) == (text, shown)


def test_list_types_tell_their_parts():
    kind = parse_schema("f(int?[2]? x) -> ()").arguments[0].type
    assert (kind.base, kind.is_list, kind.is_optional) == ("int", True, True)
    assert (kind.element_optional, kind.size) == (True, 2)
    assert kind.element == Type("int", is_optional=True)


def test_dispatch_positions_are_those_of_declared_tensors():
    schema = parse_schema(
        "f(int n, Tensor a, Tensor? b, Tensor[] c, Tensor?[] d, Tensor[]? e, Any f, *, Tensor g,"
        " Tensor[][] h) -> ()"
    )
    assert [schema.arguments[i].name for i in dispatch_positions(schema)] == [
        "a",
        "b",
        "c",
        "d",
        "g",
    ]


_FLOAT_DEFAULT = re.compile(r"(?<==)-?\d+(\.\d*)?(e[-+]?\d+)?(?=[,)\]])")


def _with_short_floats(text: str) -> str:
    """Spell float defaults as Python does; the reference prints 17 digits."""

    def shorter(found):
        if not (found[1] or found[2]):
            return found[0]
        value = repr(float(found[0]))
        return value[:-1] if value.endswith(".0") else value

    return _FLOAT_DEFAULT.sub(shorter, text)


@pytest.mark.oracle
def test_every_schema_of_the_reference_round_trips():
    torch = pytest.importorskip("torch")
    texts = []
    for name in torch._C._dispatch_get_all_op_names():
        if not name.startswith("aten::"):
            continue
        base, _, overload = name.partition(".")
        texts.append(str(torch._C._get_schema(base, overload)))
    # TorchScript classes, and a quote escaped without need
    texts = [t for t in texts if "__torch__" not in t and "_test_string_default" not in t]
    assert len(texts) > 3000
    different = [
        (t, str(parse_schema(t))) for t in texts if str(parse_schema(t)) != _with_short_floats(t)
    ]
    assert different == []


@pytest.mark.oracle
def test_flags_agree_with_the_reference():
    torch = pytest.importorskip("torch")
    for name in torch._C._dispatch_get_all_op_names():
        base, _, overload = name.partition(".")
        theirs = torch._C._get_schema(base, overload)
        if not name.startswith("aten::") or "__torch__" in str(theirs):
            continue
        ours = parse_schema(str(theirs))
        assert ours.is_mutable == theirs.is_mutable, name
        for mine, other in zip(ours.arguments, theirs.arguments, strict=True):
            assert str(mine.type) == str(other.type), name
            assert mine.is_out == other.is_out, name
            assert mine.is_write == (other.alias_info is not None and other.alias_info.is_write), (
                name
            )
            assert mine.N == other.N or mine.type.base != "int", name


# -- matching ------------------------------------------------------------------------

PROBE = parse_schema(
    "ns::f(Tensor x, int n=3, float s=1.0, *, int[2] d=1, Tensor? w=None) -> Tensor"
)


def normalized(*args, **kwargs):
    """Match a call of the probe schema; return what follows `x`."""
    positional, keywords = match(PROBE, "ns::f", args, kwargs)
    assert all(type(v) in (int, float) for v in positional[1:])
    return positional[1:], keywords


def test_probe_of_default_stripping_and_conversion(bare):
    x = bare("cpu")
    assert normalized(x) == ((), {})
    assert normalized(x, 3) == ((), {})
    assert normalized(x, s=1.0, d=[1, 1]) == ((), {})
    assert normalized(x, 3, 2.0) == ((3, 2.0), {})
    assert normalized(x, n=5) == ((5,), {})
    assert normalized(x, d=7) == ((), {"d": [7, 7]})
    assert normalized(x=x, n=True) == ((1,), {})
    assert normalized(x, bare("cpu", value=4)) == ((4,), {})
    assert normalized(x, s=2) == ((3, 2.0), {})


def test_a_tensor_is_never_compared_with_a_default(bare):
    w = bare("cpu")
    assert normalized(bare("cpu"), w=w)[1]["w"] is w
    assert normalized(bare("cpu"), w=None) == ((), {})


def test_a_value_equal_to_the_default_but_of_another_type_is_kept():
    schema = parse_schema("f(Scalar a=1, *, Scalar b=1) -> ()")
    assert match(schema, "f", (1.0,), {"b": True}) == ((1.0,), {"b": True})
    assert match(schema, "f", (1,), {"b": 1}) == ((), {})


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (
            (0, 1, 2.0, 3),
            {},
            r"ns::f\(\) takes 3 positional argument\(s\) but 4 was/were given\."
            r" Declaration: ns::f\(",
        ),
        ((), {}, r"ns::f\(\) is missing value for argument 'x'\. Declaration: ns::f\("),
        ((0,), {"zz": 1}, "Unknown keyword argument 'zz' for operator 'ns::f'. Schema: ns::f"),
        ((), {"zz": 1}, "Unknown keyword argument 'zz'"),
        (
            (0,),
            {"x": 1},
            "Argument 'x' specified both as positional and keyword argument. Schema: ns::f",
        ),
        (
            (0, "a"),
            {},
            r"ns::f\(\) Expected a value of type 'int' for argument 'n' but instead found type"
            r" 'str'\."
            r"\nPosition: 1\nValue: 'a'\nDeclaration: ns::f",
        ),
        (
            (0,),
            {"w": 3},
            r"'Optional\[Tensor\]' for argument 'w' but instead found type 'int'\.\nPosition: 4",
        ),
    ],
)
def test_mismatches_raise_with_the_shape_of_the_reference(bare, args, kwargs, message):
    args = tuple(bare("cpu") if a is args[0] else a for a in args)
    with pytest.raises(RuntimeError, match=message):
        match(PROBE, "ns::f", args, kwargs)


def test_missing_keyword_only_argument():
    schema = parse_schema("ns::k(int x, *, int z) -> ()")
    with pytest.raises(RuntimeError, match=r"ns::k\(\) is missing value for argument 'z'"):
        match(schema, "ns::k", (1,), {})


def test_long_values_are_cut_in_messages():
    with pytest.raises(RuntimeError) as caught:
        match(parse_schema("f(int x) -> ()"), "f", ("a" * 5000,), {})
    assert len(str(caught.value)) < 600


_REFUSED = object()


def converted(type_text, value):
    """Pass one value to an argument; return what arrives, or `_REFUSED`."""
    schema = parse_schema(f"f({type_text} x) -> ()")
    try:
        return match(schema, "f", (value,), {})[0][0]
    except RuntimeError as error:
        assert "Expected a value of type" in str(error)  # noqa: PT017 - the text tells refusal from failure
        return _REFUSED


@pytest.mark.parametrize(
    ("type_text", "value", "expected"),
    [
        ("int", 1, 1),
        ("int", True, 1),
        ("int", np.int64(3), 3),
        ("int", 1.5, _REFUSED),
        ("int", None, _REFUSED),
        ("int", "1", _REFUSED),
        ("SymInt", 2, 2),
        ("float", 1, 1.0),
        ("float", True, 1.0),
        ("float", 1.5, 1.5),
        ("float", np.float32(1.5), 1.5),
        ("float", "1", _REFUSED),
        ("float", 1j, _REFUSED),
        ("bool", 1, True),
        ("bool", False, False),
        ("bool", "a", _REFUSED),
        ("bool", None, _REFUSED),
        ("Scalar", 1, 1),
        ("Scalar", True, True),
        ("Scalar", 1.5, 1.5),
        ("Scalar", 1j, 1j),
        ("Scalar", np.float32(1.5), 1.5),
        ("Scalar", None, _REFUSED),
        ("Scalar", "a", _REFUSED),
        ("complex", 1, 1 + 0j),
        ("str", "a", "a"),
        ("str", 1, _REFUSED),
        ("ScalarType", dtypes.float32, dtypes.float32),
        ("ScalarType", "float32", _REFUSED),
        ("ScalarType", float, _REFUSED),
        ("Device", "cpu", device("cpu")),
        ("Device", device("meta"), device("meta")),
        ("Device", 1, _REFUSED),
        ("Layout", strided, strided),
        ("Layout", "strided", _REFUSED),
        ("MemoryFormat", channels_last, channels_last),
        ("MemoryFormat", "channels_last", _REFUSED),
        ("Generator", 3, _REFUSED),
        ("int[]", [1, 2], [1, 2]),
        ("int[]", (1, True), [1, 1]),
        ("int[]", range(2), [0, 1]),
        ("int[]", np.array([1, 2]), [1, 2]),
        ("int[]", [], []),
        ("int[]", 1, _REFUSED),
        ("int[]", [1.5], _REFUSED),
        ("int[]", "ab", _REFUSED),
        ("int[2]", 7, [7, 7]),
        ("int[2]", [1, 2, 3], [1, 2, 3]),
        ("int[2]", 1.5, _REFUSED),
        ("int[1]?", 3, [3]),
        ("int[1]?", None, None),
        ("float[2]", 1.5, [1.5, 1.5]),
        ("float[]", [1, 2.5], [1.0, 2.5]),
        ("bool[2]", [True, 0], [True, False]),
        ("bool[2]", True, _REFUSED),
        ("str[]", ["a"], ["a"]),
        ("str[]", "ab", _REFUSED),
        ("Scalar[]", [1, 2.5, True], [1, 2.5, True]),
        ("int?", None, None),
        ("int?[]", [None, 1], [None, 1]),
        ("(int, str)", [1, "a"], (1, "a")),
        ("(int, str)", (1,), _REFUSED),
        ("(int, str)", (1, 2), _REFUSED),
        ("Dict(str, int)", {"a": 1}, {"a": 1}),
        ("Dict(str, int)", [], _REFUSED),
        ("Any", object, object),
        ("t", "x", "x"),
    ],
)
def test_conversion_table(type_text, value, expected):
    got = converted(type_text, value)
    assert (
        got is _REFUSED
        if expected is _REFUSED
        else (got == expected and type(got) is type(expected))
    )


def test_conversion_of_tensors(bare):
    x, number = bare("cpu"), bare("cpu", value=4)
    assert converted("Tensor", x) is x
    assert converted("Tensor", 1) is _REFUSED
    assert converted("Tensor", None) is _REFUSED
    assert converted("Tensor?", None) is None
    assert converted("Tensor[]", (x,))[0] is x
    assert converted("Tensor[]", x) is _REFUSED
    assert converted("Tensor[]", [x, None]) is _REFUSED
    assert converted("Tensor?[]", [None, x])[1] is x
    assert converted("int", number) == 4
    assert type(converted("float", number)) is float
    assert converted("bool", number) is True
    assert converted("int[]", [number, 2]) == [4, 2]
    assert converted("int", x) is _REFUSED
    assert converted("Scalar", number) is _REFUSED
    assert converted("int[2]", number) is _REFUSED
    assert converted("Any", x) is x


def test_numbers_stand_for_tensors_only_where_allowed(bare):
    schema = parse_schema("ns::add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
    x = bare("cpu")
    assert match(schema, "ns::add", (x, 2), {}, True)[0][1] == 2
    assert match(schema, "ns::add", (2.5, x), {}, True)[0][0] == 2.5
    with pytest.raises(RuntimeError, match="type 'Tensor' for argument 'other'"):
        match(schema, "ns::add", (x, 2), {})
    with pytest.raises(RuntimeError, match="type 'Tensor' for argument 'other'"):
        match(schema, "ns::add", (x, "2"), {}, True)


def test_varargs_follow_the_declared_arguments():
    schema = parse_schema("f(int n=1, ...) -> ...")
    assert match(schema, "f", (1, "a", None), {}) == ((1, "a", None), {})


def test_classes_can_be_accepted_for_a_base_type():
    class Stream:
        pass

    accept_type("Stream", Stream)
    stream = Stream()
    assert converted("Stream", stream) is stream
    assert converted("Stream", 1) is _REFUSED


def test_defaults_come_back_when_they_are_needed(bare):
    x = bare("cpu")
    args, kwargs = with_defaults(PROBE, (x,), None)
    assert args[1:] == (3, 1.0)
    assert kwargs == {"d": [1, 1], "w": None}
    assert kwargs["d"] is not PROBE.arguments[3].default
    assert with_defaults(PROBE, (x, 5), {"d": [2, 2]})[1]["d"] == [2, 2]
