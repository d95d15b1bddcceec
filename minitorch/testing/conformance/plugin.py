"""The kit's pytest plugin: its options, the table at the end, and the page."""

from __future__ import annotations

import re
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import minitorch
from minitorch.backends import fallback_policy
from minitorch.testing.conformance.operators import Options
from minitorch.testing.conformance.page import page
from minitorch.testing.conformance.table import Other, Results, table

FOLDER = Path(__file__).parent
RESULTS = pytest.StashKey[Results]()
OPTIONS = pytest.StashKey[Options]()
# Of `--quick`: every so many-th operator, and so many samples of it.
QUICK_STEP, QUICK_SAMPLES = 3, 4


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("minitorch conformance")
    group.addoption("--device", default="cpu", help="the device that is checked against the CPU")
    group.addoption("--import", dest="conformance_import", metavar="MODULE[:FUNCTION]", help="what registers the device")
    group.addoption("--ops", default="", metavar="PATTERN", help="only the operators whose names this finds")
    group.addoption("--dtypes", default="", help="only these dtypes, with commas between")
    group.addoption("--samples", type=int, default=0, help="at most so many samples for each dtype")
    group.addoption("--quick", action="store_true", help="every third operator, its first dtype alone")
    try:
        group.addoption("--html", dest="conformance_html", metavar="FILE", help="write the table as a page")
    except ValueError:  # pytest-html has an option of this name
        group.addoption("--conformance-html", dest="conformance_html", metavar="FILE", help="write the table as a page")


def pytest_configure(config: Any) -> None:
    wanted = config.getoption("conformance_import")
    if wanted:
        module, _, function = wanted.partition(":")
        imported = import_module(module)
        if function:
            getattr(imported, function)()
    try:
        device = minitorch.zeros(1, device=config.getoption("device")).device
    except RuntimeError as error:
        raise pytest.UsageError(f"--device {config.getoption('device')}: {error}") from error
    quick = config.getoption("quick")
    dtypes = tuple(filter(None, config.getoption("dtypes").split(",")))
    unknown = [name for name in dtypes if not isinstance(getattr(minitorch, name, None), minitorch.dtype)]
    if unknown:
        raise pytest.UsageError(f"--dtypes: there is no dtype {unknown[0]!r}")
    config.stash[OPTIONS] = Options(
        device, dtypes, config.getoption("samples") or (QUICK_SAMPLES if quick else 1000),
        samples_of_layouts=2 if quick else 4, first_dtype_only=quick,
    )  # fmt: skip
    config.stash[RESULTS] = Results(str(device))


def records(config: Any) -> list:
    """Return the records of the operators that were asked for."""
    from minitorch.testing.op_db import op_db

    found = [record for record in op_db if re.search(config.getoption("ops"), record.name)]
    if config.getoption("ops"):
        if not found:
            names = [record.name for record in op_db]
            word = max(re.findall(r"\w+", config.getoption("ops")), key=len, default="")
            near = [name for name in names if word and word in name] or get_close_matches(word, names, 4, 0.5)
            raise pytest.UsageError(
                f"--ops {config.getoption('ops')!r}: no operator matches" + (f"; near it are {', '.join(near)}" if near else "")
            )
        return found
    if not config.getoption("quick"):
        return found
    # Some compilers take minutes for the kernels of special functions.
    return [record for record in found if record.family != "special_functions"][::QUICK_STEP]


def is_of_kit(item: Any) -> bool:
    return Path(item.path).parent == FOLDER


def pytest_generate_tests(metafunc: Any) -> None:
    if "record" in metafunc.fixturenames and is_of_kit(metafunc.definition):
        chosen = records(metafunc.config)
        metafunc.parametrize("record", chosen, ids=[record.name for record in chosen])


def pytest_collection_modifyitems(config: Any, items: list) -> None:
    """With ``--ops``, what is no operator's is left out."""
    if not config.getoption("ops"):
        return
    left_out = [item for item in items if is_of_kit(item) and "record" not in item.fixturenames]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def options(pytestconfig: Any) -> Options:
    """Which checks run, and on which device."""
    return pytestconfig.stash[OPTIONS]


@pytest.fixture(scope="session")
def device(options: Options) -> Any:
    """The device that is checked."""
    return options.device


@pytest.fixture(scope="session")
def note_outcome(pytestconfig: Any) -> Any:
    """Return a function that enters the outcome of an operator into the table."""
    return pytestconfig.stash[RESULTS].operators.append


@pytest.fixture(autouse=True)
def with_fallbacks(request: Any) -> Any:
    """What a device has no kernel for runs on the CPU, without a warning; random numbers are put back."""
    if not is_of_kit(request.node):
        yield
        return
    with fallback_policy("allow"), minitorch.random.fork_rng():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    report = yield
    if is_of_kit(item) and "record" not in item.fixturenames and (call.when == "call" or not report.passed):
        family = Path(item.path).stem.removeprefix("test_")
        message = "" if call.excinfo is None else str(call.excinfo.value).strip().partition("\n")[0]
        if report.skipped and isinstance(report.longrepr, tuple):
            message = report.longrepr[2].removeprefix("Skipped: ")
        item.config.stash[RESULTS].others.append(Other(item.name, family, report.outcome, message))
    return report


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    results = config.stash.get(RESULTS, None)
    if results is None or not (results.operators or results.others):
        return
    terminalreporter.section(f"conformance of {results.device}")
    terminalreporter.write_line(table(results))
    target = config.getoption("conformance_html")
    if target:
        Path(target).write_text(page(results), encoding="utf-8")
        terminalreporter.write_line(f"written to {target}")

