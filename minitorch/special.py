"""Special functions, as torch.special."""

from minitorch.ops.assemble import module_functions

globals().update(module_functions("special", "special_"))
