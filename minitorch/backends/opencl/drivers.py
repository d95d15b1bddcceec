"""OpenCL's drivers: found, tried, loaded if they passed, and put in order.

A driver is code of others that this process is about to load: it may abort, hang or compute wrong
results, and each of the three has been seen (PoCL's wheel ends the process at its first kernel
where there is no linker).  So nothing is loaded here that has not run a small kernel elsewhere first:

1. `minitorch.backends.opencl.icd` lists the drivers' libraries.
2. `minitorch.backends.opencl.trial` tries each in a process of its own, once: the answer is kept on disk.
3. Those that passed are shown to the loader, and PyOpenCL is imported.
4. Devices are matched with the answers; one that has none (another driver version under the same
   file, say) is tried before it is used.

`usable` does all four and `diagnose` tells what came of it.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from minitorch.backends.opencl import icd, trial
from minitorch.backends.opencl.icd import Library
from minitorch.backends.opencl.trial import Verdict

INSTALL = """\
  pip install "minitorch[opencl-cpu]"   Intel's driver for CPUs (x86-64 Linux; free of charge, not free software)
  pip install "minitorch[opencl-pocl]"  PoCL's, where gcc is installed (Linux)
  pip install "minitorch[opencl]"       none: for machines that have a GPU's driver"""

FORKED = (
    "Cannot re-initialize OpenCL in forked subprocess. To use the opencl device with multiprocessing, "
    "you must use the 'spawn' start method"
)


class OpenCLUnavailable(RuntimeError):
    """There is no PyOpenCL, or no driver that works."""


@dataclass(frozen=True)
class DeviceDescription:
    """A device whose driver ran a kernel and computed the right answer.

    Parameters
    ----------
    device : pyopencl.Device
    platform_index : int
        Its platform's place in ``pyopencl.get_platforms()``.
    platform, vendor, platform_version : str
    name, driver_version : str
    type : str
        "gpu", "accelerator" or "cpu".
    probed : str
        What the probe said, and when.
    """

    device: Any = field(repr=False, compare=False)
    platform_index: int
    platform: str
    vendor: str
    platform_version: str
    name: str
    driver_version: str
    type: str
    probed: str

    def __str__(self) -> str:
        return f"{self.name} ({self.type}), {self.platform}, driver {self.driver_version}"


@dataclass
class State:
    """What this process knows."""

    tried: list[tuple[Library, Verdict]] = field(default_factory=list)
    loader: Verdict | None = None
    vendors: str = ""
    good: list[DeviceDescription] | None = None
    left_out: list[tuple[str, str]] = field(default_factory=list)
    error: str = ""
    loaded_elsewhere: bool = False


_state = State()
_lock = threading.RLock()
_cl: Any = None
_opened_by: int | None = None  # the process whose driver threads exist


def in_bad_fork() -> bool:
    """Return whether this process was forked from one that had loaded the drivers.

    Their threads did not come along, so whatever waits for them would wait forever (PoCL does, after no
    more than a query for its platform).
    """
    return _opened_by is not None and _opened_by != _pid


def loaded() -> bool:
    """Return whether the drivers are loaded."""
    return _opened_by is not None


def check_fork() -> None:
    """Raise where drivers would hang: in a process forked after OpenCL was used."""
    if in_bad_fork():
        raise RuntimeError(FORKED)


_pid = os.getpid()


def _after_fork() -> None:
    global _pid, _lock
    _pid = os.getpid()
    _lock = threading.RLock()  # a thread that did not come along may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def _environment(values: dict[str, str]):
    """Set variables for as long as the loader looks at them."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def prepare() -> Any:
    """Return PyOpenCL with the drivers loaded that passed their test, and no others.

    The loader reads its variables when the first platform is asked for, so that is done here, and they
    are put back as the user had them: a program that this one starts finds its own way.

    Raises
    ------
    OpenCLUnavailable
        If PyOpenCL is not installed or cannot be imported.
    RuntimeError
        In a process forked from one that used OpenCL.
    """
    global _cl, _opened_by
    if _cl is not None:
        check_fork()
        return _cl
    with _lock:
        if _cl is not None:
            return _cl
        if icd.pyopencl_folder() is None:
            raise OpenCLUnavailable(
                f"The opencl device needs PyOpenCL, which is not installed. Install it with one driver:\n{INSTALL}"
            )
        icd.user_cache()
        _state.loaded_elsewhere = "pyopencl" in sys.modules
        if sys.platform.startswith("linux"):
            _state.tried = trial.try_libraries(icd.libraries())
        good = [lib for lib, verdict in _state.tried if verdict.passed()]
        shown: dict[str, str] = {}
        if _state.tried and not (os.environ.get("OCL_ICD_VENDORS") and len(good) == len(_state.tried)):
            shown["OCL_ICD_VENDORS"] = icd.vendors_folder([lib.name for lib in good if not lib.bundled])
        _state.vendors = shown.get("OCL_ICD_VENDORS", "")
        try:
            import pyopencl
        except Exception as error:  # a missing libOpenCL, a NumPy that does not fit, ...
            raise OpenCLUnavailable(f"The opencl device needs PyOpenCL, whose import fails: {error}") from error
        if shown and not any(lib.bundled for lib in good):
            # PyOpenCL's loader always reads the folder beside it as well.
            shown["PYOPENCL_HOME"] = shown["OCL_ICD_VENDORS"]
        _opened_by = _pid
        with _environment(shown):
            try:
                pyopencl.get_platforms()
            except pyopencl.Error:  # there is none
                pass
        # Intel's compiler has something to say about each program, and never of interest.
        warnings.filterwarnings("ignore", category=pyopencl.CompilerWarning)
        _cl = pyopencl
    return _cl


def _type_of(cl: Any, device: Any) -> str:
    for name in ("GPU", "ACCELERATOR", "CPU"):
        if device.type & getattr(cl.device_type, name):
            return name.lower()
    return "other"


def _rank(found: DeviceDescription) -> int:
    if found.type != "cpu":
        return {"gpu": 0, "accelerator": 1}.get(found.type, 4)
    return 2 if "intel" in found.vendor.lower() else 3


def _identity(platform: Any, device: Any) -> tuple[str, ...]:
    """Return the same as `probe.identity`."""
    return (platform.name, platform.vendor, platform.version, device.name.strip(), device.driver_version)


def _devices(cl: Any) -> list[tuple[int, Any, Any, tuple[str, ...]]]:
    """Return (platform index, platform, device, identity) for what the loader shows, each device once.

    Two copies of one driver show the same devices twice; one driver shows equal devices only if there are several.
    """
    try:
        platforms = cl.get_platforms()
    except cl.Error:
        return []
    found, seen = [], set()
    for index, platform in enumerate(platforms):
        try:
            devices = platform.get_devices()
        except cl.Error:
            continue
        names = [_identity(platform, device) for device in devices]
        found += [(index, platform, d, name) for d, name in zip(devices, names, strict=True) if name not in seen]
        seen.update(names)
    return found


def _look(cl: Any) -> tuple[list[DeviceDescription], list[tuple[str, str]]]:
    """Return the devices that passed, and (description, reason) of those that did not."""
    known: dict[tuple[str, ...], tuple[str, Verdict]] = {}
    for _, verdict in _state.tried:
        known.update((name, (reason, verdict)) for name, reason in verdict.devices.items())
    found = _devices(cl)
    unknown = sorted({name for *_, name in found if name not in known})
    if unknown:
        _state.loader = trial.try_through_loader(unknown, [list(name) for name in known], _state.vendors)
        known.update((name, (reason, _state.loader)) for name, reason in _state.loader.devices.items())
    good, bad = [], []
    for index, platform, device, name in found:
        reason, verdict = known.get(name, (_state.loader.reason if _state.loader else "", Verdict()))
        kind = _type_of(cl, device)
        if name not in known:
            bad.append((f"{name[3]} ({name[0]})", reason or "could not be tried in a process of its own"))
        elif reason:
            bad.append((f"{name[3]} ({name[0]})", reason))
        else:
            day = time.strftime("%Y-%m-%d %H:%M", time.localtime(verdict.time))
            good.append(DeviceDescription(
                device, index, platform.name, platform.vendor, platform.version, device.name.strip(),
                device.driver_version, kind, f"passed, {day}" + (" (remembered)" if verdict.remembered else ""),
            ))  # fmt: skip
    for library, verdict in _state.tried:
        if not verdict.passed():
            reasons = verdict.devices.items()
            bad += [(f"{name[3]} ({name[0]}; {library.name})", reason) for name, reason in reasons]
            if verdict.reason:
                bad.append((library.name, verdict.reason))
    return sorted(good, key=_rank), list(dict.fromkeys(bad))


def _choose(found: list[DeviceDescription], wanted: str) -> list[DeviceDescription]:
    """Return the devices that MINITORCH_OPENCL_DEVICES names, in its order."""
    chosen: list[DeviceDescription] = []
    for item in [part.strip() for part in wanted.split(",") if part.strip()]:
        if item.isdecimal():
            matches = found[int(item) : int(item) + 1]
        else:
            text = item.lower()
            matches = [d for d in found if text in f"{d.platform}|{d.vendor}|{d.name}|{d.type}".lower()]
        if not matches:
            have = "".join(f"\n  {i}: {d}" for i, d in enumerate(found[:4])) or " none"
            raise OpenCLUnavailable(
                f"MINITORCH_OPENCL_DEVICES={wanted}: {item!r} is neither the index nor part of the name of a usable "
                f"device. There are:{have}"
            )
        chosen += [match for match in matches if not any(match is other for other in chosen)]
    return chosen


def _nothing(left_out: list[tuple[str, str]]) -> str:
    """Return the message where no device is left, six lines at most."""
    if not left_out:
        return f"No OpenCL driver was found. Install one:\n{INSTALL}"
    lines = [f"  {what}: {why}"[:400] for what, why in left_out[:3]]
    if len(left_out) > 3:
        lines[2] = f"  and {len(left_out) - 2} more"
    return "No OpenCL driver works here:\n" + "\n".join(lines) + (
        '\nminitorch.opencl.diagnose() tells more; pip install "minitorch[opencl-cpu]" brings a driver for any x86-64 Linux.'
    )


def usable() -> list[DeviceDescription]:
    """Return the devices that work, in the order of their index: at least one.

    GPUs come first, then accelerators, Intel's driver for CPUs, and other drivers for CPUs.
    ``MINITORCH_OPENCL_DEVICES``, a list of indices and parts of names such as ``intel,pocl``, picks from them
    and orders them anew.

    Raises
    ------
    OpenCLUnavailable
        If there is none; the message says what was found and why it is not used.
    RuntimeError
        In a process forked from one that used OpenCL.
    """
    check_fork()
    if _state.good is None:
        with _lock:
            cl = prepare()
            if _state.good is None and not _state.error:
                found, _state.left_out = _look(cl)
                try:
                    if not found:
                        raise OpenCLUnavailable(_nothing(_state.left_out))
                    wanted = os.environ.get("MINITORCH_OPENCL_DEVICES", "").strip()
                    _state.good = _choose(found, wanted) if wanted else found
                except OpenCLUnavailable as error:
                    _state.error = str(error)
    if _state.good is None:
        raise OpenCLUnavailable(_state.error)
    return list(_state.good)


def diagnose() -> str:
    """Return a report: what was found, what the probe said, which devices there are and why others are not."""
    lines = [f"Python {sys.version.split()[0]} on {sys.platform}, {trial.processor() or 'unknown processor'}"]
    error = ""
    devices: list[DeviceDescription] = []
    try:
        devices = usable()
    except RuntimeError as caught:
        error = str(caught)
    if _cl is not None:
        lines.append(f"PyOpenCL {_cl.VERSION_TEXT} in {icd.pyopencl_folder()}")
    names = (
        "MINITORCH_OPENCL_DEVICES", "MINITORCH_OPENCL_PROBE_TIMEOUT", "OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH",
        "LD_LIBRARY_PATH", "LD_PRELOAD", "XDG_CACHE_HOME", "POCL_CACHE_DIR",
    )  # fmt: skip
    lines += [f"{name}={os.environ[name]}" for name in names if os.environ.get(name)]
    lines.append(f"What is remembered lies in {icd.cache_folder()}")
    tools = {tool: shutil.which(tool) for tool in ("ld", "gcc")}
    lines.append("PoCL needs: " + ", ".join(f"{tool} ({path or 'MISSING'})" for tool, path in tools.items()))
    loaders = "those that the loader finds" if _cl is not None else "not looked for"
    lines.append("Drivers:" if _state.tried else f"Drivers: {loaders}")
    for library, verdict in _state.tried:
        said = "passed" if verdict.flawless() else verdict.reason or "some devices fail"
        if not verdict.passed():
            said = f"left out: {verdict.reason or '; '.join(verdict.devices.values())}"
        lines.append(f"  {library.name} [{library.origin}]: {said}")
    lines.append("Devices:" if devices else "Devices: none")
    lines += [f"  opencl:{i}: {device}; {device.probed}" for i, device in enumerate(devices)]
    if _state.left_out:
        lines.append("Left out:")
        lines += [f"  {what}: {why}" for what, why in _state.left_out]
    if _state.loaded_elsewhere:
        lines.append(
            "PyOpenCL was imported before this package. If it had also been used, drivers found since are missing "
            "here: import minitorch and use its device first."
        )
    if error:
        lines.append(error)
    return "\n".join(lines)
