"""``minitorch.cuda`` and the device ``cuda`` where there is no GPU: answers, and short errors; nothing is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import minitorch as mt

ROOT = Path(__file__).parents[3]


def run_python(code: str) -> subprocess.CompletedProcess:
    path = os.pathsep.join([str(ROOT), str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )


WITHOUT_CUPY = """
import sys
sys.modules["cupy"] = None  # importing it is an ImportError
import minitorch as mt
"""


def test_without_cupy_there_are_no_devices_and_no_errors():
    done = run_python(WITHOUT_CUPY + """
assert not mt.cuda.is_available() and mt.cuda.device_count() == 0 and not mt.cuda.is_initialized()
mt.cuda.manual_seed(1); mt.cuda.manual_seed_all(1); mt.cuda.seed(); mt.cuda.seed_all(); mt.cuda.empty_cache()
mt.cuda.set_device(-1)
assert mt.cuda.memory_allocated() == mt.cuda.max_memory_allocated() == mt.cuda.memory_reserved() == 0
assert mt.cuda.memory_stats() == {} and mt.cuda.get_rng_state_all() == [] and not mt.cuda.is_bf16_supported()
assert mt.accelerator.current_accelerator() is None
mt.manual_seed(0)
""")  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "use",
    ["mt.ones(2).to('cuda')", "mt.ones(2).cuda()", "mt.zeros(2, device='cuda')", "mt.nn.Linear(2, 2).cuda()", "mt.cuda.init()",
     "mt.cuda.current_device()", "mt.cuda.Stream()", "mt.ones(2).pin_memory()", "mt.cuda.synchronize()",
     "mt.Generator('cuda')"],
)  # fmt: skip
def test_use_without_cupy_says_what_to_install(use):
    done = run_python(WITHOUT_CUPY + f"""
try:
    {use}
except Exception as error:
    assert isinstance(error, (NotImplementedError, AssertionError)), type(error)
    assert "CuPy cannot be imported" in str(error) and "pip install 'minitorch[cuda12]'" in str(error), error
    assert len(str(error)) < 400
else:
    raise SystemExit("no error")
""")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_import_touches_neither_cupy_nor_a_device():
    done = run_python("import sys, minitorch; minitorch.cuda.Stream; print('cupy' in sys.modules)")
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize(("fails", "text"), [
    ("raise RuntimeError('cudaErrorNoDevice: no CUDA-capable device is detected')", "no CUDA-capable device is detected"),
    ("raise OSError('libcudart.so.12: cannot open shared object file')", "libcudart.so.12"),
    ("return 0", "CUDA says that there are no devices"),
])  # fmt: skip
def test_without_a_driver_there_are_no_devices(fails, text):
    done = run_python(f"""
import strict_cupy
cupy = strict_cupy.install()
def count():
    {fails}
cupy.cuda.runtime.getDeviceCount = count
import minitorch as mt
assert mt.cuda.device_count() == 0 and not mt.cuda.is_available()
try:
    mt.ones(2).to("cuda")
except NotImplementedError as error:
    assert "there is no backend for the device 'cuda' on this machine" in str(error) and {text!r} in str(error), error
else:
    raise SystemExit("no error")
""")
    assert done.returncode == 0, done.stdout + done.stderr


def test_host_tensors_are_exchanged_by_dlpack():
    import numpy as np

    x = mt.arange(6).reshape(2, 3)
    assert x.__dlpack_device__()[0] == 1
    shared = np.from_dlpack(x)
    x[0, 0] = 7
    assert shared[0, 0] == 7
    assert mt.from_dlpack(shared).data_ptr() == x.data_ptr()
    with pytest.raises(BufferError, match="require gradient"):
        mt.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match="on meta"):
        mt.ones(2, device="meta").__dlpack__()
    with pytest.raises(AttributeError, match="__cuda_array_interface__ on non-CUDA"):
        x.__cuda_array_interface__  # noqa: B018
    assert not x.is_pinned()
