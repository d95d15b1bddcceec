"""What runs in the worker processes of a `DataLoader`."""

from __future__ import annotations

import random
import traceback
from typing import Any, NamedTuple

__all__ = ["WorkerInfo", "get_worker_info"]


class WorkerInfo(NamedTuple):
    """What a worker knows of itself."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return what this worker process knows of itself; None in the main process."""
    return _info


class Failure:
    """An exception that travels from a worker to the main process."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind = type(error)
        self.where = where
        self.text = "".join(traceback.format_exception(error))

    def reraise(self) -> None:
        """Raise the exception, with the worker's traceback as its text."""
        text = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            text = repr(text)
        try:
            error = self.kind(text)
        except Exception:
            raise RuntimeError(text) from None
        raise error


class End:
    """Says that a worker's iterable data set is at its end."""

    def __init__(self, worker: int) -> None:
        self.worker = worker


def run_worker(
    worker: int,
    count: int,
    base_seed: int,
    dataset: Any,
    make_fetcher: Any,
    tasks: Any,
    results: Any,
    init: Any,
) -> None:
    """Answer tasks until None arrives.

    Parameters
    ----------
    worker, count : int
        The worker's number, and how many there are.
    make_fetcher : callable
        Makes what fetches a batch, given the data set.
    tasks : queue
        Of (number, indices); ``(None, None)`` asks for a new start of the data set.
    results : queue
        Of (number, batch, `Failure` or `End`).
    init : callable or None
        The user's ``worker_init_fn``.
    """
    global _info
    import numpy as np

    import minitorch

    seed = base_seed + worker
    random.seed(seed)
    minitorch.manual_seed(seed)
    np.random.seed(seed % (1 << 32))
    _info = WorkerInfo(worker, count, seed, dataset)
    failure = None
    fetcher = None
    try:
        if init is not None:
            init(worker)
        fetcher = make_fetcher(dataset)
    except Exception as error:
        failure = Failure(error, f"in DataLoader worker process {worker}")
    ended = False
    while True:
        try:
            task = tasks.get()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        if task is None:
            return
        number, indices = task
        if number is None:
            ended = False
            try:
                fetcher = make_fetcher(dataset)
            except Exception as error:
                failure = Failure(error, f"in DataLoader worker process {worker}")
            results.put((None, worker))
            continue
        if failure is not None:
            results.put((number, failure))
            failure = None
            continue
        if ended:
            continue
        try:
            batch = fetcher(indices)
        except StopIteration:
            ended = True
            results.put((number, End(worker)))
        except Exception as error:
            results.put((number, Failure(error, f"in DataLoader worker process {worker}")))
        else:
            results.put((number, batch))
