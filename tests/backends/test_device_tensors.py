"""What knows tensors of NumPy arrays knows those of any device: copies, files, storages, printing, data loading."""

from __future__ import annotations

import copy
import io
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from fresh import in_fresh_process, run_python
from toy_backend import ToyBackend, register_toy

import minitorch
from minitorch import nn
from minitorch.backends import fallback_policy, register_backend


@in_fresh_process
def test_copies_and_pickles_keep_what_is_shared():
    register_toy(devices=2)
    fallback_policy("allow")
    x = minitorch.arange(6.0).reshape(2, 3).to("toy:1")
    for made in (copy.deepcopy([x, x[1], x.t()]), pickle.loads(pickle.dumps([x, x[1], x.t()]))):
        whole, row, turned = made
        assert [t.device.index for t in made] == [1, 1, 1]
        assert turned.stride() == (1, 3)
        row.copy_(minitorch.zeros(3))
        assert whole.tolist() == [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]
        assert turned.tolist() == [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    leaf = x.clone().requires_grad_()
    leaf.note = "kept"
    again = pickle.loads(pickle.dumps(leaf))
    assert (again.requires_grad, again.note, again.is_leaf) == (True, "kept", True)
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(leaf * 2)
    narrow = x.to(minitorch.bfloat16)
    assert minitorch.equal(copy.deepcopy(narrow), narrow)
    assert copy.copy(x).untyped_storage() == x.untyped_storage()


@in_fresh_process
def test_files():
    register_toy(devices=2)
    fallback_policy("allow")
    x = minitorch.arange(6.0).reshape(2, 3).to("toy:1")
    net = nn.Linear(3, 2).to("toy:1")
    file = io.BytesIO()
    minitorch.save({"x": x, "row": x[1], "net": net.state_dict()}, file)

    def load(**options):
        file.seek(0)
        return minitorch.load(file, **options)

    there = load()
    assert there["x"].device == there["net"]["weight"].device == minitorch.device("toy:1")
    assert there["x"].untyped_storage() == there["row"].untyped_storage()
    assert there["row"].tolist() == [3.0, 4.0, 5.0]
    assert load(map_location="cpu")["row"].device.type == "cpu"
    assert load(map_location="toy:0")["row"].device.index == 0
    assert load(map_location={"toy:1": "toy:0"})["x"].device.index == 0
    assert load(map_location=lambda storage, place: storage.to("toy:0"))["x"].device.index == 0
    assert load(map_location=lambda storage, place: storage)["x"].device.type == "cpu"
    with pytest.raises(RuntimeError, match="map_location asks for device 'toy:5'.*Pass map_location='cpu'"):
        load(map_location="toy:5")
    net.load_state_dict(load(map_location="cpu")["net"])
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "toy.pt")
        minitorch.save(x, path)
        code = f"import minitorch\ntry:\n    minitorch.load({path!r})\nexcept RuntimeError as error:\n    print(error)"
        done = run_python(code + f"\nprint(minitorch.load({path!r}, map_location='cpu').tolist())")
        text, values = done.stdout.splitlines()
        assert "the file has storages of device 'toy:1', which cannot be used here. Pass map_location='cpu'" in text
        assert values == "[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]"


@in_fresh_process
def test_storages():
    register_toy()
    fallback_policy("allow")
    x = minitorch.tensor([1, 2], dtype=minitorch.uint8).toy()
    storage = x.untyped_storage()
    assert (storage.nbytes(), str(storage.device), storage.tolist(), storage[1]) == (2, "toy:0", [1, 2], 2)
    assert repr(storage) == "[minitorch.UntypedStorage(device=toy:0) of size 2]"
    assert storage.to("toy") is storage
    on_cpu = storage.cpu()
    assert (on_cpu.device.type, on_cpu.tolist()) == ("cpu", [1, 2])
    clone = storage.clone()
    clone.fill_(7)
    assert (clone.tolist(), storage.tolist()) == ([7, 7], [1, 2])
    storage.copy_(clone.cpu())
    assert x.tolist() == [7, 7]
    with pytest.raises(RuntimeError, match="size does not match, self was 2 bytes but src was 3 bytes"):
        storage.copy_(minitorch.zeros(3, dtype=minitorch.uint8).untyped_storage())
    y = minitorch.empty(0, dtype=minitorch.uint8, device="toy")
    assert y.set_(x) is y
    assert y.untyped_storage() == x.untyped_storage()
    assert y.set_(storage, 1, (1,)).tolist() == [7]
    assert y.set_().shape == (0,)
    with pytest.raises(RuntimeError, match="storage of a tensor on device .cpu. to a storage on different device .toy:0."):
        minitorch.empty(0, dtype=minitorch.uint8).set_(storage)
    before = x.untyped_storage()
    x.resize_(5)
    assert (x.shape, x.tolist()[:2]) == ((5,), [7, 7])
    assert x.untyped_storage() == before
    z = minitorch.ones(2, device="toy")
    z.data = minitorch.zeros(3)
    assert (z.device.type, z.tolist()) == ("cpu", [0, 0, 0])
    z.data = minitorch.zeros(3).toy()
    assert z.data.is_toy
    assert z.data_ptr() == z.data.data_ptr() != 0


def test_set_takes_tensors_and_storages_of_the_cpu():
    x = minitorch.arange(6.0)
    y = minitorch.empty(0)
    version = y._version
    assert y.set_(x[2:]).tolist() == [2.0, 3.0, 4.0, 5.0]
    assert y._version == version + 1
    assert y.storage_offset() == 2
    assert y.set_(x, 1, (2, 2), (2, 1)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert y.set_(x.untyped_storage()).tolist() == x.tolist()
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        y.set_(x, 4, (4,))
    with pytest.raises(RuntimeError, match="Could not set tensor of type"):
        y.set_(minitorch.zeros(2, dtype=minitorch.int64))
    with pytest.raises(TypeError, match="expected a Tensor or an UntypedStorage, but got list"):
        y.set_([1.0])


@pytest.mark.oracle
def test_set_does_what_pytorch_s_does(torch):
    for arguments in ((), (1, (2, 2)), (1, (2, 2), (1, 2)), (0, (6,)), (2, (3,), (1,))):
        ours, theirs = minitorch.empty(0), torch.empty(0)
        ours.set_(minitorch.arange(6.0), *arguments)
        theirs.set_(torch.arange(6.0), *arguments)
        assert ours.tolist() == theirs.tolist()
        assert ours.stride() == theirs.stride()
        if arguments:
            ours.set_(minitorch.arange(6.0).untyped_storage(), *arguments)
            theirs.set_(torch.arange(6.0).untyped_storage(), *arguments)
            assert ours.tolist() == theirs.tolist()


@in_fresh_process
def test_values_reach_python():
    register_toy()
    fallback_policy("allow")
    x = minitorch.tensor([[1.5, 2.0], [3.0, 4.0]], device="toy")
    assert repr(x) == "tensor([[1.5000, 2.0000],\n        [3.0000, 4.0000]], device='toy:0')"
    assert repr(minitorch.zeros(0, device="toy")) == "tensor([], device='toy:0')"
    with minitorch.device("toy"):
        assert repr(minitorch.ones(1)) == "tensor([1.], device='toy:0')"
    assert x.type() == "torch.toy.FloatTensor"
    assert (x[0, 0].item(), float(x[0, 1]), int(x[1, 0]), bool(x[1, 1])) == (1.5, 2.0, 3, True)
    assert f"{x[0, 0]:.2f}" == "1.50"
    assert [row.tolist() for row in x] == x.tolist()
    assert 4.0 in x
    assert minitorch.tensor(3, device="toy").__index__() == 3
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(x)
    with pytest.raises(TypeError, match=r"can't convert toy:0 device type tensor to numpy. Use Tensor.cpu\(\)"):
        x.numpy()
    with pytest.raises(TypeError, match="can't convert toy:0 device"):
        np.asarray(x)
    np.testing.assert_array_equal(x.numpy(force=True), x.cpu().numpy())
    for made in (
        minitorch.tensor([1, 2], device="toy"), minitorch.as_tensor([1, 2], device="toy"), x.new_tensor([1, 2]),
        minitorch.asarray(np.array([1.0, 2.0]), device="toy"), minitorch.as_tensor(np.array([1, 2]), device="toy"),
        x.new_zeros(2), minitorch.zeros_like(x), x.new_empty((2,)), minitorch.full((2,), 1, device="toy"),
    ):  # fmt: skip
        assert made.is_toy
    assert minitorch.as_tensor(x, device="toy") is x
    assert minitorch.zeros_like(x, device="cpu").device.type == "cpu"
    assert minitorch.zeros_like(minitorch.ones(2), device="toy").is_toy
    with pytest.raises(RuntimeError, match="2 elements cannot be converted to Scalar"):
        x[0].item()


@in_fresh_process
def test_memory_that_the_host_sees_needs_no_copies():
    class Shared(ToyBackend):
        def share_with_host(self, handle):
            return handle._memory

    register_backend("shared", Shared())
    fallback_policy("allow")
    x = minitorch.ones(3).to("shared")
    x.numpy()[0] = 5
    assert x.tolist() == [5.0, 1.0, 1.0]
    address = x.data_ptr()
    x.uniform_(2, 3)
    assert x.data_ptr() == address
    assert all(2 <= v < 3 for v in x.tolist())
    row = next(iter(minitorch.backends.fallback_report()))
    assert (row.operator, row.nbytes) == ("aten::uniform_", 0)
    assert x.cpu().numpy() is not x.numpy()


@in_fresh_process
def test_modules_optimizers_and_data():
    register_toy()
    fallback_policy("allow")
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Dropout(0.0), nn.Linear(8, 2)).toy()
    assert {p.device.type for p in net.parameters()} == {b.device.type for b in net.buffers()} == {"toy"}
    images = minitorch.randn(6, 1, 4, 4)
    loader = minitorch.utils.data.DataLoader(minitorch.utils.data.TensorDataset(images), batch_size=3, pin_memory=True)
    for name in ("SGD", "Adam", "RMSprop", "Adagrad", "NAdam"):
        rule = getattr(minitorch.optim, name)(net.parameters(), lr=0.01)
        for (batch,) in loader:
            rule.zero_grad()
            net(batch.to("toy", non_blocking=True)).square().sum().backward()
            rule.step()
        again = getattr(minitorch.optim, name)(net.parameters(), lr=0.01)
        again.load_state_dict(rule.state_dict())
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    assert net.cpu()[0].weight.device.type == "cpu"
    assert nn.Linear(2, 2, device="toy").weight.is_toy
    assert nn.Linear(2, 2, device="meta").to_empty(device="toy").weight.is_toy
    packed = nn.utils.rnn.pack_sequence([minitorch.ones(2, 1), minitorch.ones(1, 1)])
    assert packed.toy().data.is_toy
    assert packed.toy().is_toy
    from minitorch.utils.checkpoint import checkpoint

    x = minitorch.ones(4, device="toy", requires_grad=True)
    checkpoint(lambda t: nn.functional.dropout(t, 0.5) * 2, x, use_reentrant=False).sum().backward()
    assert x.grad.is_toy


@in_fresh_process
def test_random_state():
    register_toy(devices=2)
    fallback_policy("allow")
    minitorch.manual_seed(1)
    first = minitorch.rand(3, device="toy:1")
    with minitorch.random.fork_rng():
        inside = minitorch.rand(3, device="toy:1")
    assert minitorch.equal(minitorch.rand(3, device="toy:1"), inside)
    minitorch.manual_seed(1)
    assert minitorch.equal(minitorch.rand(3, device="toy:1"), first)
    generator = minitorch.Generator("toy:1").manual_seed(3)
    for twin in (copy.deepcopy(generator), pickle.loads(pickle.dumps(generator)), generator.clone_state()):
        assert twin.device == minitorch.device("toy:1")
        assert twin.initial_seed() == 3
    generator.set_state(generator.get_state())
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        minitorch.Generator("toy:7")
