"""Tensors print as PyTorch's do."""

import pytest

import minitorch
from minitorch.tensor.printing import get_printoptions, printoptions, set_printoptions

INF, NAN = float("inf"), float("nan")


@pytest.fixture(autouse=True)
def default_options():
    saved = get_printoptions()
    yield
    set_printoptions(**saved)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (1, "tensor(1)"),
        (1.5, "tensor(1.5000)"),
        (3.0, "tensor(3.)"),
        (True, "tensor(True)"),
        (1 + 2j, "tensor(1.+2.j)"),
        (-0.0, "tensor(-0.)"),
        (NAN, "tensor(nan)"),
        ([], "tensor([])"),
        ([1, 2, 30], "tensor([ 1,  2, 30])"),
        ([True, False], "tensor([ True, False])"),
        ([1.0, 2.5], "tensor([1.0000, 2.5000])"),
        ([1.0, NAN, INF], "tensor([1., nan, inf])"),
        ([1.5, -INF], "tensor([1.5000,   -inf])"),
        ([1.0, 1e10], "tensor([1.0000e+00, 1.0000e+10])"),
        ([1e-5, 0.5], "tensor([1.0000e-05, 5.0000e-01])"),
        ([1.5 - 2.5j, 1j], "tensor([1.5000-2.5000j, 0.0000+1.0000j])"),
        ([[1, 2], [3, 4]], "tensor([[1, 2],\n        [3, 4]])"),
        ([[[1], [2]]], "tensor([[[1],\n         [2]]])"),
    ],
)
def test_values(data, text):
    assert repr(minitorch.tensor(data)) == text
    assert str(minitorch.tensor(data)) == text


def test_dtype_is_shown_unless_it_follows_from_the_values():
    assert (
        repr(minitorch.zeros(2, dtype=minitorch.float64)) == "tensor([0., 0.], dtype=torch.float64)"
    )
    assert repr(minitorch.zeros(2, dtype=minitorch.int32)) == "tensor([0, 0], dtype=torch.int32)"
    assert (
        repr(minitorch.ones(2).to(minitorch.bfloat16)) == "tensor([1., 1.], dtype=torch.bfloat16)"
    )
    minitorch.set_default_dtype(minitorch.float64)
    try:
        assert repr(minitorch.zeros(2)) == "tensor([0., 0.])"
    finally:
        minitorch.set_default_dtype(minitorch.float32)


def test_empty_tensors_show_their_shape():
    assert repr(minitorch.zeros(0, 3)) == "tensor([], size=(0, 3))"
    assert repr(minitorch.zeros(0, dtype=minitorch.int64)) == "tensor([], dtype=torch.int64)"


def test_meta_tensors_show_no_values():
    assert repr(minitorch.empty(2, 3, device="meta")) == "tensor(..., device='meta', size=(2, 3))"


def test_history():
    x = minitorch.ones(2, requires_grad=True)
    assert repr(x) == "tensor([1., 1.], requires_grad=True)"
    assert repr(x + 1) == "tensor([2., 2.], grad_fn=<AddBackward0>)"


def test_subclasses_show_their_name():
    class Labelled(minitorch.Tensor):
        pass

    assert repr(minitorch.ones(2).as_subclass(Labelled)) == "Labelled([1., 1.])"


def test_large_tensors_show_their_edges():
    assert repr(minitorch.arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    text = repr(minitorch.zeros(50, 50))
    assert text.count("...") == 7
    assert text.startswith("tensor([[0., 0., 0.,  ..., 0., 0., 0.],\n        [0., ")


def test_long_lines_are_broken():
    assert repr(minitorch.arange(100, 120)) == (
        "tensor([100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113,\n"
        "        114, 115, 116, 117, 118, 119])"
    )
    assert repr(minitorch.ones(9, requires_grad=True).mul(1.5)) == (
        "tensor([1.5000, 1.5000, 1.5000, 1.5000, 1.5000, 1.5000, 1.5000, 1.5000, 1.5000],\n"
        "       grad_fn=<MulBackward0>)"
    )


def test_options():
    x = minitorch.tensor([1.23456789, 0.5])
    with printoptions(precision=2):
        assert repr(x) == "tensor([1.23, 0.50])"
    with printoptions(sci_mode=True):
        assert repr(x) == "tensor([1.2346e+00, 5.0000e-01])"
    with printoptions(threshold=3, edgeitems=1):
        assert repr(minitorch.arange(5)) == "tensor([0,  ..., 4])"
    with printoptions(linewidth=20):
        assert repr(minitorch.arange(6)) == "tensor([0, 1, 2, 3,\n        4, 5])"
    set_printoptions(profile="full")
    assert "..." not in repr(minitorch.arange(2000))
    set_printoptions(profile="short")
    assert repr(x) == "tensor([1.23, 0.50])"
    set_printoptions(profile="default")
    assert repr(x) == "tensor([1.2346, 0.5000])"
    with pytest.raises(ValueError, match="no profile 'long'"):
        set_printoptions(profile="long")


def test_format_of_numbers():
    assert f"{minitorch.tensor(1.23456):.2f}" == "1.23"
    assert f"{minitorch.tensor(7):03d}" == "007"
    assert f"{minitorch.ones(2)}" == "tensor([1., 1.])"


SHAPES = [
    (2, 3),
    (2, 1, 3, 2),
    (1001,),
    (1000,),
    (7, 200),
    (3, 40, 50),
    (10, 10, 11),
    (25,),
    (1, 1),
]
NAMES = ["float32", "float64", "float16", "bfloat16", "float8_e5m2", "int64", "uint8", "bool"]
NAMES += ["complex64", "complex128"]
OPTIONS = [
    {},
    {"precision": 2},
    {"threshold": 5},
    {"edgeitems": 1},
    {"edgeitems": 0, "threshold": 3},
]
OPTIONS += [{"linewidth": 40}, {"sci_mode": True}, {"sci_mode": False}, {"precision": 0}]


@pytest.mark.oracle
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_against_torch(torch, name, options):
    generator = torch.Generator().manual_seed(0)
    torch.set_printoptions(profile="default", **options)
    set_printoptions(profile="default", **options)
    try:
        for shape in SHAPES:
            for scale in (1.0, 1e4, 1e-4, 100.0):
                base = torch.randn((*shape, 2), generator=generator, dtype=torch.float64) * scale
                if name.startswith("complex"):
                    base = torch.view_as_complex(base)
                else:
                    base = base[..., 0]
                    if name == "uint8":
                        base = base.abs().clamp(max=200)
                theirs = base.to(getattr(torch, name))
                ours = minitorch.tensor(base.numpy()).to(getattr(minitorch, name))
                if name in ("float8_e5m2", "bfloat16", "float16"):  # of the same values, however cast
                    theirs = torch.tensor(ours.float().numpy()).to(theirs.dtype)
                assert repr(ours) == repr(theirs)
    finally:
        torch.set_printoptions(profile="default")
