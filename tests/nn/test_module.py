"""`Module`: what assignment registers, hooks, state, moves, printing."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

import pytest

import minitorch
from minitorch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.scale = nn.Parameter(minitorch.ones(3))
        self.register_buffer("count", minitorch.zeros(1))
        self.register_buffer("scratch", minitorch.zeros(1), persistent=False)

    def forward(self, x, shift=0.0):
        return self.linear(x) * self.scale + shift


def test_assignment_registers_parameters_buffers_and_modules():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["scale", "linear.weight", "linear.bias"]
    assert [n for n, _ in net.named_buffers()] == ["count", "scratch"]
    assert [n for n, _ in net.named_children()] == ["linear"]
    assert [n for n, _ in net.named_modules()] == ["", "linear"]
    assert list(net.state_dict()) == ["scale", "count", "linear.weight", "linear.bias"]
    assert net.get_parameter("linear.bias") is net.linear.bias
    assert net.get_buffer("count") is net.count
    assert net.get_submodule("linear") is net.linear


def test_parameter_names_take_only_parameters_or_none():
    net = Net()
    with pytest.raises(TypeError, match="cannot assign 'Tensor' as parameter 'scale'"):
        net.scale = minitorch.ones(3)
    net.scale = None
    assert net.scale is None
    assert [n for n, _ in net.named_parameters()] == ["linear.weight", "linear.bias"]
    net.scale = nn.Parameter(minitorch.zeros(3))
    assert "scale" in net._parameters


def test_assignment_moves_a_name_between_the_kinds():
    net = nn.Module()
    net.x = 1
    net.x = nn.Parameter(minitorch.ones(1))
    assert "x" not in net.__dict__
    assert "x" in net._parameters
    net.x = None
    del net.x
    net.x = nn.Linear(1, 1)
    assert "x" in net._modules
    with pytest.raises(TypeError, match="as child module 'x'"):
        net.x = minitorch.ones(1)


def test_nn_buffer_registers_a_buffer():
    net = nn.Module()
    net.kept = nn.Buffer(minitorch.ones(2))
    net.dropped = nn.Buffer(minitorch.ones(2), persistent=False)
    assert [n for n, _ in net.named_buffers()] == ["kept", "dropped"]
    assert list(net.state_dict()) == ["kept"]


@pytest.mark.parametrize(
    ("name", "error"), [("a.b", KeyError), ("", KeyError), (3, TypeError), ("linear", KeyError)]
)
def test_bad_names_are_refused(name, error):
    with pytest.raises(error):
        Net().register_parameter(name, None)


def test_assignment_before_init_is_refused():
    class Bad(nn.Module):
        def __init__(self):
            self.p = nn.Parameter(minitorch.ones(1))

    with pytest.raises(AttributeError, match="cannot assign parameters before Module.__init__"):
        Bad()


def test_missing_attribute_and_forward_say_what_is_missing():
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nothing'"):
        _ = Net().nothing
    with pytest.raises(NotImplementedError, match='missing the required "forward" function'):
        nn.Module()(1)


def test_a_shared_parameter_is_yielded_once():
    net = nn.ModuleList([nn.Linear(2, 2, bias=False) for _ in range(2)])
    net[1].weight = net[0].weight
    assert len(list(net.parameters())) == 1
    assert len(list(net.named_parameters(remove_duplicate=False))) == 2
    assert list(net.state_dict()) == ["0.weight", "1.weight"]


# ---------------------------------------------------------------- hooks


def test_forward_hooks_replace_inputs_and_outputs_in_order():
    net = nn.Identity()
    calls = []
    net.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    net.register_forward_hook(lambda m, args, out: calls.append("first"))
    handle = net.register_forward_hook(lambda m, args, out: out * 10)
    net.register_forward_hook(lambda m, args, out: calls.append("before"), prepend=True)
    assert net(minitorch.ones(1)).item() == 20
    assert calls == ["before", "first"]
    handle.remove()
    assert net(minitorch.ones(1)).item() == 2


def test_hooks_with_kwargs():
    net = Net()
    net.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"shift": kwargs["shift"] + 1}), with_kwargs=True
    )
    seen = []
    net.register_forward_hook(
        lambda m, args, kwargs, out: seen.append(kwargs["shift"]), with_kwargs=True
    )
    net(minitorch.ones(1, 2), shift=1.0)
    assert seen == [2.0]


def test_always_called_hook_runs_after_a_failure():
    class Fails(nn.Module):
        def forward(self, x):
            raise RuntimeError("no")

    net = Fails()
    seen = []
    net.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    with pytest.raises(RuntimeError, match="no"):
        net(1)
    assert seen == [None]


def test_full_backward_hook_sees_and_replaces_gradients():
    net = nn.Linear(2, 1, bias=False)
    with minitorch.no_grad():
        net.weight.copy_(minitorch.tensor([[2.0, 3.0]]))
    seen = {}

    def pre(module, grad_output):
        seen["pre"] = grad_output[0].tolist()
        return (grad_output[0] * 2,)

    def hook(module, grad_input, grad_output):
        seen["input"], seen["output"] = grad_input[0].tolist(), grad_output[0].tolist()
        return (grad_input[0] * 10,)

    net.register_full_backward_pre_hook(pre)
    net.register_full_backward_hook(hook)
    x = minitorch.ones(1, 2, requires_grad=True)
    net(x).sum().backward()
    assert seen == {"pre": [[1.0]], "output": [[2.0]], "input": [[4.0, 6.0]]}
    assert x.grad.tolist() == [[40.0, 60.0]]


def test_full_backward_hook_without_input_gradient_runs_at_the_output():
    net = nn.Linear(2, 1)
    seen = []
    net.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go[0].tolist())))
    net(minitorch.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1.0]])]


def test_the_two_kinds_of_backward_hooks_do_not_mix():
    net = nn.Linear(1, 1)
    net.register_full_backward_hook(lambda *a: None)
    with pytest.raises(RuntimeError, match="Cannot use both"):
        net.register_backward_hook(lambda *a: None)


def test_global_hooks_run_for_every_module():
    names = []
    handle = nn.modules.module.register_module_forward_hook(
        lambda m, args, out: names.append(type(m).__name__)
    )
    try:
        nn.Sequential(nn.Identity())(minitorch.ones(1))
    finally:
        handle.remove()
    assert names == ["Identity", "Sequential"]


# ---------------------------------------------------------------- state


def test_state_round_trips_and_keeps_metadata():
    a, b = Net(), Net()
    state = a.state_dict()
    assert state._metadata["linear"] == {"version": 1}
    result = b.load_state_dict(state)
    assert repr(result) == "<All keys matched successfully>"
    assert minitorch.equal(a.linear.weight, b.linear.weight)
    assert not state["linear.weight"].requires_grad
    assert a.state_dict(keep_vars=True)["linear.weight"] is a.linear.weight


def test_load_tells_missing_unexpected_and_wrong_sizes():
    net = Net()
    state = OrderedDict(net.state_dict())
    del state["scale"]
    state["other.x"] = minitorch.ones(1)
    state["linear.bias"] = minitorch.ones(5)
    with pytest.raises(RuntimeError) as info:
        net.load_state_dict(state)
    text = str(info.value)
    assert text.startswith("Error(s) in loading state_dict for Net:")
    assert 'Missing key(s) in state_dict: "scale". ' in text
    assert 'Unexpected key(s) in state_dict: "other.x". ' in text
    assert "size mismatch for linear.bias" in text
    state["linear.bias"] = minitorch.ones(3)
    result = net.load_state_dict(state, strict=False)
    assert result.missing_keys == ["scale"]
    assert result.unexpected_keys == ["other.x"]


def test_load_with_assign_takes_the_tensors_themselves():
    net = nn.Linear(1, 1, bias=False)
    weight = minitorch.ones(1, 1)
    net.load_state_dict({"weight": weight}, assign=True)
    assert net.weight.data_ptr() == weight.data_ptr()
    assert isinstance(net.weight, nn.Parameter)


def test_extra_state_and_state_hooks():
    class Extra(nn.Module):
        def get_extra_state(self):
            return {"steps": 3}

        def set_extra_state(self, state):
            self.got = state

    net = Extra()
    net.register_state_dict_pre_hook(lambda m, prefix, keep: setattr(m, "asked", prefix))
    net.register_load_state_dict_post_hook(lambda m, keys: setattr(m, "loaded", True))
    state = net.state_dict()
    assert state == {"_extra_state": {"steps": 3}}
    net.load_state_dict(state)
    assert net.got == {"steps": 3}
    assert net.asked == ""
    assert net.loaded


def test_deepcopy_and_pickle_give_equal_and_separate_modules():
    net = Net()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert isinstance(other.scale, nn.Parameter)
        assert minitorch.equal(other.linear.weight, net.linear.weight)
        assert other.linear.weight.data_ptr() != net.linear.weight.data_ptr()
        x = minitorch.ones(1, 2)
        assert minitorch.equal(other(x), net(x))


# ---------------------------------------------------------------- moves and modes


def test_to_casts_floating_tensors_and_keeps_parameter_objects():
    net = nn.BatchNorm1d(2)
    weight = net.weight
    net(minitorch.ones(3, 2)).sum().backward()
    assert net.double() is net
    assert net.weight is weight
    assert weight.dtype is minitorch.float64
    assert weight.grad.dtype is minitorch.float64
    assert net.running_mean.dtype is minitorch.float64
    assert net.num_batches_tracked.dtype is minitorch.int64
    with pytest.raises(TypeError, match="only accepts floating point"):
        net.to(minitorch.int64)
    assert net.to("meta").weight.is_meta


def test_train_eval_zero_grad_apply():
    net = nn.Sequential(nn.Linear(1, 1), nn.Dropout())
    assert net.eval() is net
    assert not net[1].training
    net.train()
    net(minitorch.ones(1, 1)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net[0].weight.grad.tolist() == [[0.0]]
    net.zero_grad()
    assert net[0].weight.grad is None
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    seen = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "Dropout", "Sequential"]


def test_repr_nests_and_shows_extra_text():
    net = nn.Sequential(OrderedDict(a=nn.Linear(1, 2), b=nn.Sequential(nn.ReLU(inplace=True))))
    assert repr(net) == (
        "Sequential(\n"
        "  (a): Linear(in_features=1, out_features=2, bias=True)\n"
        "  (b): Sequential(\n"
        "    (0): ReLU(inplace=True)\n"
        "  )\n"
        ")"
    )
    assert repr(nn.ModuleList([nn.ReLU() for _ in range(3)])) == "ModuleList(\n  (0-2): 3 x ReLU()\n)"


# ---------------------------------------------------------------- containers


def test_sequential_is_a_list_of_modules():
    net = nn.Sequential(nn.Linear(1, 2), nn.ReLU())
    net.append(nn.Linear(2, 1))
    net.insert(0, nn.Identity())
    assert [type(m).__name__ for m in net] == ["Identity", "Linear", "ReLU", "Linear"]
    assert type(net[1:3]) is nn.Sequential
    assert len(net[1:3]) == 2
    del net[0]
    assert list(net._modules) == ["0", "1", "2"]
    assert net[-1].out_features == 1
    with pytest.raises(IndexError):
        _ = net[5]
    assert len(net + nn.Sequential(nn.ReLU())) == 4
    assert len(nn.Sequential(nn.ReLU()) * 3) == 3


def test_module_dict_and_parameter_containers():
    choices = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 1)})
    assert list(choices) == ["a", "b"]
    assert "b.weight" in choices.state_dict()
    assert type(choices.pop("a")) is nn.ReLU
    listed = nn.ParameterList([minitorch.ones(1), nn.Parameter(minitorch.ones(2))])
    assert all(isinstance(p, nn.Parameter) for p in listed)
    assert list(listed.state_dict()) == ["0", "1"]
    named = nn.ParameterDict({"x": minitorch.ones(1)})
    named["y"] = minitorch.ones(2)
    assert sorted(named.keys()) == ["x", "y"]
    assert len(list(named.parameters())) == 2
