"""Mixed precision: the autocast level of the dispatcher (``minitorch.autocast`` is the class that switches it on).

Importing this package registers the kernels of the autocast keys of the CPU and of the devices of the package; those
of a registered backend come when its autocast is first used.

Modules: `policies` (which operator computes in which dtype: tables to read, print and change), `kernels` (what each
policy does), `state` (what a thread knows, and the cache of casts), `devices` (dtypes of a device), `switches` (the
functions under PyTorch's names).
"""

from minitorch.autocast_mode.devices import default_dtype, key_of, supported_dtypes
from minitorch.autocast_mode.kernels import cast, is_eligible
from minitorch.autocast_mode.policies import POLICIES, PolicyTable, policies
from minitorch.autocast_mode.state import autocast_state
from minitorch.autocast_mode.switches import (
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)

__all__ = [
    "POLICIES",
    "PolicyTable",
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "autocast_state",
    "cast",
    "clear_autocast_cache",
    "default_dtype",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_enabled",
    "is_eligible",
    "key_of",
    "policies",
    "set_autocast_cache_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "supported_dtypes",
]

for _device_type in ("cpu", "cuda", "opencl"):
    policies(_device_type)
