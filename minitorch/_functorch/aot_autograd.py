"""PyTorch's path of `minitorch.compiler`: functions and modules compiled by their forward and backward graphs."""

from minitorch.compiler.aot import aot_function
from minitorch.compiler.compilers import nop, print_compile
from minitorch.compiler.export import GraphSignature, aot_export_joint_simple, aot_export_module
from minitorch.compiler.modules import aot_module, aot_module_simplified
from minitorch.compiler.runtime import make_boxed_compiler, make_boxed_func

__all__ = [
    "GraphSignature", "aot_export_joint_simple", "aot_export_module", "aot_function", "aot_module", "aot_module_simplified",
    "make_boxed_compiler", "make_boxed_func", "nop", "print_compile",
]  # fmt: skip
