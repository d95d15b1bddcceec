"""`DataLoader`: batches of a data set, by this process or by workers."""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import queue
import warnings
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from minitorch.core.dtype import int64
from minitorch.dispatch.trace import annotated
from minitorch.ops.functions import empty
from minitorch.utils.data.collate import default_collate, default_convert
from minitorch.utils.data.dataset import Dataset, IterableDataset
from minitorch.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from minitorch.utils.data.worker import End, Failure, run_worker

__all__ = ["DataLoader"]

T_co = TypeVar("T_co", covariant=True)

_CHECK_SECONDS = 5.0  # how often waiting for a worker asks whether it is alive


class _InfiniteConstantSampler(Sampler):
    """Yields None for ever: an iterable data set has no indices."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class _MapFetcher:
    """Fetches the samples at indices."""

    def __init__(self, dataset: Any, collate_fn: Any, batched: bool) -> None:
        self.dataset = dataset
        self.collate_fn = collate_fn
        self.batched = batched

    def __call__(self, indices: Any) -> Any:
        if not self.batched:
            return self.collate_fn(self.dataset[indices])
        if getattr(self.dataset, "__getitems__", None):
            return self.collate_fn(self.dataset.__getitems__(indices))
        return self.collate_fn([self.dataset[i] for i in indices])


class _IterableFetcher:
    """Fetches the next samples of an iterable data set."""

    def __init__(self, dataset: Any, collate_fn: Any, batched: bool, drop_last: bool) -> None:
        self.samples = iter(dataset)
        self.collate_fn = collate_fn
        self.batched = batched
        self.drop_last = drop_last

    def __call__(self, indices: Any) -> Any:
        if not self.batched:
            return self.collate_fn(next(self.samples))
        batch = list(itertools.islice(self.samples, len(indices)))
        if not batch or (self.drop_last and len(batch) < len(indices)):
            raise StopIteration
        return self.collate_fn(batch)


def _make_map_fetcher(collate_fn: Any, batched: bool, dataset: Any) -> _MapFetcher:
    return _MapFetcher(dataset, collate_fn, batched)


def _make_iterable_fetcher(
    collate_fn: Any, batched: bool, drop_last: bool, dataset: Any
) -> _IterableFetcher:
    return _IterableFetcher(dataset, collate_fn, batched, drop_last)


class DataLoader(Generic[T_co]):
    """Batches of the samples of a data set.

    Parameters
    ----------
    dataset : Dataset
    batch_size : int or None
        None for single samples, not in batches.
    shuffle : bool, optional
        Take the samples in a new random order at each pass.
    sampler : iterable of int, optional
    batch_sampler : iterable of list of int, optional
    num_workers : int
        Processes that fetch; 0 to fetch in this process.
    collate_fn : callable, optional
        Makes a batch of a list of samples.
    pin_memory : bool
    drop_last : bool
        Leave out a last batch that is not full.
    timeout : float
        Seconds to wait for a worker; 0 for ever.
    worker_init_fn : callable, optional
        Called with its number in each worker.
    multiprocessing_context : str or context, optional
    generator : Generator, optional
        Draws the order, and the seed of the workers.
    prefetch_factor : int, optional
        Batches that each worker fetches ahead; 2 when omitted.
    persistent_workers : bool
        Keep the workers from one pass to the next.
    in_order : bool
        Return batches in order even where a later one is ready first.

    Examples
    --------
    >>> from minitorch.utils.data import TensorDataset
    >>> data = TensorDataset(minitorch.arange(5.0))
    >>> [batch[0].tolist() for batch in DataLoader(data, batch_size=2)]
    [[0.0, 1.0], [2.0, 3.0], [4.0]]
    """

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Any = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable "
                "multiprocessing."
            )
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to "
                "None."
            )
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        elif prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            if shuffle not in (False, None):
                raise ValueError(
                    "DataLoader with IterableDataset: expected unspecified shuffle option, but "
                    f"got shuffle={shuffle}"
                )
            for given, name in ((sampler, "sampler"), (batch_sampler, "batch_sampler")):
                if given is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, "
                        f"but got {name}={given}"
                    )
        shuffle = bool(shuffle)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
            batch_size = None
            drop_last = False
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is None:
            if self._iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)  # type: ignore[arg-type]
            else:
                sampler = SequentialSampler(dataset)  # type: ignore[arg-type]
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._iterator: Any = None

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def _fetcher_factory(self) -> Any:
        """Return a function of a data set that makes a fetcher."""
        if self._iterable:
            return functools.partial(
                _make_iterable_fetcher, self.collate_fn, self._auto_collation, self.drop_last
            )
        return functools.partial(_make_map_fetcher, self.collate_fn, self._auto_collation)

    def __iter__(self) -> Iterator[Any]:
        if self.num_workers == 0:
            return _SingleProcessIterator(self)
        if not self.persistent_workers:
            return _WorkersIterator(self)
        if self._iterator is None:
            self._iterator = _WorkersIterator(self)
        else:
            self._iterator.restart()
        return self._iterator

    def __len__(self) -> int:
        if self._iterable:
            size = len(self.dataset)  # type: ignore[arg-type]
            if self.batch_size is None:
                return size
            if self.drop_last:
                return size // self.batch_size
            return -(-size // self.batch_size)
        return len(self._index_sampler)


class _BaseIterator:
    _shown_name = ""  # to a profiler

    def __init__(self, loader: DataLoader) -> None:
        self.loader = loader
        self.base_seed = _draw_seed(loader)
        self.indices = iter(loader._index_sampler)
        self.yielded = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        data = annotated(self._shown_name, self._next)
        self.yielded += 1
        loader = self.loader
        if loader._iterable and self.yielded == 1:
            self._expected = _length_or_none(loader)
        if loader._iterable and self._expected is not None and self.yielded > self._expected:
            warnings.warn(
                f"Length of IterableDataset {loader.dataset} was reported to be {self._expected} "
                f"(when accessing len(dataloader)), but {self.yielded} samples have been fetched. ",
                stacklevel=2,
            )
        return data

    def __len__(self) -> int:
        return len(self.loader._index_sampler)

    def _next(self) -> Any:
        raise NotImplementedError


def _length_or_none(loader: DataLoader) -> int | None:
    try:
        return len(loader)
    except TypeError:
        return None


def _draw_seed(loader: DataLoader) -> int:
    """Return the seed of the workers; drawn even without workers, as PyTorch does."""
    return int(empty([], dtype=int64).random_(generator=loader.generator).item())


class _SingleProcessIterator(_BaseIterator):
    _shown_name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"

    def __init__(self, loader: DataLoader) -> None:
        if loader.timeout != 0:
            raise AssertionError("timeout must be 0 without workers")
        super().__init__(loader)
        self.fetch = loader._fetcher_factory()(loader.dataset)

    def _next(self) -> Any:
        return self.fetch(next(self.indices))


class _WorkersIterator(_BaseIterator):
    """Hands out batches that worker processes fetch.

    Each worker has a queue of tasks; all share one of results. Tasks are numbered, and results
    wait here until it is their turn.
    """

    _shown_name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        context = loader.multiprocessing_context
        if context is None:
            context = multiprocessing.get_context()
        elif isinstance(context, str):
            context = multiprocessing.get_context(context)
        self.results = context.Queue()
        self.tasks = []
        self.workers = []
        for number in range(loader.num_workers):
            tasks = context.Queue()
            worker = context.Process(
                target=run_worker,
                args=(
                    number, loader.num_workers, self.base_seed, loader.dataset,
                    loader._fetcher_factory(), tasks, self.results, loader.worker_init_fn,
                ),
                daemon=True,
            )  # fmt: skip
            worker.start()
            self.tasks.append(tasks)
            self.workers.append(worker)
        self.closed = False
        self._start()

    def _start(self) -> None:
        self.sent = 0
        self.handed_out = 0
        self.exhausted = False
        self.active = set(range(self.loader.num_workers))
        self.next_worker = itertools.cycle(range(self.loader.num_workers))
        self.owner: dict[int, int] = {}  # task number -> worker
        self.waiting: dict[int, Any] = {}
        for _ in range(self.loader.prefetch_factor * self.loader.num_workers):  # type: ignore[operator]
            self._send()

    def restart(self) -> None:
        """Start a new pass with the same workers."""
        while self.owner:
            self._receive()
        self.base_seed = _draw_seed(self.loader)
        self.indices = iter(self.loader._index_sampler)
        self.yielded = 0
        for tasks in self.tasks:
            tasks.put((None, None))
        left = len(self.tasks)
        while left:
            number, _ = self._get()
            if number is None:
                left -= 1
        self._start()

    def _send(self) -> None:
        """Give the next task to the next worker that is not at its end."""
        if self.exhausted or not self.active:
            return
        try:
            indices = next(self.indices)
        except StopIteration:
            self.exhausted = True
            return
        worker = next(w for w in self.next_worker if w in self.active)
        self.tasks[worker].put((self.sent, indices))
        self.owner[self.sent] = worker
        self.sent += 1

    def _get(self) -> Any:
        """Return the next message of a worker.

        Raises
        ------
        RuntimeError
            If none came in time, or a worker died.
        """
        waited = 0.0
        while True:
            step = _CHECK_SECONDS
            if self.loader.timeout > 0:
                step = min(step, self.loader.timeout - waited)
            try:
                return self.results.get(timeout=step)
            except queue.Empty:
                waited += step
            dead = [w for w in self.workers if not w.is_alive()]
            if dead:
                pids = ", ".join(str(w.pid) for w in dead)
                self.close()
                raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly")
            if self.loader.timeout > 0 and waited >= self.loader.timeout:
                raise RuntimeError(
                    f"DataLoader timed out after {self.loader.timeout} seconds"
                )

    def _receive(self) -> None:
        """Take one result in; a worker at its end gives up its other tasks."""
        number, data = self._get()
        if number is None or number not in self.owner:
            return
        worker = self.owner.pop(number)
        if isinstance(data, End):
            self.active.discard(worker)
            for other in [n for n, w in self.owner.items() if w == worker]:
                del self.owner[other]
                self.waiting[other] = data
        self.waiting[number] = data

    def _next(self) -> Any:
        while True:
            number = self._ready()
            if number is None:
                if not self.owner:
                    if not self.loader.persistent_workers:
                        self.close()
                    raise StopIteration
                self._receive()
                continue
            data = self.waiting.pop(number)
            self._send()
            if isinstance(data, End):
                continue
            if isinstance(data, Failure):
                data.reraise()
            return data

    def _ready(self) -> int | None:
        """Return the number of a result that may be handed out."""
        if not self.loader.in_order:
            return next(iter(self.waiting), None)
        if self.handed_out in self.waiting:
            self.handed_out += 1
            return self.handed_out - 1
        return None

    def close(self) -> None:
        """End the workers."""
        if self.closed:
            return
        self.closed = True
        for tasks in self.tasks:
            tasks.put(None)
        for worker in self.workers:
            worker.join(timeout=_CHECK_SECONDS)
            if worker.is_alive():
                worker.terminate()
        for tasks in self.tasks:
            tasks.cancel_join_thread()
            tasks.close()
        self.results.cancel_join_thread()
        self.results.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:
            # The interpreter may be going down, with half of its modules gone.
            return
