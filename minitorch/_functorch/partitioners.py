"""PyTorch's path of the partitions of `minitorch.compiler`."""

from minitorch.compiler.partition import default_partition, min_cut_rematerialization_partition

__all__ = ["default_partition", "min_cut_rematerialization_partition"]
