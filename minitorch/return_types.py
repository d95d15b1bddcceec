"""``torch.return_types``: the named tuples that operators with several named results return, by the operator's name."""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.operator import OPERATORS
from minitorch.ops.binder import named_results


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        for qualname, op in OPERATORS.items():
            if op.basename == name and qualname.startswith("aten::") and op.schema_text is not None:
                found = named_results(op)
                if found is not None:
                    return found
    raise AttributeError(
        f"module 'minitorch.return_types' has no attribute {name!r}: no operator of that name has named results"
    )
