"""What runs on the CPU for another device: allowed, warned of or refused, and written down in any case."""

from __future__ import annotations

import os
import threading

import pytest
from fresh import in_fresh_process, run_python
from toy_backend import register_toy

import minitorch
from minitorch.backends import (
    FallbackWarning,
    clear_fallbacks,
    fallback_policy,
    fallback_report,
)


@in_fresh_process
def test_the_first_fallback_of_an_operator_warns():
    register_toy()
    assert fallback_policy.current() == "warn"
    x = minitorch.tensor([1.0, 2.0]).toy()
    assert issubclass(FallbackWarning, UserWarning)
    text = r"aten::exp ran on the CPU for toy:0: it has no kernel .* \(16 bytes moved\)"
    with pytest.warns(FallbackWarning, match=text) as caught:
        x.exp()
    (warning,) = caught
    assert warning.filename == __file__
    assert '@backend.kernel("exp")' in str(warning.message)
    x.exp()  # silent from now on; warnings are errors here
    with pytest.warns(FallbackWarning, match="aten::sin"):
        x.sin()
    clear_fallbacks()
    with pytest.warns(FallbackWarning, match="aten::exp"):
        x.exp()


@in_fresh_process
def test_the_ledger_counts_calls_bytes_and_lines():
    register_toy()
    fallback_policy("allow")
    x = minitorch.ones(4).toy()
    for _ in range(3):
        x.exp()
    x.exp()
    report = fallback_report()
    first, second = report
    assert (first.operator, first.device, first.count, first.nbytes) == ("aten::exp", "toy:0", 3, 3 * 32)
    assert (second.count, second.nbytes) == (1, 32)
    file, _, line = first.caller.rpartition(":")
    assert file == __file__
    assert int(second.caller.rpartition(":")[2]) == int(line) + 1
    assert (report.count, report.nbytes, report.operators(), len(report)) == (4, 128, ["aten::exp"], 2)
    lines = str(report).splitlines()
    assert lines[0].split() == ["operator", "device", "count", "bytes", "moved", "caller", "reason"]
    assert lines[1].split()[:4] == ["aten::exp", "toy:0", "3", "96"]
    assert os.path.join("tests", "backends", "test_fallback_policy.py") in lines[1]
    assert lines[-1].split() == ["total", "4", "128"]
    report.clear()
    assert len(report) == len(fallback_report()) == 0
    assert str(report) == "no operator fell back to the CPU"


@in_fresh_process
def test_an_operator_without_a_kernel_is_refused_under_error():
    register_toy()
    x = minitorch.ones(2).toy()
    with fallback_policy("error"), pytest.raises(NotImplementedError) as caught:
        x.exp()
    text = str(caught.value)
    for part in (
        "'aten::exp' on the device toy:0", "DispatchKeySet(PrivateUse1)", "[CPU, Meta]", '@backend.kernel("exp")',
        'Library("aten", "IMPL", "PrivateUse1").impl("exp", fn)',
    ):  # fmt: skip
        assert part in text
    assert len(text) < 700
    assert len(fallback_report()) == 0


@in_fresh_process
def test_a_cast_that_the_device_cannot_do_follows_the_policy():
    register_toy()
    x = minitorch.ones(2).toy()
    with fallback_policy("error"), pytest.raises(NotImplementedError, match="does not convert float32 to int32"):
        x.int()
    with fallback_policy("allow"):
        assert x.int().tolist() == [1, 1]
    (row,) = fallback_report()
    assert (row.operator, row.nbytes) == ("aten::_to_copy", 16)


@in_fresh_process
def test_a_view_never_falls_back():
    register_toy()
    lib = minitorch.library.Library("peeks", "DEF")
    lib.define("first(Tensor(a) x) -> Tensor(a)")
    lib.impl("first", lambda x: x[0], "CPU")
    fallback_policy("allow")
    with pytest.raises(NotImplementedError, match=r"peeks::first returns a view.*@backend.kernel\(.peeks::first.\)"):
        minitorch.ops.peeks.first(minitorch.ones(2).toy())


@in_fresh_process
def test_composites_are_taken_apart_and_do_not_fall_back():
    register_toy()
    fallback_policy("allow")
    minitorch.nn.functional.layer_norm(minitorch.ones(2, 3).toy(), [3])
    assert fallback_report().operators() == ["aten::native_layer_norm"]
    clear_fallbacks()
    x, weight = minitorch.ones(2, 3).toy(), minitorch.ones(4, 3).toy().requires_grad_()
    minitorch.nn.functional.linear(x, weight, minitorch.ones(4).toy()).sum().backward()
    assert weight.grad.tolist() == [[2.0] * 3] * 4
    assert "aten::linear" not in fallback_report().operators()  # one kernel on the CPU, addmm elsewhere
    assert "aten::addmm" in fallback_report().operators()
    clear_fallbacks()
    minitorch.ones(2, 6).toy().reshape(3, 4).flatten().unsqueeze(0)
    assert len(fallback_report()) == 0


@in_fresh_process(MINITORCH_FALLBACK="error")
def test_the_environment_sets_the_first_policy():
    register_toy()
    assert fallback_policy.current() == "error"
    with pytest.raises(NotImplementedError, match="fallback policy is 'error'"):
        minitorch.ones(2).toy().exp()


def test_an_unknown_policy_of_the_environment_is_named():
    done = run_python("import minitorch.dispatch.policy", MINITORCH_FALLBACK="maybe")
    assert done.returncode == 1
    assert "MINITORCH_FALLBACK is one of allow, warn, error, not 'maybe'" in done.stderr


def test_policies_nest_and_belong_to_their_thread():
    seen = {}

    def look(name):
        seen[name] = fallback_policy.current()

    outer = fallback_policy.current()
    with fallback_policy("error"):
        look("inside")
        with fallback_policy("allow"):
            look("nested")
        other = threading.Thread(target=look, args=("other thread",))
        other.start()
        other.join()
        look("after")
    assert seen == {"inside": "error", "nested": "allow", "other thread": outer, "after": "error"}
    assert fallback_policy.current() == outer
    with pytest.raises(ValueError, match="one of allow, warn, error, not 'never'"):
        fallback_policy("never")


@in_fresh_process
def test_a_policy_as_a_statement_is_the_process_s():
    fallback_policy("allow")
    seen = []
    thread = threading.Thread(target=lambda: seen.append(fallback_policy.current()))
    thread.start()
    thread.join()
    assert seen == ["allow"]
    with fallback_policy("error"):
        pass
    assert fallback_policy.current() == "allow"


@in_fresh_process
def test_counts_are_exact_with_several_threads():
    register_toy()
    fallback_policy("allow")
    x = minitorch.ones(4).toy()

    def work():
        for _ in range(50):
            x.exp()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(row.count for row in fallback_report() if row.operator == "aten::exp") == 300
    assert fallback_report().nbytes == 300 * 32


@in_fresh_process
def test_random_numbers_of_a_device_leave_the_cpu_s_stream_alone():
    register_toy()
    fallback_policy("allow")
    minitorch.manual_seed(5)
    cpu = minitorch.rand(3), minitorch.rand(3)
    minitorch.manual_seed(5)
    first = minitorch.rand(3)
    on_toy = minitorch.rand(3, device="toy")
    minitorch.nn.functional.dropout(minitorch.ones(4).toy())
    assert minitorch.equal(minitorch.rand(3), cpu[1])
    assert minitorch.equal(first, cpu[0])
    assert minitorch.equal(on_toy.cpu(), cpu[0])  # a stream of its own, of the same seed
    assert minitorch.empty(3).toy().uniform_(generator=minitorch.Generator("toy").manual_seed(5)).tolist() == cpu[0].tolist()
    with pytest.raises(RuntimeError, match="Expected a 'toy' device type for generator but found 'cpu'"):
        minitorch.empty(3).toy().uniform_(generator=minitorch.Generator())
    generator = minitorch.Generator("toy:0").manual_seed(5)
    assert minitorch.rand(3, device="toy", generator=generator).tolist() == cpu[0].tolist()
