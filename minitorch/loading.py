"""Puts the library together: operators, backends, autograd, and the methods of `Tensor`."""

from __future__ import annotations

from typing import Any


def load() -> None:
    """Create the operators, register the CPU and Meta backends and autograd, attach the methods."""
    from minitorch.dispatch import python_dispatcher, trace  # noqa: F401 - register what they are
    from minitorch.ops import assemble
    from minitorch.tensor.operators import set_finder

    set_finder(assemble.make_public_function)
    assemble.assemble()
    from minitorch.tensor.tensor import Tensor

    assemble.attach_methods(Tensor)
    from minitorch.tensor import compatibility, indexing

    indexing.bind_operators()
    from minitorch.ops import backend_select, metadata, python_operators, without_tensors

    python_operators.install_python_operators()
    backend_select.register()
    metadata.register()
    without_tensors.register()
    from minitorch.backends.cpu.register import register as register_cpu
    from minitorch.backends.meta.register import register as register_meta

    register_cpu()
    register_meta()
    from minitorch.backends import lazy

    lazy.register()
    from minitorch.autograd import attach, register
    from minitorch.math_bits import register as register_math_bits
    from minitorch.modes import decompositions, python_key

    register.register()
    register_math_bits()
    python_key.register()
    decompositions.register()
    attach.attach(Tensor)
    compatibility.attach(Tensor)
    from minitorch import functional

    functional.attach_methods(Tensor)


def load_plug_ins() -> None:
    """Load the backends that installed distributions declare."""
    from minitorch.backends import lazy

    lazy.autoload()


def public_functions() -> dict[str, Any]:
    """Return the functions of the top level, by name: the operators, and those of `functional`."""
    from minitorch import functional
    from minitorch.ops.assemble import function_names, make_public_function
    from minitorch.ops.registry import FUNCTION

    operators = {name: make_public_function(name, FUNCTION, None) for name in function_names(None)}
    return {**operators, **functional.public_functions()}
