"""Data loading: PyTorch's ``torch.utils.data``."""

from minitorch.utils.data.collate import default_collate, default_convert
from minitorch.utils.data.dataloader import DataLoader
from minitorch.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from minitorch.utils.data.distributed import DistributedSampler
from minitorch.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from minitorch.utils.data.worker import get_worker_info
