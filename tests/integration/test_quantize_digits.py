"""The example of quantization, with few epochs: what it prints is checked by its exit status."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="scikit-learn carries the digits")

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def quantize_digits():
    path = list(sys.path)
    spec = importlib.util.spec_from_file_location("quantize_digits_example", EXAMPLES / "quantize_digits.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = path
    sys.modules.pop("digits", None)


def has_opencl():
    from minitorch.backends.opencl import drivers

    try:
        drivers.usable()
    except drivers.OpenCLUnavailable:
        if os.environ.get("MINITORCH_REQUIRE_OPENCL", "0") not in ("", "0"):
            raise
        return False
    return True


def test_the_digits_network_in_8_bits(quantize_digits, tmp_path, capsys):
    device = "opencl" if has_opencl() else "cpu"
    status = quantize_digits.main(["--epochs", "3", "--device", device, "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert status == 0, printed
    assert "int8, quantized after training: test accuracy" in printed
    assert "FAILED" not in printed
    sizes = [(tmp_path / f"digits-{kind}.pt").stat().st_size for kind in ("int8", "float32")]
    assert 0.25 < sizes[0] / sizes[1] < 0.265
    if device == "opencl":
        assert printed.count("on cpu and opencl are bit-equal: True") == 2
