"""Graphs of programs: traced, looked at, changed, and run again.  The counterpart of ``torch.fx``."""

from minitorch.fx.graph import Graph
from minitorch.fx.graph_module import GraphModule
from minitorch.fx.immutable_collections import immutable_dict, immutable_list
from minitorch.fx.interpreter import Interpreter, Transformer
from minitorch.fx.node import Node, has_side_effect, map_arg
