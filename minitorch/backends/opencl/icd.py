"""Which OpenCL driver libraries this machine has, and the folder that shows them to the loader.

Note [How a driver is found].  PyOpenCL's wheel brings a loader (ocl-icd) of its own.  It reads the
``.icd`` files of ``/etc/OpenCL/vendors``, each of which names a driver's library, and those beside
PyOpenCL, where the wheel of PoCL puts its own.  The wheel of Intel's CPU runtime installs its file where
no loader looks, with a placeholder for a path.  ``OCL_ICD_VENDORS`` names another folder to read, or
one library; the loader looks at it once, when the first OpenCL function is called.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import site
import sys
from dataclasses import dataclass
from pathlib import Path

SYSTEM_VENDORS = "/etc/OpenCL/vendors"
INTEL_LIBRARY = "libintelocl.so"
LIBRARY_FOLDERS = (
    "/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64", "/usr/local/cuda/lib64",
    "/opt/rocm/lib", f"/usr/lib/{os.uname().machine if hasattr(os, 'uname') else 'x86_64'}-linux-gnu",
)  # fmt: skip


@dataclass(frozen=True)
class Library:
    """A driver's library.

    Parameters
    ----------
    name : str
        What the loader opens: a path, or a name that the dynamic linker looks up.
    origin : str
        The file or variable that names it.
    bundled : bool
        Whether PyOpenCL's loader finds it without being told.
    problem : str
        Why it is left out without being tried; empty where nothing is known against it.
    """

    name: str
    origin: str
    bundled: bool = False
    problem: str = ""

    def path(self) -> str | None:
        """Return the file, None where only the dynamic linker knows it."""
        if os.path.isabs(self.name):
            return self.name if os.path.exists(self.name) else None
        folders = os.environ.get("LD_LIBRARY_PATH", "").split(":") + list(LIBRARY_FOLDERS)
        for folder in folders:
            path = os.path.join(folder, self.name)
            if folder and os.path.exists(path):
                return path
        return None


def pyopencl_folder() -> Path | None:
    """Return the folder of PyOpenCL, without importing it; None where it is not installed."""
    loaded = sys.modules.get("pyopencl")
    if loaded is not None:
        return Path(loaded.__file__ or "").parent
    try:
        spec = importlib.util.find_spec("pyopencl")
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def prefixes() -> list[Path]:
    """Return the folders under which pip may have put the ``lib`` of a wheel."""
    found = [Path(sys.prefix), Path(sys.base_prefix)]
    if site.ENABLE_USER_SITE:
        found.append(Path(site.getuserbase()))
    package = pyopencl_folder()
    if package is not None:
        found.append(package.parent)  # pip install --target
        found += package.parents[3:4]  # <prefix>/lib/python3.x/site-packages/pyopencl
    if os.environ.get("CONDA_PREFIX"):
        found.append(Path(os.environ["CONDA_PREFIX"]))
    return list(dict.fromkeys(found))


def read_icd(file: Path, base: Path | None = None, bundled: bool = False) -> Library:
    """Return the library that an ``.icd`` file names."""
    try:
        name = file.read_text().strip().partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        return Library(file.name, str(file), bundled, f"cannot be read ({error})")
    if not name:
        return Library(file.name, str(file), bundled, "names no library (the file is empty)")
    if base is not None and not os.path.isabs(name):
        name = str(base / name)
    if os.path.isabs(name) and not os.path.exists(name):
        return Library(name, str(file), bundled, "there is no such file")
    return Library(name, str(file), bundled)


def icd_folder(folder: str | Path) -> list[Library]:
    """Return the libraries that the ``.icd`` files of a folder name."""
    try:
        files = sorted(Path(folder).glob("*.icd"))
    except OSError:
        return []
    return [read_icd(file) for file in files]


def bundled_libraries() -> list[Library]:
    """Return the drivers whose ``.icd`` lies beside PyOpenCL: PoCL's, where its wheel is installed."""
    package = pyopencl_folder()
    if package is None:
        return []
    folder = package / ".libs"
    return [read_icd(file, base=folder, bundled=True) for file in sorted(folder.glob("*.icd"))]


def libraries() -> list[Library]:
    """Return the drivers' libraries, each file once: those the user chose, else all that are found."""
    chosen = os.environ.get("OCL_ICD_VENDORS")
    if chosen:
        if os.path.isdir(chosen):
            found = icd_folder(chosen) + bundled_libraries()
        elif chosen.endswith(".icd"):
            found = [read_icd(Path(chosen))]
        else:
            missing = os.path.isabs(chosen) and not os.path.exists(chosen)
            found = [Library(chosen, "OCL_ICD_VENDORS", problem="there is no such file" if missing else "")]
    else:
        found = icd_folder(os.environ.get("OPENCL_VENDOR_PATH") or SYSTEM_VENDORS)
        for prefix in prefixes():
            # Intel's wheel puts placeholders here, which say nothing about this machine.
            found += [lib for lib in icd_folder(prefix / "etc" / "OpenCL" / "vendors") if not lib.problem]
            intel = prefix / "lib" / INTEL_LIBRARY
            if intel.exists():
                found.append(Library(str(intel), "found by its name"))
        found += bundled_libraries()
    unique: dict[str, Library] = {}
    for library in found:
        unique.setdefault(os.path.realpath(library.path() or library.name), library)
    return list(unique.values())


def writable(folder: Path) -> bool:
    """Return whether files can be made in a folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def temporary_cache() -> Path:
    """Return this user's folder under the temporary one, which nobody else can write to."""
    import tempfile

    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"minitorch-cache-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if not folder.is_symlink() and (status.st_mode & 0o022) == 0 and status.st_uid in (user, 0):
            if os.access(folder, os.W_OK | os.X_OK):
                return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="minitorch-cache-"))


_cache: Path | None = None


def user_cache() -> Path:
    """Return the folder for all caches of this user.

    Where it cannot be written to, a temporary one takes its place, for PoCL and PyOpenCL too: without
    one PoCL shows no device and says nothing, and PyOpenCL fails at the first build.
    """
    global _cache
    if _cache is None:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        folder = Path(home)
        if not os.path.isabs(home) or not writable(folder):
            folder = temporary_cache()
            os.environ["XDG_CACHE_HOME"] = str(folder)
            if not sys.platform.startswith("linux"):
                os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
        pocl = os.environ.get("POCL_CACHE_DIR")
        if pocl and not writable(Path(pocl)):
            os.environ["POCL_CACHE_DIR"] = str(folder / "pocl")
        _cache = folder
    return _cache


def cache_folder() -> Path:
    """Return the folder in which this package remembers what it found out."""
    folder = user_cache() / "minitorch" / "opencl"
    return folder if writable(folder) else temporary_cache()


def vendors_folder(names: list[str]) -> str:
    """Return a folder whose ``.icd`` files name these libraries.

    It is named by what it holds and appears whole, so that processes which start at once can share it.
    """
    import shutil
    import tempfile

    key = hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
    folder = cache_folder() / f"vendors-{key}"
    expected = {f"{i:02d}.icd": name + "\n" for i, name in enumerate(names)}
    try:
        if {file.name: file.read_text() for file in folder.iterdir()} == expected:
            return str(folder)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        pass
    new = Path(tempfile.mkdtemp(dir=cache_folder(), prefix="vendors-new-"))
    for file, text in expected.items():
        (new / file).write_text(text)
    try:
        new.rename(folder)
    except OSError:  # another process was first, or the folder could not be removed
        return str(new)
    return str(folder)
