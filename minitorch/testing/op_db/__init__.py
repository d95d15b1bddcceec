"""`op_db`: one record for each public operator, with samples, reference, dtypes and errors.

The family picks the file, as everywhere.  The tests in ``tests/ops/test_op_db*.py`` run over
all records; what a record may say is described by `OpRecord`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from minitorch.ops.families import FAMILIES
from minitorch.testing.op_db.record import ErrorSample, Maker, OpRecord, Sample

__all__ = ["ErrorSample", "Maker", "OpRecord", "Sample", "op_db"]


def _load() -> list[OpRecord]:
    records: list[OpRecord] = []
    for family in FAMILIES:
        name = f"{__name__}.{family}"
        if find_spec(name) is None:
            continue
        for record in import_module(name).RECORDS:
            record.family = family
            records.append(record)
    names = [record.name for record in records]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"these operators have two records: {', '.join(sorted(twice))}")
    return records


op_db: list[OpRecord] = _load()
