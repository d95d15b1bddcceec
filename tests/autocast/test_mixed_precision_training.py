"""Training a small GPT in mixed precision: the losses are those of float32, within a band."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch as mt
from minitorch import nn

WIDTH, HEADS, LENGTH, BATCH, VOCAB = 32, 4, 16, 8, 31


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        n, length, _ = x.shape
        q, k, v = (t.reshape(n, length, HEADS, -1).transpose(1, 2) for t in self.qkv(self.first(x)).chunk(3, -1))
        heads = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(heads.transpose(1, 2).reshape(n, length, WIDTH))
        return x + self.mlp(self.second(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCAB, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks, self.norm = nn.Sequential(Block(), Block()), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, ids, places):
        return self.head(self.norm(self.blocks(self.tokens(ids) + self.places(places))))


def train(device, steps, dtype=None, bad_step=None):
    """Return the losses, the scaler and the dtypes of one loss and one output."""
    mt.manual_seed(0)
    model = Gpt().to(device)
    optimizer = mt.optim.AdamW(model.parameters(), lr=3e-3)
    scaler = mt.amp.GradScaler(device, init_scale=2.0**12, enabled=dtype is mt.float16)
    rng = np.random.default_rng(0)
    # A sequence that can be learnt: each token follows from the one before.
    ids = rng.integers(0, VOCAB, (BATCH, 1)) + 3 * np.arange(LENGTH + 1)
    ids = mt.from_numpy(ids % VOCAB).to(device)
    places = mt.arange(LENGTH).to(device)
    losses, dtypes, scales = [], set(), []
    for number in range(steps):
        optimizer.zero_grad()
        with mt.autocast(device, dtype=dtype or mt.bfloat16, enabled=dtype is not None):
            out = model(ids[:, :-1], places)
            loss = nn.functional.cross_entropy(out.reshape(-1, VOCAB), ids[:, 1:].reshape(-1))
        dtypes.add((out.dtype, loss.dtype))
        scaler.scale(loss * float("inf") if number == bad_step else loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
        scales.append(scaler.get_scale())
    assert {p.dtype for p in model.parameters()} == {p.grad.dtype for p in model.parameters()} == {mt.float32}
    return np.array(losses), dtypes, scales


def assert_converges_alike(rough, exact):
    assert exact[-1] < 0.1 * exact[0]
    assert rough[-1] < 0.12 * rough[0]
    # Relative to where it starts: both curves fall through the same values.
    assert np.abs(rough - exact).max() < 0.05 * exact[0]


def test_bfloat16_on_the_cpu_converges_like_float32():
    exact, dtypes, _ = train("cpu", 60)
    assert dtypes == {(mt.float32, mt.float32)}
    rough, dtypes, _ = train("cpu", 60, mt.bfloat16)
    assert dtypes == {(mt.bfloat16, mt.float32)}
    assert not np.array_equal(rough, exact)
    assert_converges_alike(rough, exact)


def test_float16_with_a_scaler_skips_a_bad_step_and_converges():
    exact, _, _ = train("cpu", 60)
    rough, dtypes, scales = train("cpu", 60, mt.float16, bad_step=20)
    assert dtypes == {(mt.float16, mt.float32)}
    assert scales[19:21] == [2.0**12, 2.0**11]
    assert rough[21] == rough[20]  # the step in between was left out
    assert_converges_alike(np.delete(rough, 20), exact[:-1])


def test_on_opencl():
    pytest.importorskip("pyopencl")
    if not mt.opencl.is_available():
        pytest.skip("no OpenCL device")
    exact, _, _ = train("cpu", 15)
    dtype = mt.get_autocast_dtype("opencl")
    assert dtype is (mt.float16 if mt.opencl.get_device_properties().has_fp16 else mt.bfloat16)
    rough, dtypes, scales = train("opencl", 15, dtype, bad_step=5 if dtype is mt.float16 else None)
    assert dtypes == {(dtype, mt.float32)}
    if dtype is mt.float16:
        assert scales[4:6] == [2.0**12, 2.0**11]
        rough, exact = np.delete(rough, 5), exact[:-1]
    assert np.abs(rough - exact).max() < 0.05 * exact[0]
