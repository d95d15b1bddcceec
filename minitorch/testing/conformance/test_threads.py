"""Several threads at once give what one does."""

from concurrent.futures import ThreadPoolExecutor

import minitorch
from minitorch.backends import fallback_policy
from minitorch.testing.conformance.helpers import backend_module, check_equal, net, numbers

THREADS = 4


def run_in_threads(work):
    """Return ``work(i)`` for each thread's number, computed at once."""

    def run(i):
        with fallback_policy("allow"):
            return work(i)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def test_operators(device):
    def work(i, where=device):
        x = (numbers(16, 16, seed=i) / 23).to(where)
        for _ in range(5):
            x = ((x @ x.t()).softmax(-1) + x[:, :1]).clamp(max=1.5) * 0.7
            x[i] = x.sum(0).tanh()
        return x.cpu()

    for i, found in enumerate(run_in_threads(work)):
        check_equal(found, work(i, "cpu"), scale=10.0)


def test_one_tensor_read_by_all(device):
    shared = numbers(32, 32).to(device)
    for i, found in enumerate(run_in_threads(lambda i: (shared * (i + 1)).sum(0).cpu())):
        check_equal(found, (numbers(32, 32) * (i + 1)).sum(0))


def test_backward(device):
    model, x = net().to(device), numbers(4, 1, 4, 4) / 23

    def work(i, model=model, where=device):
        copy = (x * (i + 1)).to(where).requires_grad_()
        model(copy).square().sum().backward(inputs=[copy])
        return copy.grad.cpu()

    for i, found in enumerate(run_in_threads(work)):
        check_equal(found, work(i, net(), "cpu"), scale=100.0)


def test_the_current_device_is_the_threads_own(device):
    if device.type == "cpu":
        return
    module = backend_module(device)
    before = module.current_device()
    assert run_in_threads(lambda i: module.set_device(0) or module.current_device()) == [0] * THREADS
    assert module.current_device() == before
    assert minitorch.zeros(1, device=device.type).device.index == before
