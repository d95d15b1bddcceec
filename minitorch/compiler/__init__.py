"""AOT autograd: the forward and backward pass of a function as graphs, for compilers of one's own (`docs/tracing.md`).

Modules: `inputs`, `functional` and `tracing` (what a function does, and its graphs), `partition` with `operators`, `passes` and
`max_flow` (the joint graph cut in two), `runtime` and `aot` (compiled graphs called and differentiated), `modules`,
`export`, `compilers`.
"""

from minitorch.compiler.aot import aot_function
from minitorch.compiler.api import (
    OptimizedModule,
    allow_in_graph,
    compile,
    cudagraph_mark_step_begin,
    disable,
    is_compiling,
    is_dynamo_compiling,
    is_exporting,
    list_backends,
    register_backend,
    reset,
)
from minitorch.compiler.compilers import interpret, nop, print_compile
from minitorch.compiler.export import CapturedGraphs, aot_export_joint_simple, aot_export_module, capture_graphs
from minitorch.compiler.modules import aot_module, aot_module_simplified
from minitorch.compiler.partition import default_partition, min_cut_rematerialization_partition
from minitorch.compiler.passes import merge_common_subexpressions, remove_dead_code
from minitorch.compiler.runtime import make_boxed_compiler, make_boxed_func

__all__ = [
    "CapturedGraphs", "OptimizedModule", "allow_in_graph", "aot_export_joint_simple", "aot_export_module",
    "aot_function", "aot_module", "aot_module_simplified", "capture_graphs", "compile", "cudagraph_mark_step_begin",
    "default_partition", "disable", "interpret", "is_compiling", "is_dynamo_compiling", "is_exporting",
    "list_backends", "make_boxed_compiler", "make_boxed_func", "merge_common_subexpressions",
    "min_cut_rematerialization_partition", "nop", "print_compile", "register_backend", "remove_dead_code", "reset",
]  # fmt: skip
