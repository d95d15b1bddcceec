"""`DistributedSampler`: the part of a data set that one of several processes takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from minitorch.core.generator import Generator
from minitorch.ops.functions import randperm
from minitorch.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index, from `rank` on, in an order that all processes draw alike.

    Parameters
    ----------
    dataset : sized
    num_replicas, rank : int, optional
        How many processes there are, and the number of this one; those of the process group when omitted.
    shuffle : bool
        Whether the order is random: another one for each epoch, told by `set_epoch`.
    seed : int
        The same in all processes.
    drop_last : bool
        Whether indices are left out so that all processes get as many; else the first ones come twice.

    Raises
    ------
    ValueError
        If `rank` is not in [0, num_replicas), or something is omitted and there is no process group.

    Examples
    --------
    >>> [list(DistributedSampler(range(7), num_replicas=3, rank=r, shuffle=False)) for r in range(3)]
    [[0, 3, 6], [1, 4, 0], [2, 5, 1]]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            from minitorch import distributed

            if not distributed.is_initialized():
                raise ValueError(
                    "DistributedSampler: there is no process group to ask; give num_replicas and rank, got "
                    f"num_replicas={num_replicas}, rank={rank}"
                )
            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        if indices:
            indices = (indices * math.ceil(self.total_size / count))[: self.total_size]
        return iter(indices[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Let the next iteration draw the order of an epoch."""
        self.epoch = epoch
