"""The installed device: found by its entry point, and trained on."""

import pytest

import minitorch
from minitorch import nn
from minitorch.backends import clear_fallbacks, fallback_policy, fallback_report, registered_backends


@pytest.fixture(autouse=True)
def fallbacks():
    clear_fallbacks()
    with fallback_policy("allow"):
        yield


def losses(device):
    minitorch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3)).to(device)
    inputs, labels = minitorch.randn(12, 4).to(device), (minitorch.arange(12) % 3).to(device)
    rule = minitorch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    found = []
    for _ in range(20):
        rule.zero_grad()
        loss = nn.functional.cross_entropy(net(inputs), labels)
        loss.backward()
        rule.step()
        found.append(loss.item())
    return found


def test_the_entry_point_is_found():
    x = minitorch.ones(2, device="minimal")
    assert "minimal" in registered_backends()
    assert x.is_minimal
    assert str(x.device) == "minimal:0"
    assert registered_backends()["minimal"].key == "PrivateUse1"


def test_a_net_learns_what_it_learns_on_the_cpu():
    found = losses("minimal")
    assert found == pytest.approx(losses("cpu"), rel=1e-4)
    assert found[-1] < found[0] / 2
    on_cpu = fallback_report().operators()
    assert "aten::_log_softmax" in on_cpu
    assert not {"aten::relu", "aten::mm", "aten::threshold_backward", "aten::add.Tensor"} & set(on_cpu)


def test_what_has_a_kernel_runs_on_the_device():
    x = minitorch.tensor([[1.0, -2.0], [3.0, 4.0]]).to("minimal")
    with fallback_policy("error"):
        assert (x @ x.t()).relu().sum(0).tolist() == [5.0, 25.0]
        assert (x[:, ::2] * 2 - 1).tolist() == [[1.0], [5.0]]
        with pytest.raises(NotImplementedError, match='@backend.kernel\\("sin"\\)'):
            x.sin()
    assert x.sin().cpu().tolist() == x.cpu().sin().tolist()
