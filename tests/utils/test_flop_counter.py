"""`FlopCounterMode` (spec U6)."""

from __future__ import annotations

import pytest

import minitorch
from minitorch import nn
from minitorch.dispatch.namespace import ops
from minitorch.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula

F = nn.functional
aten = ops.aten


def counts_of(fn, **options):
    with FlopCounterMode(display=False, **options) as counter:
        fn()
    return counter.get_flop_counts().get("Global", {})


def ones(*shape):
    return minitorch.ones(*shape, requires_grad=True)


def test_probes():
    with FlopCounterMode(display=False) as counter:
        minitorch.mm(minitorch.ones(2, 3), minitorch.ones(3, 4))
    assert counter.get_total_flops() == 48
    w = ones(4, 3)
    assert counts_of(lambda: F.linear(minitorch.ones(2, 3), w).sum().backward()) == {aten.mm: 96}


def test_elementwise_operators_count_nothing():
    x = minitorch.ones(8, 8)
    assert counts_of(lambda: ((x + x).exp() * x).sum()) == {}


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (lambda: minitorch.addmm(ones(4), ones(2, 3), ones(3, 4)), {aten.addmm: 48}),
        (lambda: minitorch.bmm(ones(5, 2, 3), ones(5, 3, 4)), {aten.bmm: 240}),
        (lambda: minitorch.baddbmm(ones(5, 2, 4), ones(5, 2, 3), ones(5, 3, 4)), {aten.baddbmm: 240}),
        (lambda: minitorch.einsum("ij,jk->ik", ones(2, 2), ones(2, 2)), None),
        (lambda: F.conv2d(ones(2, 4, 8, 8), ones(6, 2, 3, 3), stride=2, groups=2), {aten.convolution: 3888}),
        (lambda: F.conv_transpose2d(ones(2, 4, 8, 8), ones(4, 6, 3, 3)), {aten.convolution: 55296}),
        (
            lambda: F.conv2d(ones(2, 4, 8, 8), ones(6, 4, 3, 3)).sum().backward(),
            {aten.convolution: 31104, aten.convolution_backward: 62208},
        ),
        (
            lambda: F.conv2d(minitorch.ones(2, 4, 8, 8), ones(6, 4, 3, 3)).sum().backward(),
            {aten.convolution: 31104, aten.convolution_backward: 31104},
        ),
    ],
)
def test_formulas(fn, expected):
    found = counts_of(fn)
    if expected is None:
        assert sum(found.values()) == 16
    else:
        assert found == expected


def test_attention():
    """Two products of 5x8 and 8x5 for each of two heads, and five in backward."""
    q = ones(1, 2, 5, 8)
    found = counts_of(lambda: F.scaled_dot_product_attention(q, q, q).sum().backward())
    assert sorted(found.values()) == [1600, 4000]


def test_composite_operators_are_counted_below_autograd_too():
    x, w = minitorch.ones(2, 3), minitorch.ones(4, 3)
    with minitorch.inference_mode():
        assert sum(counts_of(lambda: F.linear(x, w)).values()) == 48


def test_modules():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    with FlopCounterMode(display=False) as counter:
        net(minitorch.ones(2, 3)).sum().backward()
    assert counter.get_total_flops() == 192
    assert counter.get_flop_counts() == {
        "Global": {aten.addmm: 80, aten.mm: 112},
        "Sequential": {aten.addmm: 80, aten.mm: 112},
        "Sequential.0": {aten.addmm: 48, aten.mm: 48},
        "Sequential.2": {aten.addmm: 32, aten.mm: 64},
    }
    lines = counter.get_table(depth=0).splitlines()
    assert [line.split()[0] for line in lines] == ["Module", "Global", "-", "-"]
    assert "192" in lines[1]
    assert "100.00%" in lines[1]
    with counter:  # a second use starts from nothing, and leaves no hooks behind
        net(minitorch.ones(2, 3))
    assert counter.get_total_flops() == 80
    net(minitorch.ones(2, 3))
    assert counter.get_total_flops() == 80


def test_a_module_that_fails_leaves_the_counter_right():
    class Fails(nn.Module):
        def forward(self, x):
            raise KeyError

    with FlopCounterMode(display=False) as counter:
        with pytest.raises(KeyError):
            Fails()(minitorch.ones(2))
        minitorch.mm(minitorch.ones(2, 2), minitorch.ones(2, 2))
    assert counter.get_flop_counts() == {"Global": {aten.mm: 16}}


def test_custom_formulas():
    x = minitorch.ones(8)
    assert counts_of(lambda: x.exp(), custom_mapping={aten.exp: lambda self, *, out: 7}) == {aten.exp: 7}
    assert counts_of(lambda: x.exp()) == {}
    register_flop_formula(aten.exp)(lambda self, *, out: out.numel())
    try:
        assert counts_of(lambda: x.exp()) == {aten.exp: 8}
    finally:
        del flop_registry[aten.exp]
    with pytest.raises(ValueError, match="expected operators"):
        register_flop_formula("exp")(lambda: 0)


def test_display(capsys):
    with FlopCounterMode():
        minitorch.mm(minitorch.ones(2, 3), minitorch.ones(3, 4))
    assert "aten.mm" in capsys.readouterr().out


PROGRAMS = {
    "a CNN": lambda lib: (
        lib.nn.Sequential(lib.nn.Conv2d(3, 4, 3), lib.nn.ReLU(), lib.nn.Flatten(), lib.nn.Linear(64, 5)),
        lib.ones(2, 3, 6, 6, requires_grad=True),
    ),
    "transposed convolution": lambda lib: (
        lib.nn.Sequential(lib.nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1), lib.nn.ReLU()),
        lib.ones(2, 3, 5, 5, requires_grad=True),
    ),
    "convolution in 3 dimensions": lambda lib: (lib.nn.Conv3d(2, 3, 2, stride=2), lib.ones(1, 2, 4, 4, 4, requires_grad=True)),
    "rows in 3 dimensions": lambda lib: (lib.nn.Linear(3, 4), lib.ones(2, 5, 3)),
    "attention": lambda lib: (Attention(lib), lib.ones(2, 5, 8)),
}  # fmt: skip


def Attention(lib):
    class Attention(lib.nn.Module):
        """By its products, which both libraries count."""

        def __init__(self):
            super().__init__()
            self.project = lib.nn.Linear(8, 24)

        def forward(self, x):
            query, key, value = self.project(x).chunk(3, -1)
            return (query @ key.transpose(1, 2)).softmax(-1) @ value

    return Attention()


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_counts_agree_with_the_reference(torch, name):
    from torch.utils.flop_counter import FlopCounterMode as Reference

    def program(lib, counter):
        net, x = PROGRAMS[name](lib)
        with counter:
            net(x).sum().backward()
        return {
            name: {str(packet): n for packet, n in counts.items()} for name, counts in counter.get_flop_counts().items()
        }

    ours = program(minitorch, FlopCounterMode(display=False))
    assert ours == program(torch, Reference(display=False))
