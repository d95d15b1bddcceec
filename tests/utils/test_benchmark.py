"""`minitorch.utils.benchmark`."""

from __future__ import annotations

import pickle

import pytest

import minitorch
from minitorch.utils import benchmark
from minitorch.utils.benchmark import Compare, Measurement, TaskSpec, Timer


class Clock:
    """A clock that goes on a microsecond with each `tick`, and so measures how often statements ran."""

    def __init__(self):
        self.time = 0.0
        self.ticks = 0

    def __call__(self):
        return self.time

    def tick(self):
        self.ticks += 1
        self.time += 1e-6


def measured(times, number=1, **names):
    names = {"stmt": "x + y", "setup": "pass", **names}
    return Measurement(number, list(times), TaskSpec(**names))


def test_timeit_runs_the_statement_and_counts_it():
    clock = Clock()
    found = Timer("tick()", timer=clock, globals={"tick": clock.tick}).timeit(1000)
    assert found.raw_times == [pytest.approx(1e-3)]
    assert found.number_per_run == 1000
    assert found.median == pytest.approx(1e-6)
    assert clock.ticks == 1010  # some are for warming up


def test_blocks_are_repeated_until_the_time_is_over():
    clock = Clock()
    seen = []
    timer = Timer("tick()", timer=clock, globals={"tick": clock.tick})
    found = timer.blocked_autorange(callback=lambda number, time: seen.append((number, time)), min_run_time=0.05)
    assert sum(found.raw_times) >= 0.05
    assert sum(found.raw_times[:-1]) < 0.05
    assert seen == [(found.number_per_run, time) for time in found.raw_times]
    assert found.times == pytest.approx([1e-6] * len(seen))


def test_adaptive_measurement_stops_when_the_times_agree():
    clock = Clock()
    found = Timer("tick()", timer=clock, globals={"tick": clock.tick}).adaptive_autorange()
    assert found.meets_confidence(0.1)
    assert sum(found.raw_times) < 1

    def uneven():
        clock.time += (clock.ticks // found.number_per_run % 2 + 0.1) * 1e-5
        clock.ticks += 1

    slow = Timer("uneven()", timer=clock, globals={"uneven": uneven}).adaptive_autorange(max_run_time=0.5)
    assert sum(slow.raw_times) >= 0.5
    assert not slow.meets_confidence(0.1)


def test_set_up_names_and_threads():
    before = minitorch.get_num_threads()
    seen = []
    names = {"seen": seen}
    timer = Timer(
        """
        seen.append((minitorch.get_num_threads(), y.tolist()))
        """,
        setup="y = torch.ones(2)",
        globals=names,
        num_threads=before + 1,
    )
    timer.timeit(1)
    assert seen[0] == (before + 1, [1.0, 1.0])
    assert minitorch.get_num_threads() == before
    assert set(names) == {"seen"}


def test_devices_are_waited_for(monkeypatch):
    from minitorch.backends.lazy import BACKENDS_BY_TYPE

    waits = []

    class Device:
        def synchronize(self, index=None):
            waits.append(index)

    monkeypatch.setitem(BACKENDS_BY_TYPE, "some", Device())
    Timer("pass").timeit(10)
    assert len(waits) == 4  # before and after, warm-up and measurement


def test_statistics():
    found = measured([5.0, 1.0, 2.0, 4.0, 3.0], number=10)
    assert found.median == 0.3
    assert found.mean == pytest.approx(0.3)
    assert found.iqr == pytest.approx(0.2)
    assert found.has_warnings
    assert "should not be relied on" in repr(found)
    steady = measured([1.0, 1.001, 0.999, 1.0, 1.0])
    assert not steady.has_warnings
    assert steady.significant_figures > found.significant_figures
    with pytest.raises(ValueError, match="no times"):
        _ = measured([]).median


def test_measurements_merge_and_survive_pickling():
    a, b = measured([2.0], 2, label="one"), measured([3.0], label="one")
    other = measured([1.0], label="two")
    merged = Measurement.merge([a, other, b])
    assert [(m.label, m.times) for m in merged] == [("one", [1.0, 3.0]), ("two", [1.0])]
    again = pickle.loads(pickle.dumps(a))
    assert again.times == a.times
    assert again.task_spec == a.task_spec
    with pytest.raises(AttributeError):
        _ = a.colour


def table_rows():
    return [
        measured([2e-6], label="add", sub_label="4 x 4", description="eager"),
        measured([123e-6], label="add", sub_label="128 x 128", description="eager"),
        measured([1.5e-6], label="add", sub_label="4 x 4", description="compiled", num_threads=2),
        measured([9e-3], label="mul", sub_label="4 x 4", description="eager"),
    ]


def test_tables():
    compare = Compare(table_rows())
    text = str(compare)
    assert text.count("[") == 2
    lines = text.splitlines()
    assert lines[1].split() == ["|", "eager", "|", "compiled"]
    assert lines[2].startswith("1 threads: ---")
    assert lines[3].split() == ["4", "x", "4", "|", "2.0", "|"]
    assert "Times are in microseconds (us)." in text
    assert "Times are in milliseconds (ms)." in text
    compare.extend_results([measured([4e-6], label="add", sub_label="4 x 4", description="eager")])
    assert str(compare).splitlines()[3].split()[4] == "3.0"  # the median of both
    with pytest.raises(ValueError, match="int"):
        compare.extend_results([1])


def test_colours_and_marks():
    rows = [measured([t], label="l", sub_label="s", description=d) for d, t in (("a", 1e-6), ("b", 9e-6))]
    compare = Compare(rows)
    assert "\033" not in str(compare)
    compare.colorize(rowwise=True)
    line = str(compare).splitlines()[3]
    assert "\033[92m\033[1m1.0" in line
    assert "\033[31m" in line
    spread = Compare([measured([1e-6, 2e-6, 3e-6, 9e-6])])
    assert "(!)" not in str(spread)
    spread.highlight_warnings()
    spread.trim_significant_figures()
    assert "(!) 2" in str(spread)


def test_what_is_refused():
    with pytest.raises(NotImplementedError, match="Python"):
        Timer("x", language="c++")
    with pytest.raises(ValueError, match="string"):
        Timer(lambda: 1)
    with pytest.raises(NotImplementedError, match="collect_callgrind"):
        Timer("1").collect_callgrind()
    with pytest.raises(NotImplementedError, match="blocked_autorange"):
        Timer("1").repeat()


@pytest.mark.oracle
@pytest.mark.parametrize("several", [False, True])
def test_tables_are_those_of_torch(torch, several):
    from torch.utils import benchmark as theirs

    def build(library):
        rows = []
        for number, (sub, what, threads) in enumerate(
            [("4 x 4", "eager", 1), ("128 x 128", "eager", 1), ("4 x 4", "other", 1), ("128 x 128", "other", 2)]
        ):
            spec = library.TaskSpec("x + y", "pass", label="add", sub_label=sub, description=what, num_threads=threads,
                                    env=f"e{number}" if several else None)  # fmt: skip
            rows.append(library.Measurement(10, [2.25e-5 * (number + 1) ** 2], spec))
        return str(library.Compare(rows))

    def bare(text):
        return [line.split() for line in text.replace("-", "").splitlines()]

    assert bare(build(benchmark)) == bare(build(theirs))


@pytest.mark.oracle
def test_statistics_are_those_of_torch(torch):
    from torch.utils import benchmark as theirs

    times = [1.0, 1.3, 0.9, 1.1, 1.05, 1.2]
    spec = ("x + y", "pass")
    ours = benchmark.Measurement(3, times, benchmark.TaskSpec(*spec))
    other = theirs.Measurement(3, times, theirs.TaskSpec(*spec))
    for name in ("median", "mean", "iqr", "significant_figures", "has_warnings", "title", "as_row_name"):
        assert getattr(ours, name) == pytest.approx(getattr(other, name)), name
    assert ours.meets_confidence(0.2) == other.meets_confidence(0.2)
    for value in (3.2e-9, 5e-5, 0.02, 7.0):
        assert benchmark.select_unit(value) == theirs.select_unit(value)
        assert benchmark.trim_sigfig(value, 1) == pytest.approx(theirs.trim_sigfig(value, 1))
