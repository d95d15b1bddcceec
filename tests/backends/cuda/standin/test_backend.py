"""CUDA logic on a stand-in: devices, memory, copies, streams, random numbers, exchange.  This is no CUDA coverage."""

from __future__ import annotations

import os
import threading
import warnings
import weakref

import numpy as np
import pytest
import shim
from compilation import variants
from strict_cupy import arrays

import minitorch as mt
from minitorch.backends import fallback_policy, fallback_report
from minitorch.backends.cuda import programs
from minitorch.backends.cuda.library import library
from minitorch.backends.cuda.refusals import refusing
from minitorch.backends.opencl.random import words_on_host

cupy = library()


@pytest.mark.usefixtures("standin")
def test_this_is_the_stand_in():
    assert cupy.__version__ == "0+strict_cupy"


# ---------------------------------------------------------------- devices


@pytest.mark.usefixtures("standin")
def test_devices():
    assert mt.cuda.is_available()
    assert mt.cuda.device_count() == 2
    mt.cuda.init()
    assert mt.accelerator.current_accelerator() == mt.device("cuda")
    assert mt.cuda.get_device_capability() == (9, 0)
    assert mt.cuda.get_device_name(1) == "strict_cupy, no GPU"
    assert mt.cuda.get_device_properties("cuda:0").warp_size == 32
    assert mt.cuda.current_device() == 0
    with mt.cuda.device(1):
        assert mt.cuda.current_device() == 1
        assert mt.ones(2, device="cuda").device == mt.device("cuda:1")
        assert mt.ones(2).cuda().device.index == 1
    assert mt.cuda.current_device() == 0
    with mt.cuda.device_of(mt.ones(1, device="cuda:1")):
        assert mt.cuda.current_device() == 1
    mt.cuda.set_device("cuda:1")
    assert mt.ones(2).to("cuda").device.index == 1
    mt.cuda.synchronize()
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        mt.cuda.set_device(2)
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        mt.ones(2, device="cuda:5")
    with pytest.raises(ValueError, match="Expected a cuda device"):
        mt.cuda.set_device("cpu")


@pytest.mark.usefixtures("standin")
def test_the_current_device_belongs_to_the_thread():
    seen = []
    mt.cuda.set_device(1)
    thread = threading.Thread(target=lambda: seen.append(mt.cuda.current_device()))
    thread.start()
    thread.join()
    assert seen == [0]
    assert mt.cuda.current_device() == 1


@pytest.mark.usefixtures("standin")
def test_results_are_on_the_device_of_their_operands():
    x = mt.arange(6.0, device="cuda:1").reshape(2, 3)
    for result in (
        x + 1,
        x @ x.t(),
        mt.nn.functional.softmax(x, 1),
        x.sum(),
        x.t().contiguous(),
        x.to("cuda:0").to("cuda:1"),
    ):
        assert result.device.index == 1
    assert x.to("cuda:0").device.index == 0
    assert x.to("cuda:0").tolist() == x.tolist()
    y = mt.zeros(2, 3, device="cuda:0")
    cupy.cuda.Stream.null.log.clear()
    y.copy_(x)
    assert [entry[0] for entry in cupy.cuda.Stream.null.log] == ["wait", "s"]  # for the other device; "synchronize"
    assert y.tolist() == x.tolist()
    with pytest.raises(
        RuntimeError, match="at least two devices, cuda:1 and cuda:0|at least two devices, cuda:0 and cuda:1"
    ):
        x + y
    mt.randn(3, device="cuda:1")


# ---------------------------------------------------------------- memory and copies


@pytest.mark.usefixtures("standin")
def test_constants_are_of_each_device():
    for index in (0, 1, 0):
        x = mt.arange(6.0, device=f"cuda:{index}").reshape(2, 3)
        for result in (
            x.sum(),
            x.mean(),
            x.var(),
            mt.nn.functional.group_norm(x, 1),
            mt.nn.functional.layer_norm(x.t(), (2,)),
        ):
            assert result.device.index == index


def test_views_share_memory():
    x = mt.arange(12.0).reshape(3, 4).to("cuda")
    row, column = x[1], x.t()[2]
    row.zero_()
    assert x.sum().item() == 66 - 22
    assert column.stride() == (4,)
    assert column.tolist() == [2, 0, 10]
    assert x.as_strided((2, 2), (4, 1), 1).tolist() == [[1, 2], [0, 0]]
    assert x.data_ptr() + 16 == row.data_ptr()
    assert x.untyped_storage().nbytes() == 48
    x[:, 1:3].mul_(2)
    assert x[0].tolist() == [0, 2, 4, 3]


@pytest.mark.parametrize(
    "name", ["float32", "float64", "float16", "bfloat16", "complex64", "int8", "int64", "bool", "uint8"]
)
def test_there_and_back(name):
    dtype = getattr(mt, name)
    x = mt.tensor([[1, 0, 3], [0, 5, 1]]).to(dtype)
    there = x.to("cuda")
    assert there.dtype is dtype
    assert mt.equal(there.cpu(), x)
    assert there.t().cpu().stride() == x.t().stride()
    assert there.t().contiguous().cpu().tolist() == x.t().tolist()
    assert there.to(mt.float32).cpu().tolist() == x.to(mt.float32).tolist()


@pytest.mark.usefixtures("standin")
def test_copies_that_do_not_wait():
    null = cupy.cuda.Stream.null
    x = mt.ones(4).pin_memory()
    assert x.is_pinned()
    assert x[1:].is_pinned()
    assert x.pin_memory() is x
    assert not mt.ones(4).is_pinned()
    null.log.clear()
    assert x.to("cuda", non_blocking=True).tolist() == [1] * 4
    assert null.log == []
    x.to("cuda")
    assert null.log == ["synchronize"]  # the program may change x now
    y = mt.zeros(4, device="cuda")
    null.log.clear()
    y.copy_(x, non_blocking=True)
    assert null.log == []
    y.copy_(x)
    assert null.log == ["synchronize"]
    with pytest.raises(RuntimeError, match="cannot pin"):
        y.pin_memory()


@pytest.mark.usefixtures("standin")
def test_pinned_memory_lives_until_it_was_read(monkeypatch):
    """Else the pool gives it to the next tensor, while the device still reads."""
    monkeypatch.setattr(cupy.cuda.Event, "done", False)
    x = mt.ones(4).pin_memory()
    alive = weakref.ref(x.handle)
    x.to("cuda", non_blocking=True)
    del x
    assert alive() is not None
    monkeypatch.undo()
    mt.ones(4).pin_memory().to("cuda", non_blocking=True)
    assert alive() is None


@pytest.mark.usefixtures("standin")
def test_memory_statistics():
    mt.zeros(1, device="cuda")  # kernels keep some constants
    mt.cuda.empty_cache()
    before = mt.cuda.memory_allocated()
    mt.cuda.reset_peak_memory_stats()
    nbytes = 4 << 20
    x = mt.zeros(1 << 20, device="cuda")
    assert mt.cuda.memory_allocated() == before + nbytes
    del x
    assert mt.cuda.memory_allocated() == before
    assert mt.cuda.max_memory_allocated() >= before + nbytes
    assert mt.cuda.memory_reserved() >= before + nbytes
    assert mt.cuda.memory_stats()["inactive_bytes.all.current"] >= nbytes
    assert "cuda:0: strict_cupy, no GPU" in mt.cuda.memory_summary()
    mt.cuda.empty_cache()
    assert mt.cuda.memory_reserved() == before
    assert mt.cuda.memory_allocated(1) == arrays.Usage.used.get(1, 0)
    free, total = mt.cuda.mem_get_info()
    assert 0 < free <= total


@pytest.mark.usefixtures("standin")
def test_out_of_memory():
    try:
        mt.cuda.set_per_process_memory_fraction(1e-6)
        with pytest.raises(
            mt.cuda.OutOfMemoryError, match="CUDA out of memory: 40000000 bytes were asked for on cuda:0"
        ):
            mt.zeros(10_000_000, device="cuda")
        with pytest.raises(mt.cuda.OutOfMemoryError):
            mt.zeros(10_000_000).to("cuda")
    finally:
        mt.cuda.set_per_process_memory_fraction(1.0)
    assert mt.zeros(10, device="cuda").sum().item() == 0
    with pytest.raises(ValueError, match="Invalid fraction"):
        mt.cuda.set_per_process_memory_fraction(2.0)


def test_float8_stays_on_the_cpu():
    with pytest.raises(Exception, match="CuPy has no arrays of float8"):
        mt.ones(2).to(mt.float8_e4m3fn).to("cuda")


# ---------------------------------------------------------------- streams


@pytest.mark.usefixtures("standin")
def test_streams_and_events():
    first, second = mt.cuda.Stream(), mt.cuda.Stream(priority=-1)
    assert first != second
    assert mt.cuda.current_stream() == mt.cuda.default_stream()
    with mt.cuda.stream(first):
        assert mt.cuda.current_stream() == first
        assert cupy.cuda.get_current_stream() is first.raw
        with second:
            assert mt.cuda.current_stream() == second
        assert mt.cuda.current_stream() == first
    assert mt.cuda.current_stream() == mt.cuda.default_stream()
    second.wait_stream(first)
    assert second.raw.log[-1][0] == "wait"
    start, end = mt.cuda.Event(enable_timing=True), mt.cuda.Event(enable_timing=True)
    assert start.query()
    with pytest.raises(ValueError, match="recorded"):
        start.elapsed_time(end)
    start.record()
    end.record(first)
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="enable_timing"):
        mt.cuda.Event().elapsed_time(end)
    mt.cuda.Event(interprocess=True).record()
    other = mt.cuda.Stream(1)
    with mt.cuda.stream(other):
        assert mt.cuda.current_device() == 1
        assert mt.cuda.current_stream() == other
    assert mt.cuda.current_device() == 0
    assert first.query()
    first.synchronize()


# ---------------------------------------------------------------- random numbers


def test_the_numbers_are_philox_s():
    mt.manual_seed(7)
    u = mt.rand(1000, device="cuda")
    expected = (words_on_host(0, 1000, 7)[0] >> 8).astype(np.float32) * np.float32(2.0**-24)
    assert np.array_equal(u.cpu().numpy(), expected)
    mt.cuda.manual_seed(7)
    assert mt.equal(mt.rand(1000, device="cuda"), u)
    w = words_on_host(1000, 500, 7).astype(np.float64)
    normal = np.sqrt(-2 * np.log((w[0] + 1) * 2.0**-32)) * np.cos(2 * np.pi * np.floor(w[1] / 256) * 2.0**-24)
    np.testing.assert_allclose(mt.randn(500, device="cuda").cpu().numpy(), normal, atol=2e-5)


def test_other_draws_follow_the_rules_of_the_documentation():
    w = words_on_host(0, 200, 9).astype(np.uint64)
    long = w[0] | w[1] << np.uint64(32)
    u = (long >> np.uint64(11)).astype(np.float64) * 2.0**-53
    g = mt.Generator("cuda")

    def drawn(make):
        g.manual_seed(9)
        return make().cpu().numpy()

    assert np.array_equal(
        drawn(lambda: mt.randint(-5, 12, (200,), generator=g, device="cuda")), (long % 17).astype(np.int64) - 5
    )
    assert np.array_equal(
        drawn(lambda: mt.randperm(200, generator=g, device="cuda")), np.argsort(long.view(np.int64), kind="stable")
    )
    wide = {"dtype": mt.float64, "device": "cuda"}
    assert np.array_equal(drawn(lambda: mt.rand(200, generator=g, **wide)), u)
    assert np.array_equal(drawn(lambda: mt.empty(200, **wide).bernoulli_(0.3, generator=g)), u < 0.3)
    np.testing.assert_allclose(
        drawn(lambda: mt.empty(200, **wide).exponential_(2.0, generator=g)), -np.log1p(-u) / 2, rtol=1e-12
    )
    first, second = (
        ((long >> np.uint64(11)).astype(np.float64) + 1) * 2.0**-53,
        (w[2] | w[3] << np.uint64(32)) >> np.uint64(11),
    )
    normal = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second.astype(np.float64) * 2.0**-53)
    np.testing.assert_allclose(drawn(lambda: mt.randn(200, generator=g, **wide)), normal, rtol=1e-10, atol=1e-12)


def test_dropout_draws_what_bernoulli_does():
    x = mt.ones(20, 30, device="cuda")
    mt.cuda.manual_seed(3)
    y = mt.nn.functional.dropout(x, 0.4)
    mt.cuda.manual_seed(3)
    stays = mt.empty(20, 30, device="cuda").bernoulli_(0.6)
    assert mt.allclose(y, stays / 0.6)
    assert mt.rand(1, device="cuda").item() == mt.rand(1, generator=_after(3, 600), device="cuda").item()


def _after(seed, count):
    generator = mt.Generator("cuda").manual_seed(seed)
    generator.set_offset(count)
    return generator


@pytest.mark.usefixtures("standin")
def test_states_and_generators():
    mt.cuda.manual_seed_all(5)
    state = mt.cuda.get_rng_state()
    a = mt.randn(3, device="cuda")
    mt.cuda.set_rng_state(state)
    assert mt.equal(a, mt.randn(3, device="cuda"))
    assert mt.cuda.initial_seed() == 5
    assert len(mt.cuda.get_rng_state_all()) == 2
    mt.cuda.set_rng_state_all(mt.cuda.get_rng_state_all())
    assert mt.equal(mt.randn(3, device="cuda:1").cpu(), a.cpu())
    g = mt.Generator("cuda:1").manual_seed(5)
    assert g.device == mt.device("cuda:1")
    assert mt.equal(mt.randn(3, generator=g, device="cuda:1").cpu(), a.cpu())
    mt.cuda.seed_all()
    assert mt.cuda.initial_seed() != 5
    with pytest.raises(RuntimeError, match="16 bytes"):
        mt.cuda.set_rng_state(mt.zeros(3, dtype=mt.uint8))
    p = mt.randperm(50, device="cuda")
    assert sorted(p.tolist()) == list(range(50))
    chosen = mt.multinomial(mt.tensor([[0.0, 1.0, 3.0, 0.0]], device="cuda"), 2)
    assert sorted(chosen.tolist()[0]) == [1, 2]


# ---------------------------------------------------------------- exchange


def test_arrays_of_cupy_are_shared():
    handle = cupy.asarray(np.arange(6.0))
    for x in (mt.from_dlpack(handle), mt.as_tensor(handle), mt.asarray(handle)):
        assert x.device == mt.device("cuda:0")
        assert x.data_ptr() == handle.data.ptr
    assert mt.as_tensor(handle, device="cpu").device.type == "cpu"
    assert mt.from_dlpack(handle, copy=True).data_ptr() != handle.data.ptr
    assert mt.as_tensor(handle, dtype=mt.float32).dtype is mt.float32
    with pytest.raises(ValueError, match="can't alias"):
        mt.asarray(handle, device="cpu", copy=False)
    y = mt.arange(4.0, device="cuda")
    interface = y.__cuda_array_interface__
    assert interface["data"][0] == y.data_ptr()
    assert interface["shape"] == (4,)
    assert y.__dlpack_device__() == (2, 0)
    with pytest.raises(RuntimeError, match="requires grad"):
        mt.ones(2, device="cuda", requires_grad=True).__cuda_array_interface__  # noqa: B018


def test_device_tensors_do_not_become_numpy_arrays_by_chance():
    x = mt.ones(2, device="cuda")
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        x.numpy()
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        np.asarray(x)


# ---------------------------------------------------------------- processes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_told_to_spawn():
    mt.ones(2, device="cuda") * mt.cuda.Stream().priority
    mt.cuda.set_device(0)
    read, write = os.pipe()
    with warnings.catch_warnings(action="ignore"):
        child = os.fork()
    if child == 0:
        try:
            text = f"{mt.cuda.device_count()} {mt.cuda._is_in_bad_fork()} "
            try:
                mt.cuda.current_device()
            except RuntimeError as error:
                text += str(error)
            os.write(write, text.encode())
        finally:
            os._exit(0)
    os.close(write)
    said = os.read(read, 1000).decode()
    os.waitpid(child, 0)
    os.close(read)
    assert said.startswith("0 True Cannot re-initialize CUDA in forked subprocess")


# ---------------------------------------------------------------- errors, training


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: mt.nn.functional.embedding(mt.tensor([9], device="cuda"), mt.ones(3, 2, device="cuda")),
            IndexError,
            "index 9",
        ),
        (
            lambda: mt.nn.functional.nll_loss(mt.zeros(2, 3, device="cuda"), mt.tensor([0, 3], device="cuda")),
            IndexError,
            "Target 3",
        ),
        (
            lambda: mt.zeros(3, device="cuda").scatter_add(0, mt.tensor([5], device="cuda"), mt.ones(1, device="cuda")),
            RuntimeError,
            "index 5",
        ),
        (
            lambda: mt.zeros(3, device="cuda").index_add(0, mt.tensor([5], device="cuda"), mt.ones(1, device="cuda")),
            RuntimeError,
            "index 5",
        ),
        (lambda: mt.zeros(3, device="cuda")[mt.tensor([5], device="cuda")], IndexError, "index 5"),
        (lambda: mt.zeros(3, device="cuda").gather(0, mt.tensor([5], device="cuda")), RuntimeError, "index 5"),
    ],
)
def test_positions_that_do_not_exist_raise(call, error, text):
    """CuPy wraps them around without a word."""
    with pytest.raises(error, match=text):
        call()


def test_a_fallback_is_on_the_ledger():
    fallback_report().clear()
    x = mt.ones(3, device="cuda")
    with fallback_policy("allow"):
        assert mt.poisson(x).device.type == "cuda"
    assert "aten::poisson" in fallback_report().operators()
    with pytest.raises(NotImplementedError, match="drawn on the CPU"):
        mt.poisson(x)


def test_what_cupy_refuses_runs_on_the_cpu(monkeypatch):
    """As CuPy's code raises it: from a module of CuPy."""
    space = {"__name__": "cupy._core.somewhere"}
    exec("def no_loop(x, *rest):\n    raise TypeError('no loop for bfloat16')", space)

    def own_mistake(x, *rest):
        raise TypeError("ours")

    x = mt.tensor([3.0, 4.0], device="cuda")
    fallback_report().clear()
    monkeypatch.setattr(mt.backends.backend_of("cuda").namespace, "searchsorted", space["no_loop"])
    with fallback_policy("allow"):
        assert mt.searchsorted(x, x).cpu().tolist() == [0, 1]
    assert [row.reason for row in fallback_report()] == ["CuPy refuses: no loop for bfloat16"]
    with pytest.raises(TypeError, match="ours"):
        refusing(own_mistake)(x.handle)


def test_singular_matrices_raise():
    """CuPy says nothing unless it is asked."""
    singular = mt.ones(3, 3, device="cuda")
    for call in (mt.linalg.inv, lambda a: mt.linalg.solve(a, a), mt.linalg.cholesky):
        with pytest.raises(RuntimeError, match="singular|not positive-definite"):
            call(-singular)


F = mt.nn.functional
CALLS = {
    "softmax": [
        lambda x: F.softmax(x, -1),
        lambda x: F.log_softmax(x, -1),
        lambda x: F.softmax(x, 0),
        lambda x: F.log_softmax(x, 0),
    ],
    "layer_norm": [
        lambda x: F.layer_norm(x, (40,), mt.ones(40, device="cuda").requires_grad_(), mt.ones(40, device="cuda"))
    ],
    "batch_norm": [
        lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: F.batch_norm(x, mt.zeros(40, device="cuda"), mt.ones(40, device="cuda"), training=False),
    ],
    "activation": [F.gelu, lambda x: F.gelu(x, approximate="tanh"), F.silu],
    "dropout": [lambda x: F.dropout(x, 0.5)],
    "philox": [lambda x: x * mt.rand(6, 40, device="cuda")],
    "loss": [lambda x: F.nll_loss(x, mt.arange(6, device="cuda"))],
    "embedding": [
        lambda x: F.embedding(mt.tensor([1, 1, 3], device="cuda"), x),
        lambda x: F.embedding(mt.tensor([1], device="cuda"), x.half()),
    ],
    "scatter": [
        lambda x: x.scatter_add(1, mt.zeros(6, 40, dtype=mt.int64, device="cuda"), x),
        lambda x: x.index_add(0, mt.arange(6, device="cuda"), x),
    ],
    "attention": [lambda x: F.scaled_dot_product_attention(*(x.reshape(2, 3, 5, 8),) * 3, is_causal=True)],
    "pooling": [
        lambda x: F.max_pool2d(x[None], 2),
        lambda x: F.max_pool2d(x[None], 2, return_indices=True)[0],
        lambda x: F.avg_pool2d(x[None], 2),
    ],
}


@pytest.mark.usefixtures("standin")
def test_every_kernel_is_launched_by_an_operator(monkeypatch):
    """What hides behind a refusal of the overrides would pass all tests by the kernels for any array library."""
    launched = set()
    original = programs.kernel
    monkeypatch.setattr(
        programs,
        "kernel",
        lambda name, function, **types: launched.add((name, function)) or original(name, function, **types),
    )
    for calls in CALLS.values():
        for call in calls:
            x = mt.randn(6, 40).to("cuda").requires_grad_()
            call(x).sum().backward()
    for rule in (mt.optim.SGD, mt.optim.Adam):
        losses("cuda", lambda parameters, rule=rule: rule(parameters, lr=0.1, fused=True))
    everything = {
        (name, kernel)
        for name in programs.names()
        for kernel in shim.kernels_of(shim.preprocess(programs.source(name, variants(name)[0])))
    }
    assert launched == everything


def losses(device, make, dtype=mt.float32):
    mt.manual_seed(0)
    net = mt.nn.Sequential(
        mt.nn.Conv2d(1, 4, 3, padding=1), mt.nn.BatchNorm2d(4), mt.nn.GELU(), mt.nn.MaxPool2d(2), mt.nn.Flatten(),
        mt.nn.LayerNorm(64), mt.nn.Linear(64, 5),
    ).to(device, dtype)  # fmt: skip
    x, y = mt.randn(8, 1, 8, 8).to(device, dtype), (mt.arange(8) % 5).to(device)
    rule = make(net.parameters())
    found = []
    for _ in range(4):
        rule.zero_grad()
        loss = mt.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        rule.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("rule", ["SGD", "Adam", "AdamW"])
def test_it_trains_as_the_cpu_does(rule, fused):
    keywords = {"lr": 0.05, "fused": fused, **({"momentum": 0.9} if rule == "SGD" else {})}

    def make(parameters):
        return getattr(mt.optim, rule)(parameters, **keywords)

    np.testing.assert_allclose(losses("cuda", make), losses("cpu", make), rtol=2e-4)


def test_files(tmp_path):
    x = mt.randn(4, 4).to("cuda")
    mt.save(x, tmp_path / "x.pt")
    assert mt.load(tmp_path / "x.pt").device == mt.device("cuda:0")
    assert mt.load(tmp_path / "x.pt", map_location="cpu").device.type == "cpu"
