"""Modules compiled, and the graphs of modules to look at."""

from __future__ import annotations

import pytest
from aot_helpers import Recorder

import minitorch as mt
from minitorch import nn
from minitorch.compiler import (
    aot_export_module,
    aot_module,
    aot_module_simplified,
    capture_graphs,
    interpret,
    min_cut_rematerialization_partition,
    nop,
)

X = mt.arange(12.0).sin().reshape(3, 4)


class Small(nn.Module):
    """A linear layer, batch norm and a count of the calls, and the loss as the first result."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(4, 2), nn.BatchNorm1d(2)
        self.register_buffer("calls", mt.zeros((), dtype=mt.int64))

    def forward(self, x, scale=1.0):
        self.calls += 1
        y = self.norm(self.linear(x)) * scale
        return (y * y.sin()).exp().sum(), y.relu()


def pair():
    """Return two modules with the same parameters."""
    mt.manual_seed(0)
    one, other = Small(), Small()
    other.load_state_dict(one.state_dict())
    return one, other


def test_state_is_the_modules_own():
    eager, model = pair()
    compiled = aot_module(model, interpret)
    for _ in range(2):
        loss, y = eager(X, scale=2.0)
        ours, z = compiled(X, scale=2.0)
        mt.testing.assert_close((ours, z), (loss, y))
        loss.backward()
        ours.backward()
    mt.testing.assert_close(dict(model.named_buffers()), dict(eager.named_buffers()))
    assert model.calls == 2
    assert model.norm.num_batches_tracked == 2
    for one, other in zip(model.parameters(), eager.parameters(), strict=True):
        mt.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-4)
    assert {id(p) for p in compiled.parameters()} == {id(p) for p in model.parameters()}


def test_training_and_evaluation_are_compiled_apart():
    eager, model = pair()
    recorder = Recorder()
    compiled = aot_module(model, recorder)
    compiled(X)
    eager(X)
    compiled.eval()
    eager.eval()
    assert not model.norm.training
    mt.testing.assert_close(compiled(X), eager(X))
    assert len(recorder.graphs) == 4
    compiled.train()
    compiled(X)
    assert len(recorder.graphs) == 4
    assert "_native_batch_norm_legit_functional" in recorder.names(0)
    assert "_native_batch_norm_legit_functional" not in recorder.names(2)


def test_frozen_and_shared_parameters():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
            self.second.weight = self.first.weight
            self.second.bias.requires_grad_(False)

        def forward(self, x):
            return self.second(self.first(x).tanh())

    model = Tied()
    model(X).sum().backward()
    expected = [p.grad for p in model.parameters()]
    model.zero_grad()
    aot_module(model, nop, partition_fn=min_cut_rematerialization_partition)(X).sum().backward()
    mt.testing.assert_close([p.grad for p in model.parameters()][:2], expected[:2])
    assert expected[2] is None
    assert model.second.bias.grad is None


def test_simplified():
    eager, model = pair()
    recorder = Recorder()
    compiled = aot_module_simplified(model, (X,), recorder)
    assert len(recorder.graphs) == 2
    assert model.calls == 0
    mt.testing.assert_close(compiled(X), eager(X))
    assert len(recorder.graphs) == 2
    compiled(X)[0].backward()
    assert model.linear.weight.grad is not None
    compiled.zero_grad()
    assert model.linear.weight.grad is None


def test_only_modules():
    with pytest.raises(ValueError, match="aot_function for functions"):
        aot_module(lambda x: x, nop)


# -- graphs to look at -----------------------------------------------------------------------------------


def test_captured_graphs():
    model = Small()
    state = mt.get_rng_state()
    graphs = capture_graphs(model, X)
    assert mt.equal(mt.get_rng_state(), state)
    assert model.calls == 0
    assert graphs.input_names == [
        "linear.weight", "linear.bias", "norm.weight", "norm.bias", "calls", "norm.running_mean", "norm.running_var",
        "norm.num_batches_tracked", "input_0",
    ]  # fmt: skip
    assert graphs.mutated_inputs == ["calls", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]
    text = str(graphs)
    assert "forward, of linear.weight" in text
    assert f"backward, with {graphs.saved_bytes} bytes saved" in text
    assert "native_batch_norm_backward" in text
    for graph in (graphs.forward, graphs.backward):
        graph.graph.lint()
        assert not any(
            a.is_write for n in graph.graph.nodes if hasattr(n.target, "_schema") for a in n.target._schema.arguments
        )
    with mt.no_grad():
        graphs = capture_graphs(model, X)
    assert graphs.backward is None
    assert graphs.joint is None
    assert "backward" not in str(graphs)


def test_readable_graphs(capsys):
    capture_graphs(lambda x: x.sin(), X.clone().requires_grad_()).print_readable()
    assert capsys.readouterr().out.count("def forward") == 2


def test_exported_modules():
    model = Small()
    graph, signature = aot_export_module(model, (X,), trace_joint=False)
    assert signature.parameters == ["linear.weight", "linear.bias", "norm.weight", "norm.bias"]
    assert signature.buffers == ["calls", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]
    assert list(signature.inputs_to_parameters.values()) == signature.parameters
    assert sorted(signature.buffers_to_mutate.values()) == sorted(signature.buffers)
    assert len(signature.user_inputs) == 1
    assert len(signature.user_outputs) == 2
    assert signature.backward_signature is None
    state = [*model.parameters(), *model.buffers()]
    results = graph(*state, X)
    loss, y = model(X)
    names = [str(node) for node in graph.graph.output_node().args[0]]
    found = dict(zip(names, results, strict=True))
    mt.testing.assert_close([found[name] for name in signature.user_outputs], [loss, y])
    buffers = dict(model.named_buffers())
    for name, buffer in signature.buffers_to_mutate.items():
        mt.testing.assert_close(found[name], buffers[buffer])


def test_exported_gradients():
    model = Small()
    graph, signature = aot_export_module(model, (X,), trace_joint=True, output_loss_index=0)
    backward = signature.backward_signature
    assert list(backward.gradients_to_parameters.values()) == signature.parameters
    assert backward.loss_output == signature.user_outputs[0]
    assert backward.gradients_to_user_inputs == {}
    results = graph(*model.parameters(), *model.buffers(), X)
    found = dict(zip([str(node) for node in graph.graph.output_node().args[0]], results, strict=True))
    model(X)[0].backward()
    parameters = dict(model.named_parameters())
    for name, parameter in backward.gradients_to_parameters.items():
        mt.testing.assert_close(found[name], parameters[parameter].grad)


def test_exports_that_are_refused():
    with pytest.raises(RuntimeError, match="which output is the loss"):
        aot_export_module(Small(), (X,), trace_joint=True)
    with pytest.raises(RuntimeError, match="is to be the loss, a scalar"):
        aot_export_module(Small(), (X,), trace_joint=True, output_loss_index=1)


def test_the_names_of_pytorch():
    from minitorch._functorch import aot_autograd, partitioners

    assert aot_autograd.aot_module is aot_module
    assert aot_autograd.aot_export_module is aot_export_module
    assert partitioners.min_cut_rematerialization_partition is min_cut_rematerialization_partition
