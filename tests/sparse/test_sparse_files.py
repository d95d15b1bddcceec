"""Sparse tensors in files: what either library writes the other reads, and a damaged one is refused."""

from __future__ import annotations

import io
import warnings

import pytest
from sparse_samples import KINDS, LAYOUTS, in_layout, parts_of

import minitorch


def contents(library):
    """Return tensors of every layout, a parameter, and a module's state."""
    dense = library.tensor(KINDS["plain"][0].tolist())
    found = {layout: in_layout(dense, layout, 0, library) for layout in LAYOUTS}
    found["uncoalesced"] = library.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (3,))
    found["hybrid"] = library.stack([dense, dense], -1).to_sparse(2)
    found["bfloat16"] = dense.bfloat16().to_sparse()
    found["int32 indices"] = library.sparse_csr_tensor(
        library.tensor([0, 1]).int(), library.tensor([1]).int(), library.tensor([2.0]), (1, 3)
    )
    found["empty"] = library.zeros(2, 3, layout=library.sparse_csr)
    found["parameter"] = library.nn.Parameter(dense.to_sparse())
    module = library.nn.Linear(2, 2)
    module.register_buffer("adjacency", dense.to_sparse_csr())
    found["adjacency"] = module.state_dict()["adjacency"]
    return found


def saved(library):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = io.BytesIO()
        library.save(contents(library), file)
    file.seek(0)
    return file


@pytest.mark.parametrize("weights_only", [True, False])
def test_what_is_saved_is_loaded(weights_only):
    expected = contents(minitorch)
    found = minitorch.load(saved(minitorch), weights_only=weights_only)
    for name, tensor in expected.items():
        assert type(found[name]) is type(tensor)
        assert parts_of(found[name]) == parts_of(tensor)
    assert found["parameter"].requires_grad


@pytest.mark.oracle
@pytest.mark.parametrize("weights_only", [True, False])
def test_files_go_both_ways(weights_only, torch):
    for writer, reader in ((torch, minitorch), (minitorch, torch)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = {name: parts_of(tensor) for name, tensor in contents(writer).items()}
            found = reader.load(saved(writer), weights_only=weights_only)
            assert {name: parts_of(tensor) for name, tensor in found.items()} == expected


@pytest.mark.parametrize("place", ["meta", "opencl"])
def test_map_location(place):
    if place == "opencl":
        pytest.importorskip("pyopencl")
        try:
            minitorch.ones(1, device="opencl")
        except minitorch.AcceleratorError as error:
            pytest.skip(f"no OpenCL device: {error}")
    for name, tensor in minitorch.load(saved(minitorch), map_location=place).items():
        assert tensor.device.type == place, name
        assert tensor.is_sparse or tensor.layout is not minitorch.strided


def test_state_of_a_module_with_sparse_buffers():
    module = minitorch.nn.Linear(2, 2)
    module.register_buffer("adjacency", minitorch.eye(3).to_sparse_csr())
    other = minitorch.nn.Linear(2, 2)
    other.register_buffer("adjacency", (2 * minitorch.eye(3)).to_sparse_csr())
    module.load_state_dict(other.state_dict())
    assert module.adjacency.to_dense().tolist() == (2 * minitorch.eye(3)).tolist()
    assert module.double().adjacency.dtype is minitorch.float64
    assert module.to("meta").adjacency.layout is minitorch.sparse_csr


def _written(tensor):
    file = io.BytesIO()
    minitorch.save(tensor, file)
    file.seek(0)
    return file


@pytest.mark.parametrize(
    "make",
    [
        lambda: minitorch._sparse_coo_tensor_unsafe(minitorch.tensor([[0, 9]]), minitorch.ones(2), [3]),
        lambda: minitorch._sparse_coo_tensor_unsafe(minitorch.tensor([[1, 0]]), minitorch.ones(2), [3], is_coalesced=True),
        lambda: minitorch._sparse_csr_tensor_unsafe(
            minitorch.tensor([0, 1, 2]), minitorch.tensor([0, 9]), minitorch.ones(2), [2, 2]
        ),
        lambda: minitorch._sparse_csr_tensor_unsafe(
            minitorch.tensor([0, 9, 2]), minitorch.tensor([0, 1]), minitorch.ones(2), [2, 2]
        ),
        lambda: minitorch._sparse_bsr_tensor_unsafe(
            minitorch.tensor([0, 1]), minitorch.tensor([0]), minitorch.ones(1, 2, 2), [3, 3]
        ),
    ],
)
def test_bad_indices_do_not_come_out_of_a_file(make):
    with pytest.raises(RuntimeError, match="is damaged"):
        minitorch.load(_written(make()))
