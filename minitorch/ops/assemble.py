"""Puts the tables together: operators from declarations, composites, and the public functions."""

from __future__ import annotations

from typing import Any

from minitorch.dispatch import namespace  # noqa: F401 - gives operators their public face
from minitorch.dispatch.dispatcher import define
from minitorch.dispatch.operator import OPERATORS, Operator, PythonKernel
from minitorch.ops import binder, families
from minitorch.ops.composite import registry as composites
from minitorch.ops.derived import DerivedInplace, DerivedInplaceView, DerivedOut
from minitorch.ops.function import Function, make_function, make_method
from minitorch.ops.out_rules import OutRules
from minitorch.ops.registry import DECLARATIONS, FUNCTION, METHOD, Declaration

NAMESPACE = "aten"
# A Python number may stand for a tensor argument of these (spec R10).
NUMBERS_ALLOWED = frozenset(
    (
        "add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide",
        "add_", "sub_", "subtract_", "mul_", "multiply_", "div_", "divide_", "true_divide_", "floor_divide_",
        "copy_", "copy", "to", "_to_copy", "_conj",
    )
)

_by_basename: dict[str, list[Declaration]] = {}
# By overloads: a function that is found in two places, such as ``torch.conv2d`` in ``nn.functional``, is one object.
_public_functions: dict[tuple[str, ...], Any] = {}


def basename_of(name: str) -> str:
    """Return the name without its overload."""
    return name.partition(".")[0]


def is_view(declaration: Declaration) -> bool:
    """Return whether the schema says that results alias the first argument, unwritten."""
    head = declaration.schema
    return "(Tensor(a) self" in head or "(Tensor(a -> *) self" in head


def operator_named(name: str) -> Operator:
    """Return the declared operator ``"mul.Tensor"``."""
    return OPERATORS[f"{NAMESPACE}::{name}"]


def define_operators() -> None:
    """Create an operator for each declaration; schemas stay text until first used."""
    for declaration in DECLARATIONS.values():
        op = define(f"{NAMESPACE}::{declaration.name}", declaration.schema)
        op.declaration = declaration
        op.tags = declaration.tags
        op.allow_numbers = op.basename in NUMBERS_ALLOWED
        _by_basename.setdefault(op.basename, []).append(declaration)


def register_composites() -> None:
    """Register the composite kernels, and the derived in-place and ``out=`` kernels."""
    for name, fn in composites.IMPLICIT.items():
        operator_named(name).register("CompositeImplicitAutograd", PythonKernel(fn))
    for name, fn in composites.EXPLICIT.items():
        operator_named(name).register("CompositeExplicitAutograd", PythonKernel(fn))
    copy = operator_named("copy_")
    resize = operator_named("resize_")
    for declaration in DECLARATIONS.values():
        if declaration.functional is None or declaration.name in composites.IMPLICIT:
            continue
        op = operator_named(declaration.name)
        functional = operator_named(declaration.functional)
        implicit = declaration.functional in composites.IMPLICIT
        kernel: Any
        if declaration.kind == "out":
            kernel = DerivedOut(
                functional, copy, resize, declaration.out_names,
                OutRules(functional.basename, "pointwise" in functional.tags),
            )
        elif is_view(functional.declaration):
            kernel = DerivedInplaceView(functional)
            implicit = False
        else:
            kernel = DerivedInplace(functional, copy)
        if declaration.kind == "out" or not implicit:
            op.register("CompositeExplicitAutograd", kernel)
        else:
            op.register("CompositeImplicitAutograd", kernel)


def qualified(declarations: list[Declaration]) -> tuple[str, ...]:
    """Return the operators' qualified names."""
    return tuple([f"{NAMESPACE}::{d.name}" for d in declarations])


def make_public_function(name: str, variants: int = 0, python_module: Any = "any") -> Any:
    """Return the function of all overloads called `name`, or None when there are none.

    Parameters
    ----------
    variants : int
        Only overloads that have this variant; 0 for all.
    """
    found = [
        d for d in _by_basename.get(name, ())
        if (not variants or d.variants & variants) and python_module in ("any", d.python_module)
    ]
    if not found:
        return None
    overloads = qualified(found)
    if overloads in _public_functions:
        return _public_functions[overloads]
    function = Function(name, overloads)
    call = make_function(function)
    function.public = call
    _describe(call, name, found)
    call.binder = function
    _public_functions[overloads] = call
    return call


def make_public_method(name: str) -> Any:
    """Return the Tensor method of the overloads called `name`, or None when there are none."""
    found = [d for d in _by_basename.get(name, ()) if d.variants & METHOD and d.kind != "out"]
    if not found:
        return None
    function = Function(name, qualified(found), is_method=True)
    call = make_method(function)
    function.public = call
    _describe(call, name, found)
    call.binder = function
    return call


def _describe(call: Any, name: str, declarations: list[Declaration]) -> None:
    call.__name__ = call.__qualname__ = name
    texts = [d.doc for d in declarations if d.doc]
    signatures = "\n".join([d.schema for d in declarations])
    call.__doc__ = (texts[0] + "\n\n" if texts else "") + signatures


def function_names(python_module: str | None = None) -> list[str]:
    """Return the base names that are public functions of a module (None: the top level)."""
    return [
        name for name, found in _by_basename.items()
        if any(d.variants & FUNCTION and d.python_module == python_module for d in found)
    ]


def method_names() -> list[str]:
    """Return the base names that are Tensor methods."""
    return [name for name, found in _by_basename.items() if any(d.variants & METHOD and d.kind != "out" for d in found)]


def attach_methods(cls: type) -> None:
    """Give a class the methods of all operators, except those it defines itself."""
    for name in method_names():
        if name not in cls.__dict__ and name != "item":  # TensorBase has a shortcut
            setattr(cls, name, make_public_method(name))


def assemble() -> None:
    """Load all declarations and composites and create their operators."""
    families.load_families("minitorch.ops.declarations")
    define_operators()
    families.load_families("minitorch.ops.composite")
    register_composites()
    families.load_families("minitorch.ops.shapes")
    binder.install()


def module_functions(python_module: str, prefix: str) -> dict[str, Any]:
    """Return the public functions of a module such as ``linalg``, by their names there (prefix cut off)."""
    return {
        name.removeprefix(prefix): make_public_function(name, FUNCTION, python_module)
        for name in function_names(python_module)
    }
