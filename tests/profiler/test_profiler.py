"""What a profiler records, how it is summed up, and what it writes."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading

import pytest

import minitorch
from minitorch import nn
from minitorch.dispatch.local_state import current
from minitorch.dispatch.trace import show_dispatch_trace, trace_enabled
from minitorch.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)


def averages(prof, **groups):
    return {event.key: event for event in prof.key_averages(**groups)}


@pytest.fixture(scope="module")
def training():
    """A profile of one step of training, with everything that can be recorded."""
    model = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 5))
    optimizer = minitorch.optim.SGD(model.parameters(), lr=0.1)
    x = minitorch.ones(8, 10)
    with profile(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True, with_modules=True) as prof:
        with record_function("forward"):
            loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
    return prof


def test_calls_are_events_inside_of_what_called_them(training):
    events = training.events()
    forward = events[0]
    assert forward.key == "forward"
    assert [e.key for e in forward.cpu_children] == [
        "aten::linear",
        "aten::relu",
        "aten::linear",
        "aten::pow",
        "aten::mean",
    ]
    for event in events:
        if event.cpu_parent is not None:
            outer, inner = event.cpu_parent.time_range, event.time_range
            assert outer.start <= inner.start <= inner.end <= outer.end
            assert event in event.cpu_parent.cpu_children
    node = next(e for e in events if e.key == "ReluBackward0")
    assert node.cpu_parent.key == "autograd::engine::evaluate_function: ReluBackward0"
    assert "aten::threshold_backward" in [e.key for e in node.cpu_children]
    rows = averages(training)
    assert rows["torch::autograd::AccumulateGrad"].count == 4
    assert rows["Optimizer.step#SGD.step"].count == 1


def test_self_times_add_up(training):
    events = training.events()
    for event in events:
        assert event.self_cpu_time_total >= -1e-3
        if event.hops:
            assert sum(event.key_times.values()) == pytest.approx(event.self_cpu_time_total, abs=0.5)
    top = sum(e.cpu_time_total for e in events if e.cpu_parent is None)
    assert events.self_cpu_time_total == pytest.approx(top)
    assert training.key_averages().self_cpu_time_total == pytest.approx(top)


def test_dispatch_keys_are_told_apart():
    x, w = minitorch.ones(3), minitorch.ones(3, requires_grad=True)
    with profile() as prof:
        with minitorch.inference_mode():
            x + x
        x + w
    (first, second) = [e for e in prof.events() if e.key == "aten::add"]
    assert second.dispatch_keys == ("AutogradCPU", "CPU")
    assert set(second.key_times) == {"AutogradCPU", "CPU"}
    assert first.dispatch_keys == ("CPU",)
    rows = [e for e in prof.key_averages(group_by_dispatch_keys=True) if e.key == "aten::add"]
    assert [row.count for row in rows] == [1, 1]
    assert "AutogradCPU, CPU" in prof.key_averages(group_by_dispatch_keys=True).table()


def test_shapes(training):
    linear = next(e for e in training.events() if e.key == "aten::linear")
    assert linear.input_shapes == [[8, 10], [20, 10], [20]]
    assert linear.input_dtypes == ["float32"] * 3
    with profile(record_shapes=True) as prof:
        minitorch.cat([minitorch.ones(1, 2), minitorch.ones(3, 2)], 0)
        for n in (2, 2, 3):
            minitorch.ones(n).exp()
    cat = next(e for e in prof.events() if e.key == "aten::cat")
    assert cat.input_shapes[0] == [[1, 2], [3, 2]]
    rows = [e for e in prof.key_averages(group_by_input_shape=True) if e.key == "aten::exp"]
    assert [(row.input_shapes, row.count) for row in rows] == [([[2]], 2), ([[3]], 1)]
    assert averages(prof)["aten::exp"].count == 3


def test_memory_is_counted_where_it_is_made_and_freed():
    x = minitorch.ones(256)
    with profile(profile_memory=True) as prof:
        with record_function("kept"):
            y = x.exp()
            x.view(16, 16)  # no memory
        with record_function("freed"):
            minitorch.ones(1024)
        del y
    rows = averages(prof)
    assert rows["aten::exp"].self_cpu_memory_usage == 1024
    assert rows["aten::view"].self_cpu_memory_usage == 0
    assert rows["kept"].cpu_memory_usage == 1024
    assert rows["aten::ones"].cpu_memory_usage == 4096
    assert rows["freed"].cpu_memory_usage == 0
    assert rows["[memory]"].self_cpu_memory_usage == -1024
    text = prof.key_averages().table()
    assert "Self CPU Mem" in text
    assert "4.00 KB" in text


def test_flops_count_once():
    a, b = minitorch.ones(2, 3), minitorch.ones(3, 4)
    with profile(with_flops=True) as prof:
        a @ b
        a + a
        nn.functional.linear(a, b.t())
    rows = averages(prof)
    assert sum(row.flops for row in rows.values()) == 48 + 6 + 48
    assert rows["aten::mm"].flops == 48
    assert rows["aten::add"].flops == 6
    assert "Total FLOPs" in prof.key_averages().table()


def test_modules(training):
    named = [(e.key, e.module) for e in training.events() if e.key in ("aten::linear", "aten::relu", "aten::pow")]
    assert named[:4] == [
        ("aten::linear", "Sequential.0"), ("aten::relu", "Sequential.1"), ("aten::linear", "Sequential.2"), ("aten::pow", ""),
    ]  # fmt: skip
    rows = [e for e in training.key_averages(group_by_module=True) if e.key == "aten::linear"]
    assert [row.module for row in rows] == ["Sequential.0", "Sequential.2"]


def test_stacks(training, tmp_path):
    def here():
        return minitorch.ones(2).exp()

    with profile(with_stack=True) as prof:
        here()
        here()
    event = next(e for e in prof.events() if e.key == "aten::exp")
    assert event.stack[0].endswith(": here")
    assert "test_profiler.py(" in event.stack[0]
    assert event.stack[1].endswith(": test_stacks")
    lines = {e.stack[1] for e in prof.key_averages(group_by_stack_n=2) if e.key == "aten::exp"}
    assert len(lines) == 2  # two lines call it
    assert "Source Location" in prof.key_averages(group_by_stack_n=1).table()
    path = tmp_path / "stacks.txt"
    prof.export_stacks(str(path))
    line = path.read_text().splitlines()[-1]
    frames, number = line.rsplit(" ", 1)
    assert int(number) > 0
    assert frames.split(";")[-1].endswith(":_here")
    with pytest.raises(ValueError, match="metric"):
        prof.export_stacks(str(path), "cpu")
    with profile() as without:
        pass
    with pytest.raises(RuntimeError, match="with_stack"):
        without.export_stacks(str(path))


def test_table_sorts_and_limits(training):
    rows = training.key_averages()
    text = rows.table(sort_by="self_cpu_time_total", row_limit=3)
    lines = text.splitlines()
    assert len([line for line in lines if not line.startswith("-")]) == 1 + 3 + 1
    slowest = max(rows, key=lambda e: e.self_cpu_time_total)
    assert slowest.key[:40] in lines[3]
    assert lines[-1].startswith("Self CPU time total: ")
    assert rows.table(header="My header").splitlines()[1] == "My header"
    in_ms = rows.table(time_unit="ms", row_limit=-1)
    assert "us " not in in_ms
    assert rows.table(sort_by="cuda_time_total") == rows.table()  # all zero
    assert rows[0].cpu_time_total_str.endswith("s")
    with pytest.raises(AttributeError):
        rows.table(sort_by="colour")
    with pytest.raises(ValueError, match="time_unit"):
        rows.table(time_unit="h")
    top = training.events().table(top_level_events_only=True, row_limit=-1)
    assert "aten::relu" not in top
    assert "forward" in top


def test_chrome_trace(training, tmp_path):
    path = tmp_path / "trace.json.gz"
    training.add_metadata_json("note", '{"a": 1}')
    training.export_chrome_trace(str(path))
    trace = json.loads(gzip.decompress(path.read_bytes()))
    assert trace["note"] == {"a": 1}
    rows = trace["traceEvents"]
    slices = [r for r in rows if r["ph"] == "X"]
    linear = next(r for r in slices if r["name"] == "aten::linear")
    assert linear["cat"] == "cpu_op"
    assert linear["args"]["Input Dims"] == [[8, 10], [20, 10], [20]]
    inside = [
        r["name"]
        for r in slices
        if r["cat"] == "dispatch_key"
        and linear["ts"] <= r["ts"]
        and r["ts"] + r["dur"] <= linear["ts"] + linear["dur"] + 1e-3
    ]
    assert inside == ["CPU", "AutogradCPU"]
    starts = {r["id"]: r for r in rows if r["ph"] == "s"}
    ends = {r["id"]: r for r in rows if r["ph"] == "f"}
    assert len(starts) == len(ends) == 5  # linear, relu, linear, pow, mean
    assert starts[linear["args"]["Sequence number"]]["ts"] == linear["ts"]
    for number, row in starts.items():
        assert row["ts"] < ends[number]["ts"]


def test_annotations_as_decorators_and_without_a_profiler():
    @record_function("named", "some arguments")
    def work(x):
        return x + 1

    x = minitorch.ones(2)
    assert work(x).tolist() == [2, 2]
    with profile() as prof:
        work(x)
        work(x)
    row = averages(prof)["named"]
    assert row.count == 2
    assert row.is_user_annotation
    assert prof.events()[0].args == "some arguments"


def test_events_survive_exceptions():
    with profile() as prof:
        with pytest.raises(RuntimeError):
            minitorch.ones(2, 3) @ minitorch.ones(2, 3)
        with pytest.raises(KeyError), record_function("fails"):
            raise KeyError
        minitorch.ones(2)
    last = prof.events()[-1]
    assert next(e for e in prof.events() if e.key == "fails").cpu_children == []
    while last.cpu_parent is not None:
        last = last.cpu_parent
    assert last.key == "aten::ones"


def test_a_schedule_calls_the_handler_for_each_cycle():
    seen = []

    def ready(prof):
        steps = [e.trace_name for e in prof.events() if e.key == "ProfilerStep*"]
        seen.append((steps, averages(prof)["aten::exp"].count))

    x = minitorch.ones(3)
    plan = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=ready) as prof:
        for _ in range(12):
            x.exp()
            prof.step()
    assert seen == [(["ProfilerStep#3", "ProfilerStep#4"], 2), (["ProfilerStep#7", "ProfilerStep#8"], 2)]
    assert prof.step_num == 12


def test_acc_events_keeps_all_cycles():
    x = minitorch.ones(3)
    with profile(schedule=schedule(wait=0, warmup=1, active=1), acc_events=True) as prof:
        for _ in range(6):
            x.exp()
            prof.step()
    events = prof.events()
    assert averages(prof)["aten::exp"].count == 3
    assert [e.id for e in events] == list(range(len(events)))
    starts = [e.time_range.start for e in events]
    assert starts == sorted(starts)


def test_tensorboard_handler(tmp_path):
    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path / "logs"), "me", use_gzip=True)):
        minitorch.ones(2)
    (file,) = (tmp_path / "logs").iterdir()
    assert file.name.startswith("me.")
    assert file.name.endswith(".pt.trace.json.gz")
    assert any(row["name"] == "aten::ones" for row in json.loads(gzip.decompress(file.read_bytes()))["traceEvents"])


def test_schedules_check_their_numbers():
    with pytest.raises(AssertionError, match="wait=-1"):
        schedule(wait=-1, warmup=1, active=1)
    with pytest.raises(AssertionError, match="active=0"):
        schedule(wait=0, warmup=1, active=0)
    with pytest.warns(UserWarning, match="warm-up"):
        schedule(wait=0, warmup=0, active=1)


def test_what_is_refused():
    prof = profile()
    with pytest.raises(AssertionError, match="no results"):
        prof.key_averages()
    with profile(), pytest.raises(RuntimeError, match="already"):
        profile().start()
    with pytest.warns(UserWarning, match="CUDA"):
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with pytest.raises(NotImplementedError, match="emit_nvtx"):
        minitorch.autograd.profiler.emit_nvtx()
    assert ProfilerActivity.CPU in supported_activities()


def test_only_the_own_thread_is_seen_and_nothing_is_left_behind(capsys):
    def work():
        minitorch.ones(2).sin()

    with profile() as prof:
        assert not trace_enabled()
        other = threading.Thread(target=work)
        other.start()
        other.join()
    assert "aten::sin" not in averages(prof)
    assert current().trace == 0
    assert capsys.readouterr().err == ""
    assert minitorch.ones(2).exp().shape == (2,)


def test_a_trace_can_be_printed_meanwhile():
    lines = []
    x = minitorch.ones(2)
    with profile() as prof:
        with show_dispatch_trace(write=lines.append):
            x.sin()
        x.cos()
    assert [line.strip() for line in lines if "call" in line] == ["[call] op=[aten::sin], key=[AutogradCPU]"]
    assert {"aten::sin", "aten::cos"} <= set(averages(prof))


def test_the_older_names():
    with minitorch.autograd.profiler.profile(record_shapes=True) as prof:
        minitorch.ones(2) + 1
    assert [e.key for e in prof.function_events][-1] == "aten::add"
    assert prof.total_average().count == len(prof.function_events)
    assert "aten::add" in str(prof)
    with minitorch.autograd.profiler.profile(enabled=False) as nothing:
        assert nothing is None


def test_higher_operators_and_transforms_are_seen():
    x = minitorch.ones(3, 4)
    with profile() as prof:
        minitorch.func.vmap(minitorch.sin)(x)
    keys = {key for e in prof.events() if e.key == "aten::sin" for key in e.dispatch_keys}
    assert {"FuncTorchBatched", "FuncTorchDynamicLayerFrontMode"} <= keys


def test_importing_the_library_does_not_import_the_profiler():
    code = "import sys, minitorch; assert not any(m.startswith('minitorch.profiler') for m in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def model_of(library):
    class Block(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = library.nn.Conv2d(1, 2, 3)
            self.norm = library.nn.GroupNorm(1, 2)
            self.out = library.nn.Linear(2 * 6 * 6, 4)

        def forward(self, x):
            x = library.nn.functional.relu(self.norm(self.conv(x)))
            x = library.nn.functional.max_pool2d(x, 1)
            return library.log_softmax(self.out(x.flatten(1)), -1)

    return Block()


@pytest.mark.oracle
def test_the_operators_and_counts_are_those_of_torch(torch):
    counts = []
    for library in (torch, minitorch):
        model = model_of(library)
        x = library.ones(2, 1, 8, 8)
        with library.profiler.profile(activities=[library.profiler.ProfilerActivity.CPU]) as prof:
            with library.profiler.record_function("all"):
                y = (model(x) * 2).sum()
        # What an operator calls inside is each library's own affair; what the program calls is not.
        found = {}
        outer = next(e for e in prof.events() if e.name == "all")
        for event in outer.cpu_children:
            found[event.name] = found.get(event.name, 0) + 1
        counts.append(found)
        y.backward()
    assert counts[1] == counts[0]


@pytest.mark.oracle
def test_the_nodes_of_backward_are_those_of_torch(torch):
    counts = []
    for library in (torch, minitorch):
        x, w = library.ones(3, requires_grad=True), library.ones(3, requires_grad=True)
        with library.profiler.profile(activities=[library.profiler.ProfilerActivity.CPU]) as prof:
            ((x * w).exp() * w).sum().backward()
        counts.append({e.key: e.count for e in prof.key_averages() if "Backward" in e.key or "Accumulate" in e.key})
    assert counts[1] == counts[0]
    assert counts[1]["autograd::engine::evaluate_function: MulBackward0"] == 2
    assert counts[1]["torch::autograd::AccumulateGrad"] == 2


@pytest.mark.oracle
@pytest.mark.parametrize("options", [{}, {"profile_memory": True}, {"with_flops": True}, {"record_shapes": True}])
def test_the_table_has_the_columns_of_torch(torch, options):
    titles = []
    for library in (torch, minitorch):
        x = library.ones(4, 4)
        with library.profiler.profile(activities=[library.profiler.ProfilerActivity.CPU], **options) as prof:
            x @ x
        shown = prof.key_averages(group_by_input_shape="record_shapes" in options).table(sort_by="self_cpu_time_total")
        titles.append([title.strip() for title in shown.splitlines()[1].split("  ") if title.strip()])
    assert titles[0] == titles[1]


@pytest.mark.oracle
def test_schedules_are_those_of_torch(torch):
    for numbers in ((1, 1, 2, 0, 0, 0), (2, 1, 1, 2, 3, 0), (0, 2, 3, 1, 1, 0), (2, 1, 1, 0, 1, 1)):
        names = ("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait")
        ours, theirs = (
            library.profiler.schedule(**dict(zip(names, numbers, strict=True))) for library in (minitorch, torch)
        )
        assert [ours(i).name for i in range(20)] == [theirs(i).name for i in range(20)]
    assert [a.name for a in ProfilerAction] == ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"]


def test_steps_of_a_profiler_that_does_not_run():
    prof = profile(schedule=schedule(wait=0, warmup=1, active=1))
    with pytest.warns(UserWarning, match="does not run"):
        prof.step()
    with prof:
        minitorch.ones(2) + 1
    with pytest.warns(UserWarning, match="does not run"):
        prof.step()
    with profile() as other:  # nothing was left recording
        minitorch.ones(2) + 1
    assert [event.key for event in other.events()].count("aten::add") == 1


def test_activities_are_of_the_enumeration():
    with pytest.raises(TypeError, match=r"ProfilerActivity\.CPU"):
        profile(activities=["cpu"])


def test_deep_nesting(tmp_path):
    annotations = [record_function(str(i)) for i in range(1500)]
    with profile(profile_memory=True) as prof:
        for annotation in annotations:
            annotation.__enter__()
        kept = minitorch.ones(2)
        for annotation in reversed(annotations):
            annotation.__exit__(None, None, None)
    assert next(e for e in prof.events() if e.key == "0").cpu_memory_usage == kept.nbytes
    assert "1499" in prof.key_averages().table(row_limit=-1)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
