"""The kernels for large arrays agree with the NumPy kernels that they stand in for: numba's, or those that the build compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import minitorch
from minitorch.backends.cpu.fast import table
from minitorch.backends.cpu.large import LargeKernel
from minitorch.dispatch.operator import OPERATORS


def kernel_of(name):
    """Return the NumPy kernel of an operator and the one for large arrays, as functions of arrays."""
    small = OPERATORS["aten::" + name].active("CPU")
    if isinstance(small, LargeKernel):
        small = small.small
    large = table.find(name)
    if large is None:
        pytest.skip(f"{name} has no kernel for large arrays here: that needs numba, or the compiled core")
    return small.fn, large


needs_numba = pytest.mark.skipif(not table.has_numba(), reason="numba, the extra `fast`, is not installed")
switched_off = os.environ.get(table.SWITCH, "1") == "0"


def same(got, expected, rtol, atol):
    if isinstance(expected, tuple | list):
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            same(g, e, rtol, atol)
    elif expected is None:
        assert got is None
    else:
        assert got.dtype == expected.dtype
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol, atol)


def check(name, *args, rtol=2e-5, atol=2e-6, **kwargs):
    """Assert that both kernels return the same, and the same writes into their arguments."""
    small, large = kernel_of(name)
    ours = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    with np.errstate(all="ignore"):
        got = large(np, *ours, **kwargs)
        expected = small(np, *theirs, **kwargs)
    assert got is not NotImplemented
    if not name.endswith("_"):
        same(got, expected, rtol, atol)
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_allclose(a, b, rtol, atol)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def floats(rng, *shape):
    return rng.standard_normal(shape, np.float32)


SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-38, -1e-38, 1e-42, 88.0, 89.0, -87.5, -100.0, -104.0, 1e30, -1e30, 3.4e38],
    np.float32,
)


@pytest.mark.parametrize("name", ["exp", "log", "relu", "sigmoid", "silu"])
def test_elementwise(rng, name):
    x = np.concatenate([SPECIAL, floats(rng, 5000) * 20, np.linspace(-104, 89, 1001, dtype=np.float32)])
    check(name, x, rtol=1e-5, atol=1e-44)


def test_exp_and_log_are_as_exact_as_numpy():
    """Within 3 units of the last place of the float64 results."""
    x = np.linspace(-87, 88, 100001, dtype=np.float32)
    exact = np.exp(x.astype(np.float64))
    assert np.abs(kernel_of("exp")[1](np, x) / exact - 1).max() < 3 * 2**-23
    x = np.exp(np.linspace(-80, 80, 100001)).astype(np.float32)
    exact = np.log(x.astype(np.float64))
    error = np.abs(kernel_of("log")[1](np, x) - exact) / np.maximum(np.abs(exact), 0.5)
    assert error.max() < 3 * 2**-24


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(rng, approximate):
    x = np.concatenate([SPECIAL, floats(rng, 5000) * 4])
    check("gelu", x, approximate=approximate)
    x = x[np.isfinite(x)]
    check("gelu_backward", floats(rng, x.size), x, approximate=approximate, rtol=1e-4)


@pytest.mark.parametrize("name", ["sigmoid_backward", "tanh_backward", "silu_backward"])
def test_elementwise_gradients(rng, name):
    check(name, floats(rng, 33, 77), floats(rng, 33, 77), rtol=1e-4)


def test_threshold_backward(rng):
    grad, x = floats(rng, 4000), floats(rng, 4000)
    grad[:4] = np.inf, -np.inf, np.nan, np.nan
    x[:6] = 1, -1, 1, -1, np.nan, 0
    check("threshold_backward", grad, x, 0)
    check("threshold_backward", grad, x, 0.5)


ROWS = [(1, 1), (3, 5), (7, 16), (40, 33), (5, 1000), (2, 3, 64)]


@pytest.mark.parametrize("name", ["_softmax", "_log_softmax"])
@pytest.mark.parametrize("shape", ROWS)
def test_softmax(rng, name, shape):
    x = floats(rng, *shape) * 10
    check(name, x, -1, False)
    check(name, x + 1e4, len(shape) - 1, False, rtol=1e-4)
    flat = x.reshape(-1)
    flat[: min(x.size, SPECIAL.size)] = SPECIAL[: x.size]
    check(name, x, -1, False)
    x[...] = -np.inf
    check(name, x, -1, False)


@pytest.mark.parametrize("name", ["_softmax_backward_data", "_log_softmax_backward_data"])
@pytest.mark.parametrize("shape", ROWS)
def test_softmax_gradients(rng, name, shape):
    y = kernel_of(name.replace("_backward_data", ""))[0](np, floats(rng, *shape), -1, False)
    check(name, floats(rng, *shape), y, -1, minitorch.float32, atol=1e-5)


def test_masked_scores_are_exactly_zero():
    x = np.zeros((4, 64), np.float32)
    x[:, 1::2] = -np.inf
    result = kernel_of("_softmax")[1](np, x, 1, False)
    assert (result[:, 1::2] == 0).all()
    assert (result[:, ::2] == 1 / 32).all()


@pytest.mark.parametrize("shape", [*ROWS, (9, 4000)])
def test_cumsum(rng, shape):
    check("cumsum", floats(rng, *shape), -1, atol=1e-4)


def test_topk(rng):
    x = floats(rng, 20, 300)
    x[3, [5, 50]] = np.nan
    x[4, :] = np.nan
    x[5, 7] = np.inf
    x[6, :] = -np.inf
    for k in (1, 5, 32):
        values, indices = kernel_of("topk")[1](np, x, k)
        np.testing.assert_array_equal(values, kernel_of("topk")[0](np, x, k)[0])
        np.testing.assert_array_equal(np.take_along_axis(x, indices, -1), values)
        assert all(len(set(row)) == k for row in indices.tolist())


@pytest.mark.parametrize("affine", ["both", "weight", "bias", "none"])
@pytest.mark.parametrize("shape", [(6, 10), (3, 4, 50), (100, 64)])
def test_layer_norm(rng, shape, affine):
    n = shape[-1]
    x, grad = floats(rng, *shape) + 3, floats(rng, *shape)
    weight = floats(rng, n) if affine in ("both", "weight") else None
    bias = floats(rng, n) if affine in ("both", "bias") else None
    check("native_layer_norm", x, [n], weight, bias, 1e-5)
    _, mean, rstd = kernel_of("native_layer_norm")[0](np, x, [n], weight, bias, 1e-5)
    mask = [True, weight is not None, bias is not None]
    check("native_layer_norm_backward", grad, x, [n], mean, rstd, weight, bias, mask, atol=2e-5)
    check("native_layer_norm", x, list(shape[1:]), None, None, 1e-5)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm(rng, training, affine):
    x, grad = floats(rng, 5, 6, 4, 5) + 2, floats(rng, 5, 6, 4, 5)
    weight, bias = (floats(rng, 6), floats(rng, 6)) if affine else (None, None)
    running = (floats(rng, 6), np.abs(floats(rng, 6)) + 0.5)
    check("native_batch_norm", x, weight, bias, *running, training, 0.1, 1e-5)
    if training:
        check("native_batch_norm", x, weight, bias, None, None, True, 0.1, 1e-5)
    _, mean, invstd = kernel_of("native_batch_norm")[0](np, x, weight, bias, None, None, True, 0.1, 1e-5)
    for mask in ([True, affine, affine], [True, False, False]):
        check("native_batch_norm_backward", grad, x, weight, *running, mean, invstd, training, 1e-5, mask, atol=2e-5)


WINDOWS = [
    ((2, 2), (), (0,), (1,), False), ((2, 2), (), (0,), (1,), True),
    ((3, 3), (2, 2), (1, 1), (1,), False), ((3, 2), (1, 2), (1, 0), (2, 1), True),
    ((2,), (3,), (1,), (1,), True), ((4, 4), (1,), (2,), (1,), False),
]  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS)
def test_max_pool(rng, window):
    x = floats(rng, 2, 3, 13, 11)
    x[0, 0, 2:4, 2:6] = np.nan
    x[0, 1] = -np.inf
    x[1, 0, 5, :] = 1.5  # ties: the first one counts
    if window[0] == (2, 2) and window[3] == (1,):
        check("max_pool2d", x[..., :12, :10].copy(), *window)
    else:
        assert kernel_of("max_pool2d")[1](np, x, *window) is NotImplemented
    check("max_pool2d_with_indices", x, *window)
    out, indices = kernel_of("max_pool2d_with_indices")[0](np, x, *window)
    grad = floats(rng, *out.shape)
    check("max_pool2d_with_indices_backward", grad, x, *window, indices)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gather_and_scatter_add(rng, dim):
    x = floats(rng, 6, 7, 8)
    shape = list(x.shape)
    shape[dim] = 20
    index = rng.integers(0, x.shape[dim], shape)
    source = floats(rng, *shape)
    check("gather", x, dim, index)
    check("scatter_add", x, dim, index, source, atol=1e-5)
    check("scatter_add_", x, dim, index, source, atol=1e-5)


def test_positions_out_of_bounds_are_left_to_the_numpy_kernel(rng):
    x = floats(rng, 4, 5)
    for wrong in (-1, 5):
        index = np.full((4, 5), wrong)
        before = x.copy()
        assert kernel_of("gather")[1](np, x, 1, index) is NotImplemented
        assert kernel_of("scatter_add_")[1](np, x, 1, index, x.copy()) is NotImplemented
        np.testing.assert_array_equal(x, before)
        assert kernel_of("embedding_dense_backward")[1](np, x, index[:, 0].copy(), 5, -1, False) is NotImplemented


def test_errors_are_the_same_for_large_operands():
    index = minitorch.full((300, 300), 300)
    with pytest.raises(RuntimeError, match="out of bounds"):
        minitorch.rand(300, 300).gather(1, index)
    with pytest.raises(IndexError):
        minitorch.nn.functional.softmax(minitorch.rand(300, 300), 2)


@pytest.mark.parametrize("padding", [-1, 3])
def test_embedding_gradient(rng, padding):
    check(
        "embedding_dense_backward", floats(rng, 50, 2, 9), rng.integers(0, 11, (50, 2)), 11, padding, False, atol=1e-5
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [(9, 9), (5, 12), (12, 5)])
def test_attention(rng, causal, lengths):
    queries, keys = lengths
    q, k, v = floats(rng, 2, 3, queries, 8), floats(rng, 2, 3, keys, 8), floats(rng, 2, 3, keys, 8)
    name = "_scaled_dot_product_flash_attention_for_cpu"
    check(name, q, k, v, 0.0, causal)
    out, logsumexp = kernel_of(name)[0](np, q, k, v, 0.0, causal)
    grad = floats(rng, *out.shape)
    check(name + "_backward", grad, q, k, v, out, np.ascontiguousarray(logsumexp), 0.0, causal, atol=2e-5)


def test_other_operands_are_left_to_the_numpy_kernels(rng):
    x = floats(rng, 8, 8)
    for other in (x.astype(np.float64), x.T, x[:, ::2], x.astype(np.float16)):
        assert kernel_of("exp")[1](np, other) is NotImplemented
        assert kernel_of("_softmax")[1](np, other, 1, False) is NotImplemented
    assert kernel_of("_softmax")[1](np, x, 0, False) is NotImplemented


@pytest.mark.skipif("gelu" not in table.available(), reason="no kernels for large arrays here")
def test_large_operands_get_there_through_the_dispatcher(monkeypatch):
    kernel = OPERATORS["aten::gelu"].active("CPU")
    assert isinstance(kernel, LargeKernel)
    calls = []

    def counting(xp, self, **keywords):
        calls.append(self.size)
        return NotImplemented

    find, large, minimum, loop = kernel.find, kernel.large, kernel.minimum, kernel.loop
    kernel.large, kernel.minimum, kernel.loop = counting, 100, None
    try:
        x = minitorch.linspace(-3, 3, 100)
        result = minitorch.nn.functional.gelu(x)
        minitorch.nn.functional.gelu(x[1:])
    finally:
        kernel.find, kernel.large, kernel.minimum, kernel.loop = find, large, minimum, loop
    assert calls == [100]
    assert result.shape == (100,)


def test_threads_agree_and_may_run_at_once(rng):
    """Runs repeat bit for bit, whatever other threads of Python do; one thread may round otherwise than several."""
    x = floats(rng, 64, 1000)
    weight = floats(rng, 1000)
    _, mean, rstd = kernel_of("native_layer_norm")[0](np, x, [1000], weight, None, 1e-5)
    args = (np, x, x, [1000], mean, rstd, weight, None, [True, True, False])
    backward = kernel_of("native_layer_norm_backward")[1]
    before = minitorch.get_num_threads()
    results = []
    try:
        for count in (1, 2):
            minitorch.set_num_threads(count)
            results.append(backward(*args))
            workers = [threading.Thread(target=lambda: results.append(backward(*args))) for _ in range(4)]
            for w in workers:
                w.start()
            for w in workers:
                w.join()
    finally:
        minitorch.set_num_threads(before)
    assert len(results) == 10
    for one in (results[:5], results[5:]):
        for r in one[1:]:
            np.testing.assert_array_equal(r[0], one[0][0])
            np.testing.assert_array_equal(r[1], one[0][1])
    same(tuple(results[5][:2]), tuple(results[0][:2]), 1e-5, 1e-5)


FORKING = """
import os, sys
import minitorch
minitorch.set_num_threads(2)
x = minitorch.rand(512, 512)
expected = x.softmax(1)
pid = os.fork()
if pid == 0:
    os._exit(0 if (x.softmax(1) == expected).all() else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@needs_numba
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_process_computes_too():
    assert subprocess.run([sys.executable, "-c", FORKING], check=False, timeout=300).returncode == 0


LAZY = """
import sys
import minitorch
x = minitorch.ones(8, 8).softmax(1)
small = "numba" in sys.modules
y = minitorch.ones(512, 512).softmax(1)
print(small, "numba" in sys.modules)
"""


@needs_numba
@pytest.mark.parametrize(("switch", "loaded"), [("1", "True"), ("0", "False")])
def test_numba_is_imported_at_the_first_large_operand(switch, loaded):
    environment = {**os.environ, table.SWITCH: switch, "MINITORCH_FAST_FROM": "32768"}
    done = subprocess.run([sys.executable, "-c", LAZY], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", loaded]


def test_a_numba_that_does_not_load_leaves_the_other_kernels(monkeypatch):
    def refuse(name):
        raise ImportError("Numba needs NumPy 1.0 or less")

    monkeypatch.setattr(table, "find_spec", lambda name: None if "loops" in name else name)
    monkeypatch.setattr(table, "_numba_loads", True)
    monkeypatch.setattr(table, "import_module", refuse)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert table.find("gelu") is None
    assert "Numba needs NumPy" in str(caught[0].message)
    assert not table.has_numba()


def test_the_table_names_the_kernels():
    for name in table.FAST_KERNELS:
        assert OPERATORS["aten::" + name].active("CPU") is not None
    if not switched_off:
        for name in table.available():
            assert callable(table.find(name))


def test_a_processor_without_the_instructions_does_without_the_compiled_loops(monkeypatch):
    monkeypatch.setattr(table.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(table, "_FEATURES", ("AVX2", "NO_SUCH_FEATURE"))
    monkeypatch.setattr(table, "_numba_loads", False)
    assert table.available() == []
    assert table.find("gelu") is None
