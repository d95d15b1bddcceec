"""Every CUDA source goes through NVIDIA's compiler, for three generations of GPUs; no GPU is needed.

Needs the wheels nvidia-cuda-nvrtc-cu12 and CuPy; skipped where they are not (MINITORCH_REQUIRE_NVRTC=1: fails).
"""

from __future__ import annotations

import os

import pytest
from compilation import ARCHITECTURES, CASES, IDS

from minitorch.backends.cuda.programs import OPTIONS, source


@pytest.fixture(scope="module")
def nvrtc():
    try:
        from cupy.cuda import nvrtc

        nvrtc.getVersion()
    except Exception as error:
        if os.environ.get("MINITORCH_REQUIRE_NVRTC", "0") not in ("", "0"):
            raise
        pytest.skip(f"NVRTC cannot be used here: {error}")
    return nvrtc


def compile_ptx(nvrtc, text: str, architecture: str) -> str:
    program = nvrtc.createProgram(text, "kernels.cu", (), ())
    try:
        nvrtc.compileProgram(program, (f"-arch=compute_{architecture}", *OPTIONS))
        return nvrtc.getPTX(program).decode()
    except nvrtc.NVRTCError:
        pytest.fail(nvrtc.getProgramLog(program))
    finally:
        nvrtc.destroyProgram(program)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("name", "types"), CASES, ids=IDS)
def test_every_source_compiles(nvrtc, name, types, architecture):
    text = source(name, types)
    ptx = compile_ptx(nvrtc, text, architecture)
    assert f".target sm_{architecture}" in ptx
    assert ".visible .entry" in ptx


def test_a_mistake_is_reported(nvrtc):
    text = source("philox", {}).replace("w.v[p]", "w.nothing[p]")
    with pytest.raises(pytest.fail.Exception, match="nothing"):
        compile_ptx(nvrtc, text, "80")
