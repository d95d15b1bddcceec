"""Files of safetensors: every dtype both ways, shared memory, errors; and against safetensors.torch."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import minitorch

if os.environ.get("MINITORCH_REQUIRE_INTEROP"):
    import safetensors
else:
    safetensors = pytest.importorskip("safetensors", minversion="0.8")

from minitorch.interop.safetensors import load, load_file, load_model, save, save_file, save_model

DTYPES = [
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool", "complex64",
]  # fmt: skip


def bytes_of(tensor):
    return tensor.detach().cpu().numpy().tobytes()


def samples(dtype):
    values = minitorch.tensor([[0.0, 1.0, 2.0], [0.5, 3.0, 1.5]], dtype=minitorch.float32)
    return {
        "matrix": values.to(dtype),
        "scalar": minitorch.tensor(1).to(dtype),
        "empty": minitorch.empty(0, 3, dtype=dtype),
    }


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_comes_back(tmp_path, name):
    tensors = samples(getattr(minitorch, name))
    save_file(tensors, tmp_path / "a.safetensors", metadata={"epoch": "3"})
    for found in (load_file(tmp_path / "a.safetensors"), load((tmp_path / "a.safetensors").read_bytes()), load(save(tensors))):
        assert found.keys() == tensors.keys()
        for key, tensor in tensors.items():
            assert found[key].dtype == tensor.dtype
            assert found[key].shape == tensor.shape
            assert bytes_of(found[key]) == bytes_of(tensor)
            found[key].zero_()  # its own memory, which can be written
    with safetensors.safe_open(tmp_path / "a.safetensors", framework="numpy") as file:
        assert file.metadata() == {"epoch": "3"}


@pytest.mark.oracle
@pytest.mark.parametrize("name", DTYPES)
def test_files_are_those_of_torch(torch, name):
    from safetensors import torch as theirs

    tensors = samples(getattr(minitorch, name))
    found = theirs.load(save(tensors, {"a": "b"}))
    for key, tensor in tensors.items():
        assert str(found[key].dtype) == str(tensor.dtype)
        assert found[key].shape == tuple(tensor.shape)
        assert found[key].contiguous().flatten().view(torch.uint8).numpy().tobytes() == bytes_of(tensor)
    assert theirs.save(found, {"a": "b"}) == save(tensors, {"a": "b"})
    for key, tensor in load(theirs.save(found)).items():
        assert bytes_of(tensor) == bytes_of(tensors[key])


def test_parameters_and_lazy_conjugates_are_saved_by_value():
    z = minitorch.tensor([1 + 2j, 3 - 1j], dtype=minitorch.complex64)
    p = minitorch.nn.Parameter(minitorch.ones(2))
    found = load(save({"conj": z.conj(), "p": p}))
    assert found["conj"].tolist() == [1 - 2j, 3 + 1j]
    assert type(found["p"]) is minitorch.Tensor
    assert not found["p"].requires_grad


def test_shared_memory_is_refused_and_neighbours_are_not():
    x = minitorch.arange(6.0)
    found = load(save({"head": x[:3], "tail": x[3:]}))
    assert found["tail"].tolist() == [3.0, 4.0, 5.0]
    with pytest.raises(RuntimeError, match=r"share memory: \[\['whole', 'part'\]\]"):
        save({"part": x[2:4], "whole": x})


@pytest.mark.parametrize(
    ("tensors", "error", "message"),
    [
        ([minitorch.ones(1)], ValueError, "a dict of names and tensors is saved, not list"),
        ({"x": np.ones(2)}, ValueError, "'x' is ndarray, not a Tensor"),
        ({"x": minitorch.ones(2, 3).T}, ValueError, r"'x' is not contiguous, strides \(1, 3\)"),
        ({"x": minitorch.ones(2, dtype=minitorch.complex128)}, ValueError, "has dtype torch.complex128, which the format lacks"),
    ],
    ids=["list", "array", "strides", "dtype"],
)
def test_what_cannot_be_saved_is_named(tensors, error, message):
    with pytest.raises(error, match=message):
        save(tensors)


def test_a_dtype_that_is_not_known_is_named(tmp_path):
    x = np.zeros(2, np.uint8)
    spec = safetensors.TensorSpec(dtype="float8_e8m0fnu", shape=[2], data_ptr=x.ctypes.data, data_len=2)
    safetensors.serialize_file({"scale": spec}, tmp_path / "a.safetensors")
    with pytest.raises(ValueError, match="'scale' has elements of F8_E8M0, for which minitorch has no dtype"):
        load_file(tmp_path / "a.safetensors")
    (tmp_path / "b.safetensors").write_bytes(b"no header")
    with pytest.raises(safetensors.SafetensorError):
        load_file(tmp_path / "b.safetensors")


class Tied(minitorch.nn.Module):
    """A module whose output layer is its embedding, as in language models."""

    def __init__(self):
        super().__init__()
        self.embedding = minitorch.nn.Embedding(5, 3)
        self.output = minitorch.nn.Linear(3, 5, bias=False)
        self.output.weight = self.embedding.weight
        self.register_buffer("turned", minitorch.arange(6.0).reshape(2, 3).T)


def test_a_module_with_tied_weights(tmp_path):
    path = str(tmp_path / "model.safetensors")
    model, other = Tied(), Tied()
    save_model(model, path, {"by": "test"})
    assert sorted(load_file(path)) == ["embedding.weight", "turned"]
    with safetensors.safe_open(path, framework="numpy") as file:
        assert file.metadata() == {"by": "test", "output.weight": "embedding.weight"}
    assert load_model(other, path) == (set(), [])
    assert other.output.weight is other.embedding.weight
    assert other.output.weight.tolist() == model.output.weight.tolist()
    with pytest.raises(ValueError, match="'turned' is not contiguous"):
        save_model(model, path, force_contiguous=False)


def test_names_that_do_not_fit_a_module(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file({"weight": minitorch.ones(2, 2), "extra": minitorch.ones(1)}, path)
    linear = minitorch.nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match=r"missing keys \['bias'\], unexpected keys \['extra'\]"):
        load_model(linear, path)
    assert load_model(linear, path, strict=False) == ({"bias"}, ["extra"])
    assert linear.weight.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_without_the_library_the_error_says_what_to_install():
    program = "import sys; sys.modules['safetensors'] = None\nimport minitorch.interop.safetensors"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.returncode == 1
    assert 'pip install "safetensors>=0.8"' in found.stderr
