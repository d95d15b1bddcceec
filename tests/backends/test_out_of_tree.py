"""Devices written outside the tree: with no kernels, with some, with a namespace, trained on."""

from __future__ import annotations

from itertools import compress

import numpy as np
import pytest
from fresh import in_fresh_process
from toy_backend import ToyArray, ToyBackend, add_some_kernels, register_toy

import minitorch
from minitorch import nn
from minitorch.backends import (
    Backend,
    NoKernel,
    backend_of,
    bind_array_kernels,
    fallback_policy,
    fallback_report,
    register_backend,
)
from minitorch.dispatch.keys import key_set_text


def train(device: str, optimizer: str = "Adam", steps: int = 6) -> tuple[list, list]:
    """Train a small net; return the losses, and the sizes of the parameters at the end."""
    minitorch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 3))
    inputs, labels = minitorch.randn(12, 5), minitorch.arange(12) % 3
    net.to(device)
    inputs, labels = inputs.to(device), labels.to(device)
    rule = getattr(minitorch.optim, optimizer)(net.parameters(), lr=0.05)
    losses = []
    for _ in range(steps):
        rule.zero_grad()
        loss = nn.functional.cross_entropy(net(inputs), labels)
        assert loss.device.type == device
        loss.backward()
        rule.step()
        losses.append(loss.item())
    return losses, [p.detach().cpu().abs().sum().item() for p in net.parameters()]


def check_training(device: str, optimizers=("SGD", "Adam", "AdamW")) -> None:
    for optimizer in optimizers:
        wanted, got = train("cpu", optimizer), train(device, optimizer)
        assert got[0][-1] < got[0][0]
        np.testing.assert_allclose(got[0], wanted[0], rtol=2e-5)
        np.testing.assert_allclose(got[1], wanted[1], rtol=2e-5)


@in_fresh_process
def test_memory_alone_makes_a_device_on_which_nets_train():
    register_toy()
    fallback_policy("allow")
    check_training("toy")
    report = fallback_report()
    assert "aten::mm" in report.operators() or "aten::addmm" in report.operators()
    assert report.nbytes > 0
    assert all(row.device == "toy:0" for row in report)


@in_fresh_process
def test_kernels_run_where_there_are_some_and_the_cpu_elsewhere():
    backend = register_toy()
    add_some_kernels(backend)
    fallback_policy("allow")
    check_training("toy", ("SGD",))
    assert "aten::relu" not in fallback_report().operators()
    minitorch.backends.clear_fallbacks()
    x = minitorch.tensor([[1.0, -2.0], [3.0, 4.0]]).toy().requires_grad_()
    with fallback_policy("error"):
        y = (x @ x).relu() * x
        values, indices = y.max(1)
        assert values.tolist() == [0.0, 45.0]
        assert indices.tolist() == [0, 0]
        assert values.is_toy
        assert values.grad_fn is not None
        assert minitorch.empty(3, device="toy").zero_().tolist() == [0, 0, 0]
        with pytest.raises(NotImplementedError, match="multiplies tensors of one dtype") as caught:
            x * 2
        assert "toy_backend.py" in str(caught.value)
    assert len(fallback_report()) == 0
    y.sum().backward()
    assert x.grad.is_toy
    assert x.grad.tolist() == [[9.0, 12.0], [22.0, 51.0]]
    assert (x * 2).tolist() == [[2.0, -4.0], [6.0, 8.0]]
    (row,) = [row for row in fallback_report() if "one dtype" in row.reason]
    assert (row.operator, row.count) == ("aten::mul.Tensor", 1)


@in_fresh_process
def test_a_namespace_serves_the_array_kernels():
    from toy_namespace import register_namespace_toy

    register_namespace_toy()
    fallback_policy("allow")
    check_training("toy")
    native = {"aten::mm", "aten::addmm", "aten::relu", "aten::add.Tensor", "aten::mul.Tensor", "aten::_log_softmax"}
    assert not native & set(fallback_report().operators())
    minitorch.backends.clear_fallbacks()
    x = minitorch.tensor([[4.0, 7.0], [2.0, 6.0]]).toy()
    with fallback_policy("error"):
        assert (x + x).sum(0).tolist() == [12.0, 26.0]
        assert x.add_(1).mul_(2).tolist() == [[10.0, 16.0], [6.0, 14.0]]
        assert (x > 9).tolist() == [[True, True], [False, True]]
        with pytest.raises(NotImplementedError, match="namespace has no linalg"):
            minitorch.linalg.inv(x)
    np.testing.assert_allclose((x @ minitorch.linalg.inv(x)).cpu().numpy(), np.eye(2), atol=1e-5)
    assert fallback_report().operators() == ["aten::linalg_inv_ex"]
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        x + minitorch.ones(3, device="toy")


@in_fresh_process
def test_a_mistake_in_a_backend_is_no_missing_kernel():
    from toy_namespace import ToyNamespace, register_namespace_toy

    class Mistaken(ToyNamespace):
        def __init__(self):
            self.tanh = lambda x: x.no_such_thing_at_all

        def exp(self, x):
            return self.helper(x)  # which is not there: lacking, and seen to be the namespace's

    import toy_namespace

    toy_namespace.NamespaceBackend.namespace = Mistaken()
    register_namespace_toy()
    with fallback_policy("allow"), pytest.raises(AttributeError, match="no_such_thing_at_all"):
        minitorch.ones(2, device="toy").tanh()


@in_fresh_process
def test_overrides_and_exclusions_of_the_array_kernels():
    from toy_namespace import NamespaceBackend

    backend = register_backend("toy", NamespaceBackend())
    names = bind_array_kernels(backend, {"sin": lambda xp, x: xp.add(xp.sin(x), 100)}, exclude=("cos",))
    assert "sin" in names
    assert "cos" not in names
    assert "rand" not in names
    x = minitorch.zeros(2, device="toy")
    with fallback_policy("error"):
        assert x.sin().tolist() == [100, 100]
        with pytest.raises(NotImplementedError, match="cos"):
            x.cos()


@in_fresh_process
def test_views_share_memory_and_versions():
    register_toy()
    with fallback_policy("error"):
        x = minitorch.arange(12.0).reshape(3, 4).to("toy")
        views = [x[1], x[:, 1:3], x.t(), x.view(4, 3), x[None], x.unbind(0)[2], x.split(2, 1)[1], x.diagonal(), x.detach()]
        views += [x.as_strided((2, 2), (4, 1), 1), x[0].expand(2, 4), x.unfold(1, 2, 1), x.view(minitorch.int32), x.select(1, 3)]
        cpu = x.cpu()
        wanted = [cpu[1], cpu[:, 1:3], cpu.t(), cpu.view(4, 3), cpu[None], cpu.unbind(0)[2], cpu.split(2, 1)[1], cpu.diagonal()]
        wanted += [cpu.detach(), cpu.as_strided((2, 2), (4, 1), 1), cpu[0].expand(2, 4), cpu.unfold(1, 2, 1)]
        wanted += [cpu.view(minitorch.int32), cpu.select(1, 3)]
        for view, other in zip(views, wanted, strict=True):
            assert view.tolist() == other.tolist()
            assert view.shape == other.shape
            long = [n > 1 for n in view.shape]  # the stride of a dimension of one element is nobody's business
            assert list(compress(view.stride(), long)) == list(compress(other.stride(), long))
            assert view.storage_offset() == other.storage_offset()
            assert view.untyped_storage() == x.untyped_storage()
        before = x._version
        x[1].copy_(minitorch.full((4,), 7.0))
        assert x.tolist()[1] == [7.0] * 4
        assert views[0].tolist() == [7.0] * 4
        assert x._version == views[0]._version == before + 1
        z = minitorch.zeros(2, 3).toy()
        assert z.t_().shape == (3, 2)
        assert x[1:1].tolist() == []
    with pytest.raises(RuntimeError, match="single memory location"):
        x[0].expand(2, 4).copy_(minitorch.ones(2, 4))


@in_fresh_process
def test_copies_casts_and_layouts():
    register_toy()
    fallback_policy("allow")
    x = minitorch.randn(2, 3, 4, 5).to(memory_format=minitorch.channels_last)
    moved = x.to("toy")
    assert moved.stride() == x.stride()
    assert moved.cpu().stride() == x.stride()
    assert minitorch.equal(moved.cpu(), x)
    assert moved.clone().stride() == x.stride()
    assert moved.contiguous().stride() == (60, 20, 5, 1)
    assert moved.permute(3, 0, 1, 2).cpu().stride() == x.permute(3, 0, 1, 2).stride()
    assert minitorch.equal(moved[:, ::2, 1:].cpu(), x[:, ::2, 1:])
    assert moved.to("toy") is moved
    assert moved.to("toy:0") is moved
    assert moved.to("toy", copy=True) is not moved
    assert moved.cpu().data_ptr() != moved.cpu().data_ptr()
    for dtype in (minitorch.int64, minitorch.float16, minitorch.bfloat16, minitorch.complex64, minitorch.bool):
        assert minitorch.equal(moved.to(dtype).cpu(), x.to(dtype))
        assert minitorch.equal(x.to("toy", dtype).cpu(), x.to(dtype))
        assert minitorch.equal(moved.to("cpu", dtype), x.to(dtype))
    target = minitorch.zeros(3, 2, device="toy").t()
    target.copy_(minitorch.tensor([1, 2, 3]))
    assert target.tolist() == [[1.0, 2.0, 3.0]] * 2
    on_cpu = minitorch.zeros(2, 3)
    assert on_cpu.copy_(target) is on_cpu
    assert on_cpu.tolist() == target.tolist()
    assert target.to("meta").device.type == "meta"
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        target.copy_(minitorch.empty(2, 3, device="meta"))
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        target.copy_(minitorch.zeros(4))


@in_fresh_process
def test_factories_and_fills_need_no_kernels():
    register_toy(devices=2)
    with fallback_policy("error"):
        for device in ("toy:0", "toy:1"):
            x = minitorch.full((2, 2), 7, device=device)
            assert (x.tolist(), x.dtype, str(x.device)) == ([[7, 7], [7, 7]], minitorch.int64, device)
            made = [minitorch.zeros(2, device=device), minitorch.ones(2, device=device), minitorch.full_like(x, 3)[0]]
            made += [minitorch.zeros_like(x)[0], x.new_ones(2), minitorch.scalar_tensor(4, device=device)]
            assert [t.tolist() for t in made] == [[0.0, 0.0], [1.0, 1.0], [3, 3], [0, 0], [1, 1], 4.0]
            assert {str(t.device) for t in made} == {device}
            x[0].zero_()
            x[:, 1].fill_(9)
            assert x.tolist() == [[0, 9], [7, 9]]
            assert minitorch.zeros_like(x.t()).stride() == (1, 2)
        assert minitorch.ones(0, device="toy").tolist() == []
        assert minitorch.ones(2, dtype=minitorch.bfloat16, device="toy").tolist() == [1.0, 1.0]
        with pytest.raises(RuntimeError, match="overflow"):
            minitorch.full((2,), 300, dtype=minitorch.int8, device="toy")


@in_fresh_process
def test_devices_of_one_call_are_one():
    register_toy()
    fallback_policy("allow")
    x = minitorch.ones(2, 2, device="toy")
    for call in (lambda: x + minitorch.ones(2, 2), lambda: minitorch.ones(2, 2) + x, lambda: x @ minitorch.ones(2, 2)):
        with pytest.raises(RuntimeError) as caught:
            call()
        text = "Expected all tensors to be on the same device, but found at least two devices, cpu and toy:0!"
        assert text in str(caught.value)
    with pytest.raises(RuntimeError, match="same device"):
        minitorch.ones(2, 2).add_(x)
    assert (x + minitorch.tensor(2.0)).tolist() == [[3.0, 3.0]] * 2
    assert (minitorch.tensor(2.0) * x).is_toy
    assert x.add_(minitorch.tensor(1)).tolist() == [[2.0, 2.0]] * 2
    assert (x + minitorch.tensor(1.0, dtype=minitorch.float64)).dtype is minitorch.float32
    assert x[minitorch.tensor([1])].tolist() == [[2.0, 2.0]]
    x[minitorch.tensor([0])] = 5.0
    assert x.tolist() == [[5.0, 5.0], [2.0, 2.0]]
    with pytest.raises(RuntimeError, match="different device"):
        x.requires_grad_().grad = minitorch.ones(2, 2)


@in_fresh_process
def test_several_devices():
    backend = register_toy(devices=2)
    fallback_policy("allow")
    toy = minitorch.toy
    assert toy.device_count() == 2
    x = minitorch.ones(2, device="toy:1")
    assert (x + x).device == minitorch.device("toy:1")
    assert x.clone().device.index == x[0].device.index == minitorch.empty_like(x).device.index == 1
    assert x.get_device() == 1
    assert minitorch.ones(2, device="toy").device.index == 0
    with toy.device(1):
        assert minitorch.ones(2, device="toy").device.index == toy.current_device() == 1
    assert toy.current_device() == 0
    toy.set_device(1)
    assert minitorch.ones(2).toy().device.index == 1
    toy.set_device("toy:0")
    y = x.to("toy:0")
    assert (y.device.index, y.tolist()) == (0, [1.0, 1.0])
    with pytest.raises(RuntimeError, match="found at least two devices, toy:1 and toy:0"):
        x + y
    y.copy_(x.mul(3))
    assert y.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="invalid device ordinal: toy:2 was asked for, and there are 2"):
        minitorch.ones(2, device="toy:2")
    assert backend.exchange_device(-1) == 0
    w = x.clone().requires_grad_()
    (w * w).sum().backward()
    assert w.grad.device.index == 1


@in_fresh_process
def test_key_sets_autograd_and_modes():
    register_toy()
    fallback_policy("allow")
    x = minitorch.ones(2, device="toy", requires_grad=True)
    assert key_set_text(x.key_set) == (
        "DispatchKeySet(PrivateUse1, ADInplaceOrView, AutogradPrivateUse1, AutocastPrivateUse1)"
    )
    y = x * 3
    assert y.grad_fn.name() == "MulBackward0"
    with minitorch.no_grad():
        assert not (x * 3).requires_grad
        x.add_(1)
    with minitorch.inference_mode():
        z = minitorch.ones(2, device="toy") + 1
        assert z.is_inference()
        assert z[0].is_inference()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        z.add_(1)
    (gradient,) = minitorch.autograd.grad((x**3).sum(), x, create_graph=True)
    gradient.sum().backward()
    assert x.grad.tolist() == [12.0, 12.0]
    saved = x * 2
    product = saved * saved
    saved.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    on_cpu = minitorch.ones(2, requires_grad=True)
    (on_cpu.to("toy") * 2).sum().backward()
    assert on_cpu.grad.device.type == "cpu"


@in_fresh_process
def test_in_place_out_and_resized_results_go_back():
    register_toy()
    fallback_policy("allow")
    x = minitorch.tensor([3.0, 1.0, 2.0]).toy()
    assert x.exp_() is x
    out = minitorch.empty(0, device="toy")
    assert minitorch.add(x, x, out=out) is out
    assert out.tolist() == (x + x).tolist()
    values, indices = minitorch.empty(0, device="toy"), minitorch.empty(0, dtype=minitorch.int64, device="toy")
    result = minitorch.sort(x, out=(values, indices))
    assert result[0] is values
    assert indices.tolist() == [1, 2, 0]
    half = minitorch.zeros(2, 3).toy()
    half[:, 1].uniform_(1, 2)
    assert half.tolist()[0][0] == 0
    assert 1 <= half.tolist()[1][1] <= 2
    minitorch.add(x, 1, out=x)
    index = minitorch.tensor([0, 0]).toy()
    assert minitorch.zeros(2, device="toy").index_add_(0, index, x[:2]).device.type == "toy"


@in_fresh_process
def test_results_that_lie_transposed_are_saved_for_backward():
    register_toy()
    fallback_policy("allow")
    matrix = minitorch.randn(4, 4, generator=minitorch.Generator().manual_seed(1)) + 4 * minitorch.eye(4)
    grads = []
    for device in ("cpu", "toy"):
        x = matrix.to(device).clone().requires_grad_()
        minitorch.linalg.inv(x).square().sum().backward()  # the inverse is column-major
        grads.append(x.grad.cpu())
    assert minitorch.allclose(*grads)


@in_fresh_process
def test_a_library_may_register_kernels_beside():
    backend = register_toy()
    lib = minitorch.library.Library("aten", "IMPL", "PrivateUse1")
    lib.impl("tanh", lambda x: backend.wrap(backend.from_host(np.tanh(backend.to_host(backend.unwrap(x))), 0)))
    x = minitorch.ones(2).toy()
    with fallback_policy("error"):
        np.testing.assert_allclose(x.tanh().tolist(), np.tanh([1.0, 1.0]), rtol=1e-6)
    lib._destroy()
    own = minitorch.library.Library("toys", "DEF")
    own.define("twice(Tensor x) -> Tensor")
    own.impl("twice", lambda x: x + x, "CPU")
    fallback_policy("allow")
    assert minitorch.ops.toys.twice(x).tolist() == [2.0, 2.0]
    assert backend_of(x) is backend
    assert backend_of("cpu") is None
    with pytest.raises(TypeError, match="expected a tensor on the device toy"):
        backend.unwrap(minitorch.ones(2))


@in_fresh_process
def test_what_a_backend_lacks_is_named():
    class Bare(Backend):
        array_type = dict

    class Untyped(Backend):
        pass

    with pytest.raises(TypeError, match="has no array_type"):
        register_backend("untyped", Untyped())
    register_backend("bare", Bare())
    with pytest.raises(NotImplementedError, match=r"has no method allocate\(nbytes\)"):
        minitorch.empty(2, device="bare")
    with pytest.raises(NotImplementedError, match=r"has no method from_host\(array, index\).*test_out_of_tree\.test_what.*Bare"):
        minitorch.ones(2).to("bare")
    with pytest.raises(RuntimeError, match="there is a backend for the device 'bare' already"):
        register_backend("bare", Bare())
    with pytest.raises(RuntimeError, match="must be an identifier"):
        register_backend("a-b", Bare())


@in_fresh_process
def test_kernels_are_checked():
    backend = ToyBackend()

    @backend.kernel("neg")
    def neg(x):
        return x

    @backend.kernel("exp")
    def exp(x):
        return np.exp(1)

    register_backend("toy", backend)
    x = minitorch.ones(2).toy()
    with fallback_policy("error"):
        y = -x  # it returned its argument: the result is memory of its own all the same
        y.copy_(minitorch.zeros(2))
        assert x.tolist() == [1.0, 1.0]
        with pytest.raises(TypeError, match=r"kernel of aten::exp for toy .* returned a float64"):
            x.exp()
    with pytest.raises(LookupError, match="there is no operator 'add': its overloads are add.Scalar"):
        backend.kernel("add")(lambda x, y: x)

    @backend.kernel("flip")
    def flip(x, dims):
        raise NoKernel("flipped on Mondays only")

    with pytest.raises(NotImplementedError, match="flipped on Mondays only"), fallback_policy("error"):
        x.flip(0)


@in_fresh_process
def test_kernels_of_every_form():
    backend = register_toy()

    @backend.kernel("t")
    def turned(x):
        return ToyArray(x._memory.T)

    @backend.kernel("unbind.int")
    def rows(x, dim=0):
        return [ToyArray(x._memory[i]) for i in range(x.shape[0])]

    @backend.kernel("add.out")
    def add_out(x, y, *, alpha=1, out):
        out._memory[...] = x._memory + alpha * y._memory

    @backend.kernel("mul.out")
    def mul_out(x, y, *, out):
        return ToyArray(x._memory * y._memory)

    @backend.kernel("sub_.Tensor")
    def sub_(x, y, alpha=1):
        return ToyArray(x._memory - y._memory)

    @backend.kernel("aminmax")
    def aminmax(x, *, dim=None, keepdim=False):
        return ToyArray(np.asarray(x._memory.min())), ToyArray(np.asarray(x._memory.max()))

    @backend.kernel("cat")
    def cat(tensors, dim=0):
        return ToyArray(np.concatenate([x._memory for x in tensors], dim))

    x = minitorch.arange(6.0).reshape(2, 3).toy()
    with fallback_policy("error"):
        view = x.t()
        assert view.untyped_storage() == x.untyped_storage()
        assert view._base is x
        before = x._version
        for row in (*view.unbind(0), x.unbind(0)[0]):
            assert row.untyped_storage() == x.untyped_storage()
            row.zero_()
        assert x._version == before + 4
        assert x.tolist() == [[0.0] * 3] * 2
        ones = minitorch.ones(2, 3).toy()
        out = minitorch.empty(2, 3, device="toy")
        assert minitorch.add(ones, ones, alpha=3, out=out) is out
        assert out.tolist() == [[4.0] * 3] * 2
        grown = minitorch.empty(0, device="toy")
        assert minitorch.mul(out, out, out=grown) is grown
        assert grown.tolist() == [[16.0] * 3] * 2
        version = out._version
        assert out.sub_(ones) is out
        assert out.tolist() == [[3.0] * 3] * 2
        assert out._version == version + 1
        smallest, largest = minitorch.aminmax(minitorch.tensor([3.0, 1.0]).toy())
        assert (smallest.item(), largest.item()) == (1.0, 3.0)
        assert minitorch.cat([ones, out]).shape == (4, 3)
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
            minitorch.ones(1, 3).toy().sub_(ones)
        with pytest.raises(RuntimeError, match="single memory location"):
            minitorch.ones(3).toy().expand(2, 3).sub_(ones)


@in_fresh_process
def test_running_statistics_are_moved_where_batch_norm_runs_on_the_cpu():
    """`native_batch_norm` writes them, and its schema does not say so."""
    register_toy()
    x = minitorch.randn(6, 2, generator=minitorch.Generator().manual_seed(1))
    found = []
    for device in ("cpu", "toy"):
        wide = [minitorch.zeros(5).to(device), minitorch.ones(5).to(device)]
        mean, var = (t[1::2] for t in wide)
        with fallback_policy("allow"):
            nn.functional.batch_norm(x.to(device), mean, var, training=True)
        found.append([t.tolist() for t in wide])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    assert found[0][0][1] != 0
    assert found[0][0][::2] == [0, 0, 0]


@in_fresh_process
def test_devices_and_generators_of_a_call_are_checked_before_a_kernel():
    backend = register_toy()
    backend.kernel("rand", "rand.generator")(lambda size, **kwargs: ToyArray(np.zeros(tuple(size), np.float32)))
    with fallback_policy("error"):
        assert minitorch.rand(2, device="toy").tolist() == [0, 0]
        with pytest.raises(RuntimeError, match="invalid device ordinal: toy:1"):
            minitorch.rand(2, device="toy:1")
        with pytest.raises(RuntimeError, match="Expected a 'toy' device type for generator but found 'cpu'"):
            minitorch.rand(2, device="toy", generator=minitorch.Generator())


@in_fresh_process
def test_draws_on_the_cpu_follow_the_state_of_a_generator_of_another_kind():
    from minitorch import Generator

    class Counter(Generator):
        """Draws nothing by itself."""

        __slots__ = ("offset", "start")

        def manual_seed(self, seed):
            self.start, self.offset = seed, 0
            return self

        def initial_seed(self):
            return self.start

        def get_offset(self):
            return self.offset

        def set_offset(self, offset):
            self.offset = offset

        def state_array(self):
            return np.array([self.start, self.offset], np.int64).view(np.uint8)

        def set_state_array(self, state):
            self.start, self.offset = (int(v) for v in np.asarray(state).view(np.int64))

    class Counting(ToyBackend):
        generator_type = Counter

        def new_generator(self, index):
            return Counter(minitorch.device(self.name, index)).manual_seed(0)

    register_backend("toy", Counting())
    fallback_policy("allow")

    def draws(count=2):
        return [minitorch.rand(3, device="toy").tolist() for _ in range(count)]

    minitorch.manual_seed(4)
    first = draws()
    assert first[0] != first[1]
    minitorch.manual_seed(4)
    assert draws() == first
    state = minitorch.toy.get_rng_state()
    third = draws(1)
    minitorch.toy.set_rng_state(state)
    assert draws(1) == third
    assert third[0] not in first
