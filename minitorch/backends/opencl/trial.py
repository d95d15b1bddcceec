"""Drivers on trial: each runs a small kernel in a process of its own, and the answer is remembered.

What is remembered lies in the cache of the user, a file for each answer, under a key of all that the answer
depends on: the library, PyOpenCL, the linker that PoCL calls, the processor, and the probe itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minitorch.backends.opencl import icd
from minitorch.backends.opencl.icd import Library

PROBE = Path(__file__).with_name("probe.py")
TIMEOUT = 60.0
RETRY_FAILED_AFTER = 24 * 3600.0  # the cause may have gone without changing anything that the key knows
NO_DEVICE = "offers no device on this machine"
NO_INTERPRETER = "cannot be tried: this program has no Python to start"


@dataclass
class Verdict:
    """What the probe found out about one driver library, or about devices that the loader showed.

    Parameters
    ----------
    devices : dict from a device's identity to what is wrong with it ("" for nothing)
    reason : str
        Why there are no devices at all.
    time : float
        Seconds since the epoch.
    remembered : bool
        Whether it was read from disk.
    """

    devices: dict[tuple[str, ...], str] = field(default_factory=dict)
    reason: str = ""
    time: float = 0.0
    remembered: bool = False

    def passed(self) -> bool:
        return not self.reason and "" in self.devices.values()

    def flawless(self) -> bool:
        return not self.reason and set(self.devices.values()) == {""}


def _stamp(path: str | Path | None) -> list:
    """Return what changes when a file does."""
    if path is None:
        return []
    try:
        status = os.stat(path)
    except OSError:
        return [str(path)]
    return [str(path), status.st_mtime_ns, status.st_size]


def processor() -> str:
    """Return the CPU's model: a cache may be shared by machines, and PoCL compiles for the CPU it meets."""
    try:
        with open("/proc/cpuinfo") as file:
            text = file.read(4096)
    except OSError:
        import platform

        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line), "")


def _surroundings() -> list:
    """Return what every answer depends on."""
    package = icd.pyopencl_folder()
    return [
        _stamp(PROBE),
        _stamp(package and package / "version.py"),
        _stamp(package and package / "__init__.py"),
        # PoCL calls the C compiler's linker at run time.
        [shutil.which(tool) for tool in ("ld", "gcc", "clang")],
        [os.environ.get(name) for name in ("LD_LIBRARY_PATH", "LD_PRELOAD", "POCL_DEVICES")],
        processor(),
        sys.version,
    ]


def key_of(about: list) -> str:
    return hashlib.sha256(json.dumps([about, _surroundings()]).encode()).hexdigest()[:32]


def library_key(library: Library) -> str:
    path = library.path()
    # A library that lacks another cannot be loaded until that is put beside it: the folder changes then.
    folder = _stamp(os.path.dirname(path))[:2] if path else []
    return key_of([library.name, _stamp(path and os.path.realpath(path)), folder])


def record_file(key: str) -> Path:
    return icd.cache_folder() / f"probe-{key}.json"


def recall(key: str) -> Verdict | None:
    """Return a remembered verdict, None where there is none or it is worth another try."""
    try:
        stored = json.loads(record_file(key).read_text())
        devices = {tuple(name): reason for name, reason in stored["devices"]}
        verdict = Verdict(devices, stored["reason"], stored["time"], remembered=True)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    age = time.time() - verdict.time
    if not verdict.flawless() and not 0 <= age < RETRY_FAILED_AFTER:
        return None
    return verdict


def remember(key: str, verdict: Verdict) -> None:
    """Write a verdict to disk, whole or not at all; without a disk it holds for this process."""
    content = {"devices": list(verdict.devices.items()), "reason": verdict.reason, "time": verdict.time}
    import tempfile

    try:
        handle, name = tempfile.mkstemp(dir=icd.cache_folder(), prefix="probe-new-")
        with os.fdopen(handle, "w") as file:
            json.dump(content, file)
        os.replace(name, record_file(key))
    except OSError:
        pass


def _interpreter() -> str | None:
    """Return the Python to run the probe in; None in a program that has been frozen into one file."""
    return None if getattr(sys, "frozen", False) else sys.executable or None


def _death(code: int | None, noise: str) -> str:
    """Return in words how the probe's process ended before its time."""
    if code is None:
        return "hangs"
    import signal

    if code < 0:
        try:
            how = f"ends the process ({signal.Signals(-code).name})"
        except ValueError:
            how = f"ends the process (signal {-code})"
    else:
        how = f"ends the process (exit status {code})"
    lines = [line.strip() for line in noise.splitlines() if line.strip()]
    return f"{how}: {lines[-1][:200]}" if lines else how


def _run(library: str, vendors: str | None, skip: list, timeout: float) -> tuple[list[dict], str]:
    """Run the probe once; return its events and, where it did not come to its end, how it ended."""
    import subprocess
    import tempfile

    interpreter = _interpreter()
    assert interpreter is not None
    package = icd.pyopencl_folder()
    with tempfile.TemporaryDirectory(prefix="minitorch-probe-", ignore_cleanup_errors=True) as folder:
        # Kernels that an earlier run compiled would hide that the driver cannot compile any more.
        environment = {**os.environ, "PYOPENCL_NO_CACHE": "1", "POCL_CACHE_DIR": folder, "XDG_CACHE_HOME": folder}
        if vendors is not None:
            environment["OCL_ICD_VENDORS"] = vendors
        report = os.path.join(folder, "report")
        command = [interpreter, "-P", str(PROBE), report, str(package.parent) if package else "", library]
        with open(os.path.join(folder, "noise"), "w+b") as noise:
            process = subprocess.Popen(
                [*command, json.dumps(skip)],
                stdin=subprocess.DEVNULL, stdout=noise, stderr=noise, env=environment, start_new_session=True,
            )  # fmt: skip
            try:
                code: int | None = process.wait(timeout)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                if process.poll() is None:
                    _kill(process)
            noise.seek(0)
            text = noise.read(1 << 20).decode(errors="replace")
        try:
            lines = Path(report).read_text().splitlines()
        except OSError:
            lines = []
    events = [json.loads(line) for line in lines if line.endswith("}")]
    ended = bool(events) and events[-1]["event"] in ("done", "failed")
    return events, "" if ended else _death(code, text)


def _kill(process: Any) -> None:
    """End the probe and whatever it started (PoCL's linker, say)."""
    import signal

    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, OSError):
        process.kill()
    process.wait()


def probe(library: str, vendors: str | None, skip: list | None = None) -> Verdict:
    """Try a library's devices, or those that the loader shows where `library` is empty."""
    timeout = float(os.environ.get("MINITORCH_OPENCL_PROBE_TIMEOUT") or TIMEOUT)
    verdict = Verdict(time=time.time())
    left = list(skip or [])
    refused = ""
    while True:
        events, death = _run(library, vendors, left, timeout)
        begun = None
        for event in events:
            if event["event"] == "begin":
                begun = event["device"]
            elif event["event"] == "end":
                verdict.devices[tuple(event["device"])] = event["reason"]
                left.append(event["device"])
                begun = None
            elif event["event"] in ("failed", "platform"):
                refused = event["reason"]
        if death == "hangs":
            death = f"hangs: no answer within {timeout:g} seconds"
        if not death:
            break
        if begun is None:  # not the fault of one device
            stage = events[-1]["event"] if events else ""
            what = {"load": "loading it ", "platforms": "asking it for platforms "}.get(stage, "")
            verdict.reason = f"{what}{death}"
            return verdict
        verdict.devices[tuple(begun)] = f"a small kernel {death}"
        left.append(begun)  # the other devices have not had their turn
    if not verdict.devices:
        verdict.reason = refused or NO_DEVICE
    return verdict


def _try_library(library: Library, key: str) -> Verdict:
    """Return the verdict on a library that none is remembered of."""
    if _interpreter() is None:
        return Verdict(reason=NO_INTERPRETER, time=time.time())
    verdict = probe(library.name, library.name)
    if verdict.reason == NO_DEVICE:
        # A loader other than PyOpenCL's own takes nothing but a folder.
        again = probe(library.name, icd.vendors_folder([library.name]))
        verdict = again if again.devices else verdict
    remember(key, verdict)
    return verdict


def try_libraries(libraries: list[Library]) -> list[tuple[Library, Verdict]]:
    """Return the verdicts, those that need a process side by side."""
    verdicts: dict[Library, Verdict | None] = {}
    keys = {library: library_key(library) for library in libraries if not library.problem}
    for library in libraries:
        verdicts[library] = (
            Verdict(reason=library.problem, time=time.time()) if library.problem else recall(keys[library])
        )

    def work(library: Library) -> None:
        try:
            verdicts[library] = _try_library(library, keys[library])
        except Exception as error:  # in a thread of its own, where nobody would see it
            verdicts[library] = Verdict(reason=f"could not be tried: {error!r}", time=time.time())

    cold = [library for library, verdict in verdicts.items() if verdict is None]
    threads = [threading.Thread(target=work, args=(library,), daemon=True) for library in cold]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [(library, verdict) for library, verdict in verdicts.items() if verdict is not None]


def try_through_loader(names: list[tuple[str, ...]], tried: list, vendors: str) -> Verdict:
    """Return a verdict on devices that no library's verdict tells of, tried as the loader shows them.

    Parameters
    ----------
    names : list of identities
    tried : list of identities
        Devices that need no trial.
    vendors : str
        The folder that the loader was shown; empty where it looked where it always does.
    """
    key = key_of(["through the loader", names, vendors, os.environ.get("OCL_ICD_VENDORS")])
    verdict = recall(key)
    if verdict is None:
        if _interpreter() is None:
            return Verdict(reason=NO_INTERPRETER, time=time.time())
        verdict = probe("", vendors or None, tried)
        remember(key, verdict)
    return verdict


def forget() -> None:
    """Remove what is remembered on disk, so that the next process tries every driver again."""
    for file in icd.cache_folder().glob("probe-*.json"):
        file.unlink(missing_ok=True)
