"""The dispatcher: keys, schemas, operators and their tables, thread-local state, libraries."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# What users of the dispatcher want most, by the module that it stands in; imported on first use,
# because the core imports from this package while it is being built.
_HOMES = {
    "DispatchKey": "keys",
    "DispatchKeySet": "key_set",
    "Library": "library",
    "dump": "introspect",
    "dump_table": "introspect",
    "explain": "introspect",
    "ops": "namespace",
    "show_dispatch_trace": "trace",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
