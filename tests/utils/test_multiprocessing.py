"""Tensors in several processes: shared memory, what is sent as a copy, failures of processes; samplers for them."""

from __future__ import annotations

import multiprocessing.resource_sharer
import os
import pickle
import signal
import time
from multiprocessing.reduction import ForkingPickler

import pytest

import minitorch
import minitorch.multiprocessing as mp
from minitorch import nn
from minitorch.utils.data.distributed import DistributedSampler

pytestmark = pytest.mark.skipif(os.name != "posix", reason="memory is shared on POSIX systems")


def sent(value):
    """Return a value as another process would get it."""
    try:
        return pickle.loads(ForkingPickler.dumps(value))
    finally:
        multiprocessing.resource_sharer.stop()


def test_sharing_moves_the_memory_and_keeps_all_else():
    x = minitorch.arange(6.0).reshape(2, 3).clone()
    before = x._version
    assert not x.is_shared()
    assert x.share_memory_() is x
    assert x.is_shared()
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert x._version == before
    row = x[1]
    assert row.is_shared()
    row.fill_(7.0)
    assert x.tolist()[1] == [7.0, 7.0, 7.0]
    assert x._version == before + 1
    assert x.share_memory_() is x
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(100)


def test_a_tensor_with_views_is_not_torn_from_them():
    x = minitorch.zeros(4)
    view = x[1:]
    for tensor in (x, view, x.detach()):
        with pytest.raises(RuntimeError, match="other tensors show the memory"):
            tensor.share_memory_()
    view.add_(1)
    assert x.tolist() == [0.0, 1.0, 1.0, 1.0]
    del view, tensor
    assert x.share_memory_().is_shared()


def test_what_has_no_memory_of_the_cpu_stays():
    assert not minitorch.ones(2, device="meta").share_memory_().is_shared()
    assert not minitorch.ones(0).share_memory_().is_shared()


def test_a_shared_tensor_is_sent_without_a_copy():
    x = minitorch.arange(12.0).reshape(3, 4).clone().share_memory_()
    view = x.T[1:, ::2]
    found, found_view, parameter = sent((x, view, nn.Parameter(x)))
    assert found_view.stride() == view.stride()
    assert found_view.tolist() == view.tolist()
    assert type(parameter) is nn.Parameter
    assert parameter.requires_grad
    x.add_(1.0)
    assert found.tolist() == x.tolist()
    assert found_view.tolist() == view.tolist()
    assert parameter.tolist() == x.tolist()
    found.fill_(3.0)
    assert x.tolist() == [[3.0] * 4] * 3


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "int64", "bool", "complex64"])
def test_every_kind_of_element_is_sent(dtype):
    x = minitorch.tensor([0, 1, 1]).to(getattr(minitorch, dtype))
    for tensor in (x, x.clone().share_memory_()):
        found = sent(tensor)
        assert found.dtype == x.dtype
        assert found.is_shared() == tensor.is_shared()
        assert found.numpy().tobytes() == x.numpy().tobytes()
    z = minitorch.tensor([1 + 2j]).share_memory_()
    assert sent(z.conj()).tolist() == [1 - 2j]


def test_other_tensors_are_sent_as_copies_and_graphs_are_not():
    x = minitorch.zeros(2, requires_grad=True)
    found = sent(x)
    assert found.requires_grad
    found.data.fill_(1.0)
    assert x.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="not a leaf cannot go to another process"):
        ForkingPickler.dumps(x * 2)
    assert pickle.loads(pickle.dumps(x.share_memory_())).is_shared() is False  # an ordinary file knows no other process


def test_memory_is_given_back():
    def files():
        return len(os.listdir("/proc/self/fd"))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("open files are counted in /proc")
    x = minitorch.zeros(10).share_memory_()
    sent(x)
    before = files()
    for _ in range(5):
        sent(minitorch.zeros(1000).share_memory_())
    assert files() == before


def train(rank, model, counts):
    minitorch.manual_seed(rank)
    optimizer = minitorch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(40):
        x = minitorch.randn(8, 3)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
        counts[rank] += 1


def test_processes_train_one_model():
    minitorch.manual_seed(0)
    model = nn.Linear(3, 1).share_memory()
    counts = minitorch.zeros(2).share_memory_()
    mp.spawn(train, (model, counts), nprocs=2)
    assert counts.tolist() == [40.0, 40.0]
    assert minitorch.allclose(model.weight, minitorch.ones(1, 3), atol=0.05)


def answer(rank, questions, answers, done):
    x = questions.get()
    x.mul_(2.0)
    answers.put((x.sum(), minitorch.full((3,), 5.0).share_memory_()))
    done.wait(30)  # what is shared is handed over while its sender lives


def test_tensors_go_through_queues():
    context = mp.get_context("spawn")
    questions, answers, done = context.SimpleQueue(), context.SimpleQueue(), context.Event()
    started = mp.spawn(answer, (questions, answers, done), join=False)
    x = minitorch.ones(4).share_memory_()
    questions.put(x)
    total, shared = answers.get()
    done.set()
    assert started.join(30)
    assert x.tolist() == [2.0] * 4
    assert total.item() == 8.0
    assert shared.tolist() == [5.0] * 3
    assert shared.is_shared()
    multiprocessing.resource_sharer.stop()


def fail(rank, how):
    if rank == 0:
        time.sleep(60)
    if how == "raise":
        raise ValueError("boom")
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("how", ["raise", "kill"])
def test_a_failing_process_ends_the_others(how):
    start = time.monotonic()
    with pytest.raises(mp.ProcessException) as caught:
        mp.spawn(fail, (how,), nprocs=2)
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.error_index == 1
    assert error.error_pid > 0
    if how == "raise":
        assert type(error) is mp.ProcessRaisedException
        assert "Process 1 terminated with the following error" in str(error)
        assert "ValueError: boom" in str(error)
    else:
        assert type(error) is mp.ProcessExitedException
        assert (error.exit_code, error.signal_name) == (-9, "SIGKILL")
    assert time.monotonic() - start < 40


def leave(rank):
    os._exit(3)


def test_an_exit_code_is_told():
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 3") as caught:
        mp.spawn(leave)
    assert (caught.value.exit_code, caught.value.signal_name) == (3, None)


def test_the_names_are_those_of_the_standard_library_and_more():
    assert mp.Queue is multiprocessing.Queue
    assert set(multiprocessing.__all__) <= set(mp.__all__)
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    with pytest.raises(ValueError, match="is none of"):
        mp.set_sharing_strategy("pigeons")


@pytest.mark.oracle
@pytest.mark.parametrize("options", [{}, {"shuffle": False}, {"seed": 5, "drop_last": True}])
@pytest.mark.parametrize(("count", "replicas"), [(7, 3), (10, 3), (5, 5), (6, 2)])
def test_parts_of_a_data_set_are_those_of_torch(torch, count, replicas, options):
    from torch.utils.data.distributed import DistributedSampler as Theirs

    for rank in range(replicas):
        ours = DistributedSampler(range(count), replicas, rank, **options)
        theirs = Theirs(range(count), replicas, rank, **options)
        for epoch in (0, 2):
            ours.set_epoch(epoch)
            theirs.set_epoch(epoch)
            assert list(ours) == list(theirs)
        assert len(ours) == len(theirs)
        assert (ours.num_samples, ours.total_size) == (theirs.num_samples, theirs.total_size)


def test_a_distributed_sampler_needs_to_know_its_place():
    for options in ({"num_replicas": 3, "rank": 3}, {"num_replicas": 3, "rank": -1}):
        with pytest.raises(ValueError, match=r"should be in the interval \[0, 2\]"):
            DistributedSampler(range(7), **options)
    with pytest.raises(ValueError, match="give num_replicas and rank"):
        DistributedSampler(range(7), rank=0)
    parts = [list(DistributedSampler(range(7), 3, rank)) for rank in range(3)]
    assert sorted({i for part in parts for i in part}) == list(range(7))
    loader = minitorch.utils.data.DataLoader(range(6), sampler=DistributedSampler(range(6), 2, 1, shuffle=False), batch_size=2)
    assert [batch.tolist() for batch in loader] == [[1, 3], [5]]
