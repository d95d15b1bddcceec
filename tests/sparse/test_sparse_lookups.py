"""Gradients of look-ups as sparse tensors, and the optimizers that take them."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch
from minitorch import nn, optim

INDICES = [[1, 2], [1, 4]]


def table(lib=minitorch):
    return lib.arange(12.0).reshape(6, 2).requires_grad_()


def looked_up(lib, weight, **options):
    return lib.nn.functional.embedding(lib.tensor(INDICES), weight, **options)


def bag(lib, weight, **options):
    return lib.nn.functional.embedding_bag(lib.tensor(INDICES), weight, **options)


def gathered(lib, weight, sparse=False):
    return lib.gather(weight, 0, lib.tensor([[0, 1], [2, 2]]), sparse_grad=sparse)


FUNCTIONS = {
    "embedding": looked_up,
    "padding": lambda lib, w, **o: looked_up(lib, w, padding_idx=1, **o),
    "sum": lambda lib, w, **o: bag(lib, w, mode="sum", **o),
    "mean": lambda lib, w, **o: bag(lib, w, mode="mean", **o),
    "bag padding": lambda lib, w, **o: bag(lib, w, mode="mean", padding_idx=1, **o),
    "weights": lambda lib, w, **o: bag(lib, w, mode="sum", per_sample_weights=lib.tensor([[0.5, 2.0], [3.0, 1.0]]), **o),
    "gather": gathered,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_sparse_gradient_is_the_dense_one(name):
    dense, weight = table(), table()
    (FUNCTIONS[name](minitorch, dense) ** 2).sum().backward()
    (FUNCTIONS[name](minitorch, weight, sparse=True) ** 2).sum().backward()
    assert weight.grad.layout is minitorch.sparse_coo
    assert weight.grad.shape == weight.shape
    np.testing.assert_allclose(weight.grad.to_dense().numpy(), dense.grad.numpy(), rtol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("name", FUNCTIONS)
def test_entries_are_those_of_pytorch(torch, name):
    grads = []
    for lib in (torch, minitorch):
        weight = table(lib)
        (FUNCTIONS[name](lib, weight, sparse=True) ** 2).sum().backward()
        grads.append(weight.grad)
    expected, got = grads
    assert got._indices().tolist() == expected._indices().tolist()
    np.testing.assert_allclose(got._values().numpy(), expected._values().numpy(), rtol=1e-6)
    assert got.is_coalesced() == expected.is_coalesced()


def test_a_second_derivative_goes_through_the_sparse_gradient():
    weight = table()
    (grad,) = minitorch.autograd.grad((looked_up(minitorch, weight, sparse=True) ** 3).sum(), weight, create_graph=True)
    grad.to_dense().sum().backward()
    counts = np.array([0, 2, 1, 0, 1, 0])[:, None]
    np.testing.assert_allclose(weight.grad.to_dense().numpy(), 6 * counts * table().detach().numpy())


def test_gradients_of_several_look_ups_add_up():
    weight = table()
    for _ in range(2):
        looked_up(minitorch, weight, sparse=True).sum().backward()
    assert weight.grad.layout is minitorch.sparse_coo
    assert weight.grad.to_dense()[:, 0].tolist() == [0, 4, 2, 0, 2, 0]
    weight.sum().backward()  # a dense gradient makes the sum dense
    assert weight.grad.layout is minitorch.strided
    assert weight.grad[:, 0].tolist() == [1, 5, 3, 1, 3, 1]


def test_refusals():
    with pytest.raises(RuntimeError, match="scale_grad_by_freq"):
        looked_up(minitorch, table(), sparse=True, scale_grad_by_freq=True).sum().backward()
    with pytest.raises(ValueError, match="max mode does not support sparse"):
        bag(minitorch, table(), mode="max", sparse=True)


# ---------------------------------------------------------------- optimizers


OPTIMIZERS = {
    "SGD": lambda lib, p: lib.optim.SGD(p, lr=0.1),
    "momentum": lambda lib, p: lib.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1),
    "nesterov": lambda lib, p: lib.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "Adagrad": lambda lib, p: lib.optim.Adagrad(p, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.2),
    "SparseAdam": lambda lib, p: lib.optim.SparseAdam(p, lr=0.1),
    "maximize": lambda lib, p: lib.optim.SparseAdam(p, lr=0.1, betas=(0.7, 0.9), eps=1e-3, maximize=True),
}
STEPS = ([1, 1, 3], [2], [1, 5, 5, 5], [5, 3]) * 5


def trained(lib, make):
    weight = table(lib)
    optimizer = make(lib, [weight])
    for rows in STEPS:
        optimizer.zero_grad()
        (lib.nn.functional.embedding(lib.tensor(rows), weight, sparse=True) ** 2).sum().backward()
        optimizer.step()
    return weight, optimizer


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_pytorch(torch, name):
    expected, theirs = trained(torch, OPTIMIZERS[name])
    got, ours = trained(minitorch, OPTIMIZERS[name])
    np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-5)
    assert list(ours.state_dict()["state"].get(0, {})) == list(theirs.state_dict()["state"].get(0, {}))


@pytest.mark.parametrize("name", ["SGD", "Adagrad"])
def test_steps_are_those_on_dense_gradients(name):
    got, _ = trained(minitorch, OPTIMIZERS[name])
    weight = table()
    optimizer = OPTIMIZERS[name](minitorch, [weight])
    for rows in STEPS:
        optimizer.zero_grad()
        (nn.functional.embedding(minitorch.tensor(rows), weight) ** 2).sum().backward()
        optimizer.step()
    np.testing.assert_allclose(got.detach().numpy(), weight.detach().numpy(), rtol=1e-5)


def test_sparse_adam_leaves_other_rows_alone():
    got, optimizer = trained(minitorch, OPTIMIZERS["SparseAdam"])
    assert got[[0, 4]].tolist() == table()[[0, 4]].tolist()
    assert optimizer.state[got]["exp_avg"][0].tolist() == [0, 0]
    restored = optim.SparseAdam([got])
    restored.load_state_dict(optimizer.state_dict())
    assert restored.state[got]["step"] == len(STEPS) == 20


def test_optimizers_that_take_no_sparse_gradients_say_so():
    weight = table()
    looked_up(minitorch, weight, sparse=True).sum().backward()
    with pytest.raises(RuntimeError, match="please consider SparseAdam"):
        optim.Adam([weight]).step()
    with pytest.raises(RuntimeError, match="RMSprop does not support sparse gradients"):
        optim.RMSprop([weight]).step()
    with pytest.raises(RuntimeError, match="weight_decay"):
        optim.Adagrad([weight], weight_decay=0.1).step()
    with pytest.raises(RuntimeError, match="dense"):
        optim.SGD([weight], weight_decay=0.1).step()
    weight.grad = minitorch.ones(6, 2)
    with pytest.raises(RuntimeError, match="consider Adam instead"):
        optim.SparseAdam([weight]).step()
    with pytest.raises(ValueError, match="requires dense parameter"):
        optim.SparseAdam([minitorch.eye(2).to_sparse().requires_grad_()])
    for options in ({"lr": 0.0}, {"eps": 0.0}, {"betas": (1.0, 0.9)}):
        with pytest.raises(ValueError, match="Invalid"):
            optim.SparseAdam([weight], **options)


def test_a_model_of_looked_up_rows_learns():
    minitorch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(20, 4, sparse=True), nn.Flatten(), nn.Linear(8, 1))
    words = minitorch.randint(0, 20, (40, 2))
    wanted = (words.sum(1, keepdim=True) > 20).float()
    sparse = optim.SparseAdam(model[0].parameters(), lr=0.05)
    rest = optim.SGD(model[2].parameters(), lr=0.3, momentum=0.5)
    losses = []
    for _ in range(60):
        loss = nn.functional.binary_cross_entropy_with_logits(model(words), wanted)
        sparse.zero_grad()
        rest.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        sparse.step()
        rest.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


def test_sparse_tensors_are_collated():
    rows = [minitorch.tensor([0.0, 1.0, 0.0]).to_sparse(), minitorch.tensor([2.0, 0.0, 3.0]).to_sparse()]
    batch = minitorch.utils.data.default_collate(rows)
    assert batch.layout is minitorch.sparse_coo
    assert batch.to_dense().tolist() == [[0, 1, 0], [2, 0, 3]]
