"""What traces and fake tensors do with the higher-order operators of the library."""

from __future__ import annotations

from typing import Any

from minitorch.core.pytree import tree_map
from minitorch.fake.mode import FakeTensorMode
from minitorch.functionalize.auto import auto_functionalized, call_on_clones
from minitorch.fx.experimental.proxy_mode import ProxyTorchDispatchMode, track_tensor_tree


@auto_functionalized.py_impl(ProxyTorchDispatchMode)
def trace_auto_functionalized(mode: ProxyTorchDispatchMode, _mutable_op: Any, **kwargs: Any) -> tuple:
    """Record the call; the operator runs on clones, untraced."""
    tracer = mode.tracer
    proxies = tree_map(tracer.unwrap_proxy, kwargs)
    proxy = tracer.create_call(auto_functionalized, (_mutable_op,), proxies, name="auto_functionalized")
    return track_tensor_tree(auto_functionalized(_mutable_op, **kwargs), proxy, constant=None, tracer=tracer)


@auto_functionalized.py_impl(FakeTensorMode)
def fake_auto_functionalized(mode: FakeTensorMode, _mutable_op: Any, **kwargs: Any) -> tuple:
    """Do the same with fake tensors."""
    with mode:
        return call_on_clones(_mutable_op, **kwargs)
