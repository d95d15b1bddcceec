"""What the package asks of CuPy is what a real CuPy has: names, and signatures.  Needs CuPy and no GPU."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from record_names import FILE, collect

import minitorch

PACKAGE = Path(minitorch.__file__).parent
RECORDED = json.loads(FILE.read_text(encoding="utf-8"))
# Of the namespace itself, and not of CuPy.
OWN = {"vecdot", "ndarray", "default_generator", "Tensor", "__name__", "reduction"}


def asked_of(names: set[str], folder: Path) -> dict[str, str]:
    """Return what is asked of variables of these names in a folder: ``"linalg.solve"`` -> ``"file:line"``."""
    found = {}
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            parts, at = [], node
            while isinstance(at, ast.Attribute):
                parts.append(at.attr)
                at = at.value
            is_call = isinstance(at, ast.Call) and isinstance(at.func, ast.Name) and at.func.id in names
            if parts and ((isinstance(at, ast.Name) and at.id in names) or is_call):
                found.setdefault(".".join(reversed(parts)), f"{path.name}:{node.lineno}")
    return found


ASKED = {
    **asked_of({"xp"}, PACKAGE / "backends" / "array"),
    **asked_of({"cupy", "library"}, PACKAGE / "backends" / "cuda"),
}


def known(path: str) -> bool:
    first, _, rest = path.partition(".")
    if first in OWN:
        return True
    if first == "cuda":
        second, _, third = rest.partition(".")
        if second in ("runtime", "Stream", "Event") and third:
            return third.partition(".")[0] in RECORDED[second]
        return not second or second in RECORDED["cuda"]
    if first in ("linalg", "fft") and rest:
        return rest.partition(".")[0] in (*RECORDED["namespaces"][first], "LinAlgError")
    return first in RECORDED["names"]


def test_everything_asked_for_is_there():
    # What CuPy lacks is computed on the CPU; new gaps are to be seen here first.
    lacking = {path: where for path, where in ASKED.items() if not known(path)}
    assert lacking == {}


def test_sparse_matrices_are_there():
    asked = asked_of({"cupyx_sparse"}, PACKAGE / "backends" / "cuda")
    assert "csr_matrix" in asked
    assert set(asked) <= set(RECORDED["sparse"])
    asked = asked_of({"matrix", "product"}, PACKAGE / "backends" / "cuda")
    of_matrices = {name for name, where in asked.items() if where.startswith("sparse.py") and "." not in name}
    attributes = {"indptr", "indices", "data"}  # of instances
    assert {"T", "sort_indices"} <= of_matrices <= attributes | set(RECORDED["csr_matrix"])


def test_the_check_sees_what_is_not_there():
    assert not known("geomspace_of_nothing")
    assert not known("cuda.runtime.getNothing")
    assert len(ASKED) > 150


def test_the_record_is_true():
    """The recorded names and signatures are those of the installed CuPy, if it is the recorded version or a later one."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    if cupy.__version__.startswith("0+"):
        pytest.skip("this is the stand-in")
    actual = collect(cupy)
    for part in ("names", "ufuncs", "ndarray", "cuda", "runtime", "Stream", "Event", "MemoryPool"):
        missing = set(RECORDED[part]) - set(actual[part])
        if cupy.__version__ == RECORDED["version"]:
            assert actual[part] == RECORDED[part]
        assert not {name for name in missing if name in {p.rpartition(".")[2] for p in ASKED}}, part
    for path in ASKED:
        name = path.partition(".")[0]
        if name in RECORDED["functions"]:
            assert actual["functions"][name] == RECORDED["functions"][name], f"{name}: record the names again"


def test_construction_needs_no_driver():
    """What is made at the first use of the device, and does not touch one."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    if cupy.__version__.startswith("0+"):
        pytest.skip("this is the stand-in")
    from minitorch.backends.cuda.namespace import namespace
    from minitorch.backends.cuda.programs import OPTIONS, source

    xp = namespace()
    assert xp.float32 is cupy.float32
    assert xp.add.eager is cupy.add
    cupy.RawModule(code=source("philox", {}), options=OPTIONS)
    if not cupy.cuda.is_available():
        assert not minitorch.cuda.is_available()
        assert minitorch.cuda.device_count() == 0
        with pytest.raises(
            NotImplementedError, match="there is no backend for the device 'cuda' on this machine: CUDA has no device"
        ):
            minitorch.ones(2).to("cuda")


def test_the_stand_in_has_nothing_that_cupy_has_not():
    """Else what is tried on it says nothing."""
    from strict_cupy.device import make_cuda
    from strict_cupy.module import NAMES
    from strict_cupy.ndarray import _METHODS, ndarray

    assert NAMES == RECORDED
    public = {name for name in vars(ndarray) if not name.startswith("_")}
    assert public | _METHODS <= set(RECORDED["ndarray"])
    cuda = make_cuda()
    own = {"pool", "pinned_pool"}  # behind get_default_memory_pool() and its kind
    assert {name for name in vars(cuda) if not name.startswith("_")} - own <= {*RECORDED["cuda"]}
    assert set(vars(cuda.runtime)) <= set(RECORDED["runtime"])
    for kind in ("Stream", "Event", "MemoryPool"):
        made = getattr(cuda, kind)()
        there = {name for name in dir(made) if not name.startswith("_")} - {
            "log",
            "kept",
            "timed",
            "time",
            "device_id",
            "non_blocking",
        }
        assert there <= {*RECORDED[kind], "ptr"}, kind
