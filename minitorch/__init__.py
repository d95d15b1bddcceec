"""minitorch: PyTorch's programming model and dispatcher, in Python that a person can read."""

from math import e, inf, nan, pi

from minitorch.compiled import core_is_compiled, prefer_source_if_asked

prefer_source_if_asked()

from minitorch import lazy_names, loading

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
from minitorch.version import __version__

tensor, as_tensor, asarray, from_numpy = map(seen_by_modes, (tensor, as_tensor, asarray, from_numpy))
del seen_by_modes

newaxis = None


def __getattr__(name):
    return lazy_names.find(name)


loading.load_plug_ins()
