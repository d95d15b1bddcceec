"""Ordinary training code: a linear model recovers its weights, a small GPT block overfits a sequence."""

from __future__ import annotations

import numpy as np

import minitorch
from minitorch import nn


def test_linear_regression_recovers_the_weights():
    minitorch.manual_seed(0)
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((256, 3)).astype(np.float32)
    weights = np.array([[1.5, -2.0, 0.5]], dtype=np.float32)
    x = minitorch.from_numpy(inputs)
    y = minitorch.from_numpy(inputs @ weights.T + 0.25)
    model = nn.Linear(3, 1)
    optimizer = minitorch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(200):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    assert loss.item() < 1e-6
    np.testing.assert_allclose(model.weight.detach().numpy(), weights, atol=1e-3)
    np.testing.assert_allclose(model.bias.item(), 0.25, atol=1e-3)


class Block(nn.Module):
    """Attention and a feed-forward layer, each behind a layer norm."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (
            s.view(b, t, self.heads, c // self.heads).transpose(1, 2) for s in self.qkv(self.norm1(x)).split(c, dim=2)
        )
        a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, c))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


def test_a_gpt_block_overfits_a_sequence():
    minitorch.manual_seed(0)
    ids = minitorch.tensor([[3, 1, 4, 1, 5, 9, 2, 6, 5, 3]])
    embedding, block, head = nn.Embedding(10, 32), Block(32, 4), nn.Linear(32, 10)
    model = nn.ModuleList([embedding, block, head])
    position = nn.Parameter(minitorch.randn(9, 32) * 0.1)
    optimizer = minitorch.optim.AdamW([*model.parameters(), position], lr=3e-3)
    for _ in range(80):
        optimizer.zero_grad()
        logits = head(block(embedding(ids[:, :-1]) + position))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05
    assert (logits.argmax(-1) == ids[:, 1:]).all()
