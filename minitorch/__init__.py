"""minitorch: PyTorch's programming model and dispatcher, in Python that a person can read."""

from math import e, inf, nan, pi

from minitorch.compiled import core_is_compiled, prefer_source_if_asked

prefer_source_if_asked()

from minitorch import loading

loading.load()
globals().update(loading.public_functions())

from minitorch import autograd, random
from minitorch.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from minitorch.backends.cpu.threads import (
    get_num_interop_threads,
    get_num_threads,
    set_num_interop_threads,
    set_num_threads,
)
from minitorch.core.checks import (
    _check,
    _check_index,
    _check_is_size,
    _check_not_implemented,
    _check_type,
    _check_value,
    _check_with,
)
from minitorch.core.device import device, get_default_device, set_default_device
from minitorch.core.dtype import *
from minitorch.core.layout import *
from minitorch.core.memory_format import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    memory_format,
    preserve_format,
)
from minitorch.core.promotion import can_cast, promote_types
from minitorch.core.size import Size
from minitorch.core.symbolic import (
    SymBool,
    SymFloat,
    SymInt,
    sym_float,
    sym_int,
    sym_ite,
    sym_max,
    sym_min,
    sym_not,
    sym_sqrt,
    sym_sum,
)
from minitorch.ops.overriding import seen_by_modes
from minitorch.random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from minitorch.tensor.creation import (
    as_tensor,
    asarray,
    from_dlpack,
    from_numpy,
    frombuffer,
    tensor,
)
from minitorch.tensor.printing import set_printoptions
from minitorch.tensor.promotion import result_type
from minitorch.tensor.tensor import Tensor

tensor, as_tensor, asarray, from_numpy = map(seen_by_modes, (tensor, as_tensor, asarray, from_numpy))
del seen_by_modes

__version__ = "0.1.0"
newaxis = None

# Imported when first named: `import minitorch` stays light.
_SUBMODULES = frozenset(
    (
        "_C", "_ops", "_subclasses", "accelerator", "amp", "backends", "cpu", "cuda", "fft", "func", "library", "linalg", "masked",
        "nn", "optim", "overrides", "serialization", "signal", "special", "testing", "tools", "utils",
    )
)
_SERIALIZATION = ("load", "save")
_OF_FUNCTIONALIZE = {
    "_to_functional_tensor": "wrap",
    "_from_functional_tensor": "value_without_sync",
    "_is_functional_tensor": "is_functional",
    "_sync": "sync",
    "_enable_functionalization": "enable",
    "_disable_functionalization": "disable",
}
_TRANSFORMS = ("vmap",)
_OF_AUTOCAST = frozenset(
    (
        "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "get_autocast_dtype",
        "is_autocast_available", "is_autocast_cache_enabled", "is_autocast_enabled", "set_autocast_cache_enabled",
        "set_autocast_dtype", "set_autocast_enabled",
    )
)
_OF_DEVICE_MODULES = {"_register_device_module": "register_device_module", "get_device_module": "get_device_module"}


def __getattr__(name):
    if name in _SUBMODULES:
        from importlib import import_module

        try:
            return import_module(f"minitorch.{name}")
        except ModuleNotFoundError as error:
            # A planned folder that is not there yet: hasattr() must answer, not raise.
            if error.name != f"minitorch.{name}":
                raise
    if name in _SERIALIZATION:
        from minitorch import serialization

        return getattr(serialization, name)
    if name in _OF_FUNCTIONALIZE:
        from minitorch import functionalize

        return getattr(functionalize, _OF_FUNCTIONALIZE[name])
    if name in _TRANSFORMS:
        from minitorch import func

        return getattr(func, name)
    if name == "autocast":
        from minitorch import amp

        return amp.autocast
    if name in _OF_AUTOCAST:
        from minitorch import autocast_mode

        return getattr(autocast_mode, name)
    if name in _OF_DEVICE_MODULES:
        from minitorch.backends import device_modules

        return getattr(device_modules, _OF_DEVICE_MODULES[name])
    raise AttributeError(f"module 'minitorch' has no attribute {name!r}")


loading.load_plug_ins()
