"""Graphs of programs: traced, looked at, changed, and run again.  The counterpart of ``torch.fx``."""

from minitorch.fx._symbolic_trace import PH, PHBase, PHWithMeta, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from minitorch.fx.codegen import CodeGen, PythonCode
from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import GraphModule
from minitorch.fx.immutable_collections import immutable_dict, immutable_list
from minitorch.fx.interpreter import Interpreter
from minitorch.fx.node import Node, has_side_effect, map_arg
from minitorch.fx.proxy import Proxy, TraceError
from minitorch.fx.subgraph_rewriter import replace_pattern
from minitorch.fx.transformer import Transformer
