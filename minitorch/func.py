"""Function transforms: functions that take functions and return functions.

`vmap` makes a function of one example a function of many; `grad`, `vjp` and `jvp` differentiate; the rest is
made of these.  They nest in any order, work on every device, and leave ``requires_grad`` and ``.grad`` alone.
"""

from minitorch.functorch.forward import hessian, jacfwd, jvp, linearize
from minitorch.functorch.functionalize import functionalize
from minitorch.functorch.loop import get_vmap_fallback_policy, vmap_fallback_policy, vmap_fallbacks
from minitorch.functorch.module_state import functional_call, replace_all_batch_norm_modules_, stack_module_state
from minitorch.functorch.reverse import grad, grad_and_value, jacrev, vjp
from minitorch.functorch.vmap import vmap
from minitorch.functorch.wrappers import debug_unwrap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "get_vmap_fallback_policy",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
    "vmap_fallback_policy",
    "vmap_fallbacks",
]
