"""Mixed precision: PyTorch's ``torch.amp``.

`autocast` chooses the dtype of each operator, `GradScaler` keeps small gradients from vanishing in float16, and
`policies` is the table of what computes in which dtype.
"""

from minitorch.amp.autocast_mode import autocast, custom_bwd, custom_fwd
from minitorch.amp.grad_scaler import GradScaler
from minitorch.autocast_mode import POLICIES, PolicyTable, is_autocast_available, policies

__all__ = [
    "POLICIES",
    "GradScaler",
    "PolicyTable",
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "is_autocast_available",
    "policies",
]
