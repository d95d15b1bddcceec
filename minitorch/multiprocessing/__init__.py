"""Processes that work on the same tensors: PyTorch's ``torch.multiprocessing``.

All of the standard library's ``multiprocessing``. A tensor that was shared (`Tensor.share_memory_`, `nn.Module.share_memory`)
is not copied when it goes to another process, in a queue, a pipe or an argument: what one process writes, the others see.
Other tensors are sent as copies. A gradient graph cannot be sent, and raises RuntimeError.

    import minitorch.multiprocessing as mp


    def work(rank, weights):
        weights[rank] = rank + 1.0


    if __name__ == "__main__":
        weights = minitorch.zeros(4).share_memory_()
        mp.spawn(work, (weights,), nprocs=4)
        print(weights)  # tensor([1., 2., 3., 4.])
"""

import multiprocessing
from multiprocessing import *

from minitorch.multiprocessing.reductions import (
    get_all_sharing_strategies,
    get_sharing_strategy,
    init_reductions,
    set_sharing_strategy,
)
from minitorch.multiprocessing.spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [*multiprocessing.__all__, "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]

init_reductions()
