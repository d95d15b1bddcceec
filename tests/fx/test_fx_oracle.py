"""Programs traced by torch.fx give the same code and the same graphs as ours."""

from __future__ import annotations

import re

import pytest
from fx_programs import PROGRAMS

import minitorch
from minitorch import fx

# Where torch's functions say the C++ module that they are from, ours say the public one.
PUBLIC = {
    r"torch\._C\._nn\.": "torch.nn.functional.",
    r"torch\._C\._(fft|linalg|special)\.\1_": r"torch.\1.",
    r"torch\.functional\.": "torch.",
    r"torch\.fx\._symbolic_trace\.wrap": "torch.fx.wrap",
    r"torch\.nn\.functional\.(conv2d|one_hot|scaled_dot_product_attention)": r"torch.nn.functional.\1",
}


def public(text: str) -> str:
    for pattern, name in PUBLIC.items():
        text = re.sub(pattern, name, text)
    return text


def trace(library, graphs, make, **options):
    return graphs.symbolic_trace(make(library), **options)


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_code_and_graph(name):
    torch = pytest.importorskip("torch")
    import torch.fx

    theirs = torch.fx.symbolic_trace(PROGRAMS[name](torch))
    ours = fx.symbolic_trace(PROGRAMS[name](minitorch))
    assert ours.code == public(theirs.code)
    assert str(ours.graph) == public(str(theirs.graph))
    assert [name for name, _ in ours.named_modules()] == [name for name, _ in theirs.named_modules()]
    assert list(ours.state_dict()) == list(theirs.state_dict())
