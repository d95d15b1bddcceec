"""Drivers: found, tried in a process of their own, remembered, ordered; a broken one is named and left out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from minitorch.backends.opencl import icd, probe, trial

ROOT = Path(__file__).parents[3]
OURS = ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "MINITORCH_OPENCL_DEVICES", "POCL_CACHE_DIR", "PYOPENCL_NO_CACHE")


@pytest.fixture(scope="session")
def warm_cache(tmp_path_factory) -> Path:
    """A cache folder in which the drivers of this machine have verdicts."""
    folder = tmp_path_factory.mktemp("cache")
    python("drivers.usable()", XDG_CACHE_HOME=folder)
    return folder


def start(code: str, **environment) -> subprocess.CompletedProcess:
    """Run code that finds `drivers` imported, in a process that knows nothing."""
    kept = {name: value for name, value in os.environ.items() if name not in OURS}
    kept |= {name: str(value) for name, value in environment.items()}
    kept["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    before = "import json, os, sys\nfrom minitorch.backends.opencl import drivers, icd, trial\n"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", before + textwrap.dedent(code)],
        env=kept, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def python(code: str, **environment) -> str:
    """Return what such code prints; it must come to its end."""
    ran = start(code, **environment)
    assert ran.returncode == 0, f"exit status {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout.strip()


def libraries_here() -> list[str]:
    return [library.name for library in icd.libraries() if not library.problem]


def build_library(folder: Path, name: str, body: str) -> Path:
    """Return a library that does something when it is loaded, as drivers may."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to build a broken driver with")
    source = folder / f"{name}.c"
    source.write_text(f"#include <stdlib.h>\n#include <unistd.h>\n__attribute__((constructor)) static void f() {{{body}}}\n")
    library = folder / f"lib{name}.so"
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return library


def probe_that(folder: Path, statement: str) -> Path:
    """Return a probe in which a statement comes before each device is tried."""
    text = Path(probe.__file__).read_text()
    assert text.count("        try:\n            reason = try_device") == 1
    text = text.replace(
        "        try:\n            reason = try_device", f"        {statement}\n        try:\n            reason = try_device"
    )
    file = folder / "probe.py"
    file.write_text(text)
    return file


def test_devices_are_described_and_ordered(opencl_devices):
    order = [
        {"gpu": 0, "accelerator": 1, "cpu": 2 if "intel" in d.vendor.lower() else 3}.get(d.type, 4) for d in opencl_devices
    ]
    assert os.environ.get("MINITORCH_OPENCL_DEVICES") or order == sorted(order)
    for d in opencl_devices:
        assert d.name == d.device.name.strip()
        assert d.platform == d.device.platform.name
        assert d.driver_version == d.device.driver_version
        assert d.probed.startswith("passed")


def test_a_second_process_starts_no_other(warm_cache):
    said = python(
        """
        import subprocess
        def refuse(*args, **kwargs): raise AssertionError("a process was started")
        subprocess.Popen = refuse
        print(drivers.usable()[0].probed)
        """,
        XDG_CACHE_HOME=warm_cache,
    )
    assert said.endswith("(remembered)")


def test_the_environment_is_left_as_it_was(warm_cache):
    code = """
        before = dict(os.environ)
        drivers.usable()
        import pyopencl
        changed = {k: v for k, v in os.environ.items() if before.get(k) != v and k != "PYOPENCL_HOME"}
        assert os.environ["PYOPENCL_HOME"] == os.path.dirname(pyopencl.__file__)
        print(json.dumps(changed))
    """
    assert json.loads(python(code, XDG_CACHE_HOME=warm_cache)) == {}


def test_the_choice_of_the_user_is_kept(warm_cache):
    chosen = libraries_here()[-1]
    code = 'drivers.usable(); print([l.name for l, _ in drivers._state.tried], os.environ["OCL_ICD_VENDORS"])'
    assert python(code, XDG_CACHE_HOME=warm_cache, OCL_ICD_VENDORS=chosen) == f"{[chosen]} {chosen}"


def test_devices_are_picked_by_index_and_name(warm_cache, opencl_devices):
    code = "print(json.dumps([d.platform for d in drivers.usable()]))"
    every = json.loads(python(code, XDG_CACHE_HOME=warm_cache))
    by_name, backwards = every[-1].lower()[:9], [every[-1], every[0]]
    for wanted, expected in [("0", every[:1]), (by_name, every[-1:]), (f"{len(every) - 1},0", backwards)]:
        got = json.loads(python(code, XDG_CACHE_HOME=warm_cache, MINITORCH_OPENCL_DEVICES=wanted))
        assert got == list(dict.fromkeys(expected)), wanted
    ran = start(code, XDG_CACHE_HOME=warm_cache, MINITORCH_OPENCL_DEVICES="0,no such driver")
    last = ran.stderr.partition("OpenCLUnavailable: ")[2].strip()
    assert last.startswith("MINITORCH_OPENCL_DEVICES=0,no such driver: 'no such driver' is neither")
    assert every[0] in last


@pytest.mark.without_device
def test_missing_pyopencl_is_a_short_error():
    ran = start("""
        class Hide:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] == "pyopencl":
                    raise ModuleNotFoundError(name)
        sys.meta_path.insert(0, Hide())
        for attempt in (drivers.usable, drivers.prepare):
            try:
                attempt()
            except drivers.OpenCLUnavailable as error:
                print(error)
        print(drivers.diagnose())
    """)
    assert ran.returncode == 0, ran.stderr
    message = ran.stdout[: ran.stdout.index("The opencl device", 5)].strip()
    assert len(message.splitlines()) <= 6
    assert 'pip install "minitorch[opencl-cpu]"' in message
    assert ran.stdout.count(message) == 3


def test_icd_that_names_no_library_is_reported(tmp_path, warm_cache):
    (tmp_path / "text.so").write_text("not a library")
    (tmp_path / "a.icd").write_text(f"{tmp_path}/absent.so\n")
    (tmp_path / "b.icd").write_text(f"{tmp_path}/text.so\n")
    (tmp_path / "c.icd").write_text("")
    said = python("drivers.usable(); print(drivers.diagnose())", XDG_CACHE_HOME=warm_cache, OPENCL_VENDOR_PATH=tmp_path)
    left_out = said.partition("Left out:")[2]
    assert f"{tmp_path}/absent.so: there is no such file" in left_out
    assert f"{tmp_path}/text.so: cannot be loaded" in left_out
    assert "c.icd: names no library" in left_out


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("abort();", "loading it ends the process (SIGABRT)"),
        ("sleep(600);", "loading it hangs: no answer within 3 seconds"),
        ("_exit(3);", "loading it ends the process (exit status 3)"),
    ],
    ids=["aborts", "hangs", "exits"],
)
def test_driver_that_breaks_when_loaded(tmp_path, warm_cache, body, reason):
    library = build_library(tmp_path, "broken", body)
    (tmp_path / "broken.icd").write_text(f"{library}\n")
    environment = dict(XDG_CACHE_HOME=warm_cache, OPENCL_VENDOR_PATH=tmp_path)
    if "sleep" in body:
        environment["MINITORCH_OPENCL_PROBE_TIMEOUT"] = 3
    said = python("drivers.usable(); print(drivers.diagnose())", **environment)
    assert f"{library}: " in said.partition("Left out:")[2]
    assert reason in said
    # It was never loaded into the process that asked, and is not tried again by the next.
    again = python(
        """
        import subprocess
        subprocess.Popen = None
        print(len(drivers.usable()), open("/proc/self/maps").read().count("libbroken"))
        """,
        **environment,
    )
    assert int(again.split()[0]) >= 1
    assert again.split()[1] == "0"


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("os.abort()", "a small kernel ends the process (SIGABRT)"),
        ("__import__('time').sleep(600)", "a small kernel hangs: no answer within 8 seconds"),
        ("raise SystemExit(7)", "a small kernel ends the process (exit status 7)"),
        ("globals().update(SOURCE=SOURCE.replace('+ exp', '- exp'))", "computes wrong results (float32)"),
        ("globals().update(SOURCE=SOURCE.replace('shared[j] * 1000003', '0'))", "computes wrong results (local memory"),
        ("globals().update(SOURCE=SOURCE.replace('vload16(', 'nonsense('))", "a small kernel failed: "),
    ],
    ids=["aborts", "hangs", "exits", "wrong", "wrong group", "no compiler"],
)
def test_driver_that_fails_at_its_first_kernel(tmp_path, statement, reason):
    file = probe_that(tmp_path, statement)
    ran = start(
        f"trial.PROBE = trial.Path({str(file)!r}); drivers.usable()",
        XDG_CACHE_HOME=tmp_path, OCL_ICD_VENDORS=libraries_here()[0],
        MINITORCH_OPENCL_PROBE_TIMEOUT=8 if "sleep" in statement else 60,
    )  # fmt: skip
    assert ran.returncode == 1
    message = ran.stderr.partition("OpenCLUnavailable: ")[2].strip()
    assert message.startswith("No OpenCL driver works here:\n")
    assert reason in message
    assert "diagnose()" in message
    assert len(message.splitlines()) <= 6


def test_other_devices_of_a_broken_platform_get_their_turn(tmp_path, opencl_devices):
    first = opencl_devices[0].name
    file = probe_that(tmp_path, f"os.abort() if device.name.strip() == {first!r} else None")
    ran = start(
        f"""
        trial.PROBE = trial.Path({str(file)!r})
        print(json.dumps(list(trial.probe("", icd.vendors_folder({libraries_here()!r})).devices.items())))
        """,
        XDG_CACHE_HOME=tmp_path,
    )
    verdicts = {name[3]: reason for name, reason in json.loads(ran.stdout)}
    assert "SIGABRT" in verdicts.pop(first)
    assert not any(verdicts.values())


def test_pocl_without_a_linker_is_left_out(tmp_path):
    if not any("pocl" in name for name in libraries_here()):
        pytest.skip("PoCL's wheel is not installed")
    code = "print(drivers.diagnose())"
    said = python(code, XDG_CACHE_HOME=tmp_path, PATH=tmp_path, MINITORCH_OPENCL_DEVICES="")
    assert "PoCL needs: ld (MISSING), gcc (MISSING)" in said
    assert "a small kernel ends the process (SIGABRT)" in said
    # With a linker in the path it is another question, with an answer of its own.
    assert "SIGABRT" not in python(code, XDG_CACHE_HOME=tmp_path)


def test_verdicts_depend_on_the_library_and_grow_old(tmp_path, monkeypatch):
    monkeypatch.setattr(icd, "_cache", tmp_path)
    file = tmp_path / "libdriver.so"
    file.write_text("one")
    library = icd.Library(str(file), "test")
    key = trial.library_key(library)
    assert trial.library_key(library) == key
    file.write_text("another")
    assert trial.library_key(library) != key

    good = trial.Verdict({("p", "v", "1", "d", "2"): ""}, time=1.0)
    trial.remember(key, good)
    recalled = trial.recall(key)
    assert recalled is not None
    assert recalled.devices == good.devices
    for age, kept in [(60.0, True), (2 * trial.RETRY_FAILED_AFTER, False), (-3600.0, False)]:
        trial.remember(key, trial.Verdict(reason="hangs", time=trial.time.time() - age))
        assert (trial.recall(key) is not None) == kept
    trial.record_file(key).write_text("{")
    assert trial.recall(key) is None


def test_no_home_to_write_to(tmp_path):
    said = python(
        """
        import tempfile
        import numpy as np
        cl = drivers.prepare()
        for found in drivers.usable():
            context = cl.Context([found.device])
            program = cl.Program(context, "__kernel void one(__global int *a) { a[get_global_id(0)] = 1; }").build()
            queue, out = cl.CommandQueue(context), np.zeros(8, np.int32)
            memory = cl.Buffer(context, cl.mem_flags.READ_WRITE, out.nbytes)
            program.one(queue, (8,), None, memory)
            cl.enqueue_copy(queue, out, memory)
            assert out.sum() == 8
        print(os.environ["XDG_CACHE_HOME"].startswith(tempfile.gettempdir()))
        """,
        HOME="/dev/null", XDG_CACHE_HOME="/dev/null/cache", TMPDIR=tmp_path,
    )  # fmt: skip
    assert said == "True"


def test_a_folder_of_somebody_else_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    own = icd.temporary_cache()
    assert own.parent == tmp_path
    assert icd.temporary_cache() == own
    own.chmod(0o777)
    assert icd.temporary_cache() != own


def test_processes_that_start_at_once_agree(tmp_path):
    code = "print(len(drivers.usable()))"
    kept = {k: v for k, v in os.environ.items() if k not in OURS} | {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    text = "from minitorch.backends.opencl import drivers\n" + code
    running = [
        subprocess.Popen([sys.executable, "-c", text], env=kept, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    said = [process.communicate(timeout=120)[0] for process in running]
    assert len(set(said)) == 1
    assert int(said[0]) >= 1
    assert not list((tmp_path / "minitorch" / "opencl").glob("*-new-*"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_child_is_refused(warm_cache):
    said = python(
        """
        import warnings
        warnings.simplefilter("ignore")  # of forking beside threads, which is the point
        assert not drivers.in_bad_fork()
        drivers.usable()
        for attempt in (drivers.usable, drivers.prepare, drivers.check_fork):
            child = os.fork()
            if child == 0:
                try:
                    attempt()
                except RuntimeError as error:
                    print(error, flush=True)
                    os._exit(0 if drivers.in_bad_fork() else 1)
                os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
        drivers.check_fork()
        """,
        XDG_CACHE_HOME=warm_cache,
    )
    lines = said.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("Cannot re-initialize OpenCL in forked subprocess.") for line in lines)
    assert "'spawn' start method" in lines[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork_before_the_first_use_is_fine(warm_cache):
    said = python(
        """
        child = os.fork()
        print(len(drivers.usable()), flush=True)
        if child:
            assert os.waitpid(child, 0)[1] == 0
        """,
        XDG_CACHE_HOME=warm_cache,
    )
    assert len(set(said.split())) == 1


def test_compilers_chatter_is_no_warning(warm_cache):
    python(
        """
        cl = drivers.prepare()
        for found in drivers.usable():  # warnings are errors here
            cl.Program(cl.Context([found.device]), "__kernel void chatter(__global int *a) { a[0] = 1; }").build()
        """,
        XDG_CACHE_HOME=warm_cache,
    )
