"""Linear algebra: decompositions, solvers, norms, as torch.linalg."""

from minitorch.errors import LinAlgError
from minitorch.ops.assemble import module_functions

__all__ = ["LinAlgError"]
globals().update(module_functions("linalg", "linalg_"))
