"""Models trained by compiled graphs: the losses of eager mode, step by step."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest
from aot_helpers import PARTITIONS, Recorder

import minitorch as mt
from minitorch import nn
from minitorch.compiler import aot_module, interpret

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def digits_model():
    spec = importlib.util.spec_from_file_location("digits_example", EXAMPLES / "digits.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make_model(mt)


class GPTBlock(nn.Module):
    """A transformer block: attention, dropout and a feed-forward network, each around a normalization."""

    def __init__(self, width=16, heads=4):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (
            s.view(b, t, self.heads, c // self.heads).transpose(1, 2) for s in self.qkv(self.n1(x)).split(c, dim=2)
        )
        a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.out(a.transpose(1, 2).reshape(b, t, c)))
        return x + self.drop(self.down(nn.functional.gelu(self.up(self.n2(x)))))


class GPT(nn.Module):
    """Two blocks between an embedding and a head that shares its weight."""

    def __init__(self, width=16, vocabulary=11, length=8):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(GPTBlock(width), GPTBlock(width))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(mt.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(x))).flatten(0, 1)


def digits_batch(generator):
    return mt.rand(8, 1, 8, 8, generator=generator), mt.randint(0, 10, (8,), generator=generator)


def gpt_batch(generator):
    text = mt.randint(0, 11, (4, 9), generator=generator)
    return text[:, :-1], text[:, 1:].flatten()


def train(make_model, make_batch, wrap, steps=5, **options):
    """Return losses, state and the next random number after some steps."""
    mt.manual_seed(3)
    model = make_model()
    optimizer = mt.optim.AdamW(model.parameters(), lr=1e-3)
    function = wrap(model)
    generator = mt.Generator()
    generator.manual_seed(1)
    losses = []
    for _ in range(steps):
        x, y = make_batch(generator)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(function(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model.state_dict(), mt.rand(2)


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize(
    ("make_model", "make_batch"), [(digits_model, digits_batch), (GPT, gpt_batch)], ids=["digits", "gpt"]
)
def test_training(make_model, make_batch, partition):
    recorder = Recorder()
    losses, state, following = train(make_model, make_batch, lambda model: model)
    compiled = train(
        make_model, make_batch, lambda model: aot_module(model, recorder, partition_fn=PARTITIONS[partition])
    )
    assert compiled[0] == pytest.approx(losses, rel=1e-5)
    assert mt.equal(compiled[2], following)  # dropout took its numbers from the same stream
    assert len(recorder.graphs) == 2
    assert losses[-1] != losses[0]
    for name, value in state.items():
        # Adam divides by the gradient's own size: where that is nothing but rounding, its sign is too.
        mt.testing.assert_close(
            compiled[1][name], value, rtol=1e-3, atol=6e-3, msg=lambda text, name=name: f"{name}: {text}"
        )
        if "running" in name or "batches" in name:
            mt.testing.assert_close(compiled[1][name], value, rtol=1e-3, atol=1e-3)


def test_the_first_gradients_are_equal_to_rounding():
    for make_model, make_batch in ((digits_model, digits_batch), (GPT, gpt_batch)):
        gradients = []
        for wrap in (lambda model: model, lambda model: aot_module(model, interpret)):
            mt.manual_seed(3)
            model = make_model()
            x, y = make_batch(None)
            nn.functional.cross_entropy(wrap(model)(x), y).backward()
            gradients.append({name: p.grad for name, p in model.named_parameters()})
        mt.testing.assert_close(gradients[1], gradients[0], rtol=1e-4, atol=1e-6)


def test_min_cut_saves_less():
    saved = {}
    for name, partition in PARTITIONS.items():
        recorder = Recorder()
        mt.manual_seed(0)
        model = GPT()
        aot_module(model, recorder, partition_fn=partition)(mt.zeros(4, 8, dtype=mt.int64))
        values = [n.meta["val"] for n in recorder.graphs[1].graph.find_nodes(op="placeholder")]
        inputs = {n.name for n in recorder.graphs[0].graph.find_nodes(op="placeholder")}
        names = [n.name for n in recorder.graphs[1].graph.find_nodes(op="placeholder")]
        saved[name] = sum(v.numel() * v.element_size() for n, v in zip(names, values, strict=True) if n not in inputs)
    assert saved["min_cut"] < 0.8 * saved["default"]
