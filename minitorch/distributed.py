"""``torch.distributed`` for programs that ask whether it is there: it is not, and there is one process.

Programs that train on one machine call `is_available` and `is_initialized` first; what comes after does not run.
"""


def is_available() -> bool:
    """Return whether processes can work together: False."""
    return False


def is_initialized() -> bool:
    """Return whether a group of processes has been made: False."""
    return False


def is_torchelastic_launched() -> bool:
    """Return whether a launcher of groups started this process: False."""
    return False


def get_rank(group: object = None) -> int:
    """Return the number of this process in its group: -1, as there is no group."""
    return -1


def get_world_size(group: object = None) -> int:
    """Return the number of processes in the group: -1, as there is no group."""
    return -1
