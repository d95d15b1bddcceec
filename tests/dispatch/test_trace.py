"""The dispatch trace (spec U1)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from minitorch.dispatch.key_set import after_autograd
from minitorch.dispatch.local_state import below_autograd
from minitorch.dispatch.namespace import ops
from minitorch.dispatch.trace import show_dispatch_trace, trace_enabled


@pytest.fixture
def nested(library, recorder):
    """``testing::f``: Autograd redispatches to CPU, which calls ``testing::g.a``."""
    lib = library()
    record = recorder("f(Tensor x) -> ()", lib)
    lib.define("g.a(Tensor x) -> ()")
    lib.impl("g.a", lambda x: None, "CompositeImplicitAutograd")
    record.level("Autograd", below_autograd, after_autograd)
    lib.impl("f", lambda x: ops.testing.g.a(x), "CPU")
    return record


def test_each_hop_is_a_line(nested, bare, capsys):
    with show_dispatch_trace():
        assert trace_enabled()
        nested.call(bare("cpu"))
    assert not trace_enabled()
    nested.call(bare("cpu"))
    assert capsys.readouterr().err.splitlines() == [
        " [call] op=[testing::f], key=[AutogradCPU]",
        "  [redispatch] op=[testing::f], key=[CPU]",
        "   [call] op=[testing::g.a], key=[CPU]",
    ]


def test_indentation_recovers_from_exceptions(library, bare):
    lib = library()
    lib.define("f(Tensor x) -> ()")

    def fail(x):
        raise KeyError

    lib.impl("f", fail, "CPU")
    lines = []
    with show_dispatch_trace(write=lines.append):
        for _ in range(2):
            with pytest.raises(KeyError):
                ops.testing.f(bare("CPU"))
    assert lines == [" [call] op=[testing::f], key=[CPU]\n"] * 2


def test_details(nested, bare):
    lines = []
    with show_dispatch_trace(details=True, write=lines.append):
        nested.call(bare("cpu"))
    first = lines[0].splitlines()
    assert first[0] == " [call] op=[testing::f], key=[AutogradCPU]"
    assert first[1].strip().startswith("kernel: ")
    assert ".py:" in first[1]
    assert first[2].strip() == "x: CPU, ADInplaceOrView, AutogradCPU, AutocastCPU"
    assert first[3].strip().startswith("included: BackendSelect, ADInplaceOrView; excluded: Autoc")
    assert "excluded: AutogradOther, AutogradNestedTensor" in lines[1]


def test_scopes_nest(nested, bare):
    outer, inner = [], []
    with show_dispatch_trace(write=outer.append):
        with show_dispatch_trace(write=inner.append):
            nested.call(bare("cpu"))
        nested.call(bare("cpu"))
    assert outer == inner
    assert len(outer) == 3


_PROGRAM = """
import threading
from minitorch.dispatch import trace
from minitorch.dispatch.library import Library
from minitorch.dispatch.namespace import ops
lib = Library("testing", "DEF")
lib.define("f(int n) -> ()")
lib.impl("f", lambda n: None)
ops.testing.f(1)
thread = threading.Thread(target=ops.testing.f, args=(1,))
thread.start()
thread.join()
"""


def run_with(**variables: str) -> str:
    """Run the program in a fresh process; return what it wrote to stderr."""
    environment = {k: v for k, v in os.environ.items() if "SHOW_DISPATCH_TRACE" not in k}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


def test_environment_variables():
    line = " [call] op=[testing::f], key=[Undefined]"
    assert run_with() == ""
    assert run_with(TORCH_SHOW_DISPATCH_TRACE="0") == ""
    plain = run_with(TORCH_SHOW_DISPATCH_TRACE="1").splitlines()
    assert plain.count(line) == 2  # both threads
    assert all(text.lstrip().startswith(("[call] ", "[redispatch] ")) for text in plain)
    detailed = run_with(MINITORCH_SHOW_DISPATCH_TRACE="1").splitlines()
    assert detailed.count(line) == 2
    assert detailed[detailed.index(line) + 1].strip().startswith("kernel: ")
    warned = run_with(TORCH_SHOW_DISPATCH_TRACE="yes")
    assert "ignoring TORCH_SHOW_DISPATCH_TRACE='yes'" in warned
    assert line not in warned
