"""Custom operators (spec L9, L10, L12)."""

from __future__ import annotations

import pytest

import minitorch
from minitorch import Tensor
from minitorch.dispatch.keys import parse_key
from minitorch.dispatch.local_state import SetExcludedGuard
from minitorch.dispatch.namespace import ops
from minitorch.dispatch.operator import OPERATORS
from minitorch.library import Tag, custom_op, register_autocast, register_kernel


def values(tensor) -> list:
    """Return a tensor's elements as a list."""
    return tensor.tolist()


@pytest.fixture
def double(make_op):
    @make_op("double")
    def double(x: Tensor, n: int = 2) -> Tensor:
        return x * n

    return double


def test_the_schema_comes_from_the_hints(double):
    assert str(double._opoverload._schema) == "testing::double(Tensor x, SymInt n=2) -> Tensor"
    assert repr(double) == "<CustomOpDef(testing::double)>"
    assert Tag.pt2_compliant_tag in double._opoverload.tags


def test_calls(double):
    x = minitorch.tensor([1.0, 2.0])
    assert values(double(x)) == [2.0, 4.0]
    assert values(double(x, n=3)) == [3.0, 6.0]
    assert values(ops.testing.double(x, 4)) == [4.0, 8.0]
    with pytest.raises(RuntimeError, match="Expected a value of type 'int'"):
        double(x, "n")


def test_registered_levels(make_op, double):
    def mutate(x: Tensor) -> None:
        x.add_(1)

    writing = make_op("mutate", mutate, mutates_args={"x"})
    for definition, has_bookkeeping in ((double, False), (writing, True)):
        op = definition._opoverload
        for key in ("Meta", "CompositeExplicitAutograd", "Autograd"):
            assert op.has_kernel_for_dispatch_key(key)
        assert op.has_kernel_for_dispatch_key("ADInplaceOrView") is has_bookkeeping


def test_names_are_checked():
    for name in ("double", "a::b::c"):
        with pytest.raises(ValueError, match="namespace::name"):
            custom_op(name, lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")


def test_an_explicit_schema_must_agree_with_mutates_args(make_op):
    with pytest.raises(ValueError, match=r"says that the op mutates \['x'\]"):
        make_op("f", lambda x: x, schema="(Tensor(a!) x) -> Tensor")
    with pytest.raises(ValueError, match=r"says that the op mutates \[\]"):
        make_op("f", lambda x: x, mutates_args={"x"}, schema="(Tensor x) -> Tensor")
    assert not hasattr(ops.testing, "f")
    make_op("f", lambda x: x.clone(), schema="(Tensor x) -> Tensor")
    make_op("g", lambda x: None, mutates_args="unknown", schema="(Tensor(a!) x) -> ()")


def test_keyword_only_tensors_are_refused(make_op):
    with pytest.raises(NotImplementedError, match="kwarg-only Tensor args"):
        make_op("f", lambda x, *, y: x, schema="(Tensor x, *, Tensor y) -> Tensor")


def test_defining_again_replaces_the_whole_operator(make_op, double):
    double.register_kernel("meta", lambda x, n=2: x)
    again = make_op("double", lambda x: x + 7, schema="(Tensor x) -> Tensor")
    x = minitorch.tensor([1.0])
    assert values(ops.testing.double(x)) == [8.0]
    assert values(double(x)) == [8.0]
    assert str(again._opoverload._schema) == "testing::double(Tensor x) -> Tensor"
    with pytest.raises(RuntimeError, match="no fake impl"):
        again(minitorch.ones(1, device="meta"))


# -- aliasing --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fn", "returns"),
    [
        (lambda x: x, "Tensor"),
        (lambda x: x.view(-1), "Tensor"),
        (lambda x: (y := x.clone(), y), "(Tensor, Tensor)"),
        (lambda x: (y := x.clone(), y.view(-1)), "(Tensor, Tensor)"),
        (lambda x: [x.clone(), x], "Tensor[]"),
    ],
)
def test_outputs_may_not_alias(make_op, fn, returns):
    op = make_op("f", fn, schema=f"(Tensor x) -> {returns}")
    with pytest.raises(RuntimeError, match="may not alias any inputs"):
        op(minitorch.ones(2))


def test_a_mutated_input_may_not_be_returned(make_op):
    schema = "(Tensor(a!) x) -> Tensor(a!)"
    plain = make_op("f", lambda x: x.add_(1), mutates_args={"x"}, schema=schema)
    with pytest.raises(RuntimeError, match="may not alias"):
        plain(minitorch.ones(2))
    tagged = make_op("g", lambda x: x.add_(1), mutates_args={"x"}, schema=schema, tags=Tag.inplace)
    x = minitorch.ones(2)
    assert tagged(x) is x


def test_views_may_alias(make_op):
    view = make_op("f", lambda x: x.view(-1), schema="(Tensor(a) x) -> Tensor(a)")
    assert view(minitorch.ones(2, 2)).shape == (4,)


def test_out(make_op):
    op = make_op(
        "f",
        lambda x, *, out: out.copy_(x),
        mutates_args={"out"},
        schema="(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
        tags=(Tag.out,),
    )
    out = minitorch.zeros(2)
    assert op(minitorch.ones(2), out=out) is out
    assert values(out) == [1.0, 1.0]


# -- mutation --------------------------------------------------------------------------


def test_versions_of_written_arguments_are_bumped(make_op):
    def mutate(x: Tensor, ys: list[Tensor], z: Tensor) -> None:
        x.add_(1)

    op = make_op("f", mutate, mutates_args={"x", "ys"})
    x, y, z = minitorch.ones(2), minitorch.ones(2), minitorch.ones(2)
    assert op(x, [y], z) is None
    assert values(x) == [2.0, 2.0]
    assert x._version > 0
    assert y._version == 1
    assert z._version == 0


# -- devices ---------------------------------------------------------------------------


def test_kernels_by_device(make_op):
    @make_op("f", device_types="cpu")
    def f(x: Tensor) -> Tensor:
        return x + 1

    x = minitorch.ones(2)
    assert values(f(x)) == [2.0, 2.0]
    assert f._opoverload.has_kernel_for_dispatch_key("CPU")
    assert not f._opoverload.has_kernel_for_dispatch_key("CompositeExplicitAutograd")
    f.register_kernel("cpu")(lambda x: x + 2)
    assert values(f(x)) == [3.0, 3.0]
    register_kernel(f, ["cuda", "cpu"], lambda x: x + 3)
    assert values(f(x)) == [4.0, 4.0]
    assert f._opoverload.has_kernel_for_dispatch_key("CUDA")
    with f.set_kernel_enabled("cpu", False):
        assert values(f(x)) == [2.0, 2.0]
    assert values(f(x)) == [4.0, 4.0]
    with (
        pytest.raises(RuntimeError, match="no kernel registered for xpu"),
        f.set_kernel_enabled("xpu"),
    ):
        pass


def test_operators_without_tensors_route_by_device(make_op):
    def fill(n, device):
        return minitorch.ones(n, device=device)

    op = make_op("f", fill, device_types="cpu", schema="(int n, Device device) -> Tensor")
    assert values(op(2, "cpu")) == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="does not have a kernel registered for meta"):
        op(2, device="meta")
    op.register_kernel("meta", fill)
    assert op(2, "meta").device.type == "meta"
    anywhere = make_op("g", lambda n: minitorch.ones(n), schema="(int n) -> Tensor")
    assert values(anywhere(1)) == [1.0]


@pytest.mark.parametrize(
    "schema",
    [
        "(int n) -> Tensor",
        "(int n, Device dev) -> Tensor",
        "(int n, Device? device=None) -> Tensor",
    ],
)
def test_operators_without_tensors_need_a_device_argument(make_op, schema):
    with pytest.raises(ValueError, match="are required to have a `device"):
        make_op("f", lambda *args: None, device_types="cpu", schema=schema)
    assert not hasattr(ops.testing, "f")


# -- fake impls ------------------------------------------------------------------------


def test_fake_impl_serves_meta_tensors(double):
    x = minitorch.ones(2, device="meta")
    with pytest.raises(RuntimeError, match=r"no fake impl registered.*double\.register_fake"):
        double(x)

    @double.register_fake
    def fake(x, n=2):
        return minitorch.empty_like(x)

    assert double(x).shape == (2,)
    double.register_fake(lambda x, n=2: minitorch.empty(n, device="meta"))
    assert double(x, 5).shape == (5,)


def test_trivial_fake_impls(make_op):
    x = minitorch.ones(2, device="meta")
    writes = make_op("f", lambda x: None, mutates_args={"x"}, schema="(Tensor(a!) x) -> ()")
    assert writes(x) is None
    inplace = make_op(
        "g",
        lambda x: x,
        mutates_args={"x"},
        schema="(Tensor(a!) x) -> Tensor(a!)",
        tags=(Tag.inplace,),
    )
    assert inplace(x) is x
    out = make_op(
        "h",
        lambda x, *, out: out,
        mutates_args={"out"},
        schema="(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
        tags=(Tag.out,),
    )
    y = minitorch.ones(2, device="meta")
    assert out(x, out=y) is y


# -- autocast and torch_dispatch -------------------------------------------------------


@pytest.fixture
def autocast_on():
    return lambda: SetExcludedGuard(parse_key("AutocastCPU"), False)


def test_autocast_casts_floating_tensors_of_its_device(make_op, autocast_on):
    seen = []

    def f(x: Tensor, ys: list[Tensor], n: int) -> Tensor:
        seen.append([t.dtype for t in (x, *ys)])
        return x.clone()

    op = make_op("f", f)
    op.register_autocast("cpu", minitorch.bfloat16)
    x = minitorch.ones(2)
    ys = [x.to(minitorch.float64), x.to(minitorch.int64), x.to(minitorch.float16)]
    op(x, ys, 1)
    with autocast_on():
        assert op(x, ys, 1).dtype is minitorch.bfloat16
    kept = [minitorch.float64, minitorch.int64]
    assert seen == [
        [minitorch.float32, *kept, minitorch.float16],
        [minitorch.bfloat16, *kept, minitorch.bfloat16],
    ]


def test_autocast_of_a_raw_operator(library, autocast_on):
    lib = library()
    lib.define("f(Tensor x, *, int n=0) -> Tensor")
    lib.impl("f", lambda x, *, n=0: x.clone(), "CompositeExplicitAutograd")
    register_autocast("testing::f", "cpu", minitorch.float16, lib=lib)
    with autocast_on():
        assert ops.testing.f(minitorch.ones(2)).dtype is minitorch.float16
        with pytest.raises(RuntimeError, match="keyword-only arguments"):
            ops.testing.f(minitorch.ones(2), n=1)
    with pytest.raises(ValueError, match="expected a dtype"):
        register_autocast("testing::f", "cpu", "float16", lib=lib)
    with pytest.raises(ValueError, match="no autocast for the device type 'meta'"):
        register_autocast("testing::f", "meta", minitorch.float16, lib=lib)


def test_torch_dispatch_rules_replace_each_other(double):
    class Mode:
        pass

    double.register_torch_dispatch(Mode, lambda *args: 1)

    @double.register_torch_dispatch(Mode)
    def newest(mode, func, types, args, kwargs):
        return 2

    assert double._opoverload.torch_dispatch_rules == {Mode: newest}


def test_a_destroyed_operator_is_not_mistaken_for_a_new_one_of_its_name(make_op, library):
    def f(x: Tensor) -> Tensor:
        return x.clone()

    make_op("f", f)._lib._destroy()
    lib = library()
    lib.define("f(Tensor x) -> Tensor")
    register_autocast("testing::f", "cpu", minitorch.float16, lib=lib)
    assert "AutocastCPU" in OPERATORS["testing::f"].kernels
    lib._destroy()
    assert "testing::f" not in OPERATORS
