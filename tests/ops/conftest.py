"""The tests over `op_db`: which of them run.

Each test over the records has the mark ``op_db(name, record)``.  Of these a slice runs, unless
pytest is told which tests are wanted (``-k``, or a test's address) or MINITORCH_OP_DB is
``all``.  The slice is the same each time; another MINITORCH_OP_DB_SEED turns to another one,
and 0 to SLICES - 1 cover all.
"""

from __future__ import annotations

import os
import zlib

SLICES = 4


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "op_db: runs over the records of op_db; a slice of them unless all are asked for"
    )


def wanted(item, seed: int) -> bool:
    """Return whether a test belongs to the slice of this run."""
    return zlib.crc32(item.name.encode()) % SLICES == seed % SLICES


def pytest_collection_modifyitems(config, items):
    chosen = bool(config.option.keyword) or any("::" in argument for argument in config.args)
    if chosen or os.environ.get("MINITORCH_OP_DB") == "all":
        return
    seed = int(os.environ.get("MINITORCH_OP_DB_SEED", "0"))
    left_out = [item for item in items if item.get_closest_marker("op_db") and not wanted(item, seed)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        left = set(left_out)
        items[:] = [item for item in items if item not in left]
