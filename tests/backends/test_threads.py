"""The number of threads of one operator, as PyTorch has it."""

import pytest

import minitorch
from minitorch.backends.cpu import threads


@pytest.fixture
def threads_are_put_back(monkeypatch):
    before = minitorch.get_num_threads()
    monkeypatch.setattr(threads, "_limit", threads._limit)
    monkeypatch.setattr(threads, "_interop", threads._interop)
    yield
    minitorch.set_num_threads(before)


@pytest.mark.usefixtures("threads_are_put_back")
@pytest.mark.parametrize(
    ("set_number", "get_number"),
    [
        (minitorch.set_num_threads, minitorch.get_num_threads),
        (minitorch.set_num_interop_threads, minitorch.get_num_interop_threads),
    ],
)
def test_the_number_is_kept(set_number, get_number):
    assert get_number() >= 1
    set_number(3)
    assert get_number() == 3


@pytest.mark.parametrize("name", ["set_num_threads", "set_num_interop_threads"])
def test_what_is_no_positive_int_is_refused(name):
    for wrong, error in ((0, RuntimeError), (-1, RuntimeError), (1.0, TypeError), ("2", TypeError)):
        with pytest.raises(error, match=name):
            getattr(minitorch, name)(wrong)


def test_the_environment_gives_the_default(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7,2")
    assert threads._available() == 7
    monkeypatch.setenv("OMP_NUM_THREADS", "nonsense")
    monkeypatch.setenv("MKL_NUM_THREADS", "")
    assert threads._available() >= 1
