"""How a public call finds its overload: the rules that `function.CallPlan`s are made by.

The rules are those of PyTorch's Python functions: overloads in order of declaration; a
tensor argument first means a ``Tensor`` parameter and only then a number; an ``int[]``
parameter that stands alone takes its elements as separate arguments; ``input`` is the
first parameter's public name, ``axis``, ``keepdims`` and ``x`` are accepted as NumPy spells them.
"""

from __future__ import annotations

from operator import index as as_index
from typing import Any

import numpy as np

from minitorch.core.device import device
from minitorch.core.dtype import bool as bool_dtype
from minitorch.core.dtype import dtype, float64, int64
from minitorch.core.generator import Generator
from minitorch.core.layout import layout
from minitorch.core.memory_format import memory_format
from minitorch.core.symbolic import SymBool, SymFloat, SymInt, is_symbolic, sym_float
from minitorch.dispatch.local_state import current
from minitorch.dispatch.schema import Argument, Type
from minitorch.ops.function import CallPlan, Function, Mismatch, int_list, one_int, set_binder, tensor_list
from minitorch.tensor.base import TensorBase, is_plain

_ALIASES = {"input": "self", "axis": "dim", "keepdims": "keepdim", "x": "self", "x1": "self", "x2": "other"}
_PYTHON_DTYPES = {float: float64, int: int64, bool: bool_dtype}
_FACTORY_OPTIONS = ("dtype", "layout", "device", "pin_memory", "requires_grad")
NO_DEFAULT = object()


# -- converters: return the value as the parameter's type, or raise Mismatch ---------------


def _tensor(value):
    if not isinstance(value, TensorBase):
        raise Mismatch
    return value


def _optional_tensor_list(value):
    for item in value:
        if item is not None and (not isinstance(item, TensorBase) or (not is_plain(item) and overrides_now(item))):
            raise Mismatch
    return list(value)


def _int(value):
    if isinstance(value, SymInt):
        return value
    try:
        return as_index(value)
    except TypeError:
        raise Mismatch from None


def _int_of_tensor(value):
    if value.ndim != 0 or value.dtype.is_floating_point or value.dtype.is_complex:
        raise Mismatch
    return int(value.item())


def _number_of_tensor(value):
    if value.ndim != 0 or value.requires_grad:
        raise Mismatch
    return value.item()


def _float_of_tensor(value):
    if value.ndim != 0 or value.requires_grad:
        raise Mismatch
    return float(value.item())


def _float_list(value):
    for item in value:
        if not isinstance(item, (int, float, np.floating, np.integer)):
            raise Mismatch
    return [float(v) for v in value]


def _bool_list(value):
    for item in value:
        if not isinstance(item, bool):
            raise Mismatch
    return list(value)


def _scalar_list(value):
    if any(isinstance(v, TensorBase) and v.ndim for v in value):
        raise Mismatch
    return [v.item() if isinstance(v, (np.generic, TensorBase)) else v for v in value]


def _numpy_item(value):
    return value.item()


def _repeat(count):
    def repeat(value):
        return [_int(value)] * count

    return repeat


def _repeat_float(count):
    def repeat(value):
        return [float(value)] * count

    return repeat


def _python_dtype(value):
    return _PYTHON_DTYPES[value]


_UNFIT = object()


def converts(how: Any, value: Any) -> bool:
    """Return whether a converter of tensors to numbers takes this tensor."""
    if how not in (_int_of_tensor, _number_of_tensor, _float_of_tensor):
        return True
    try:
        how(value)
    except Mismatch:
        return False
    return True


def converter_for(kind: Type, value: Any, relaxed: bool, numbers: bool, alone: bool) -> Any:
    """Return how `value` becomes a `kind`: a function, None for as it is, or `_UNFIT`.

    Parameters
    ----------
    relaxed : bool
        0-dim tensors stand for numbers.
    numbers : bool
        Numbers stand for tensors.
    alone : bool
        The parameter is an ``int[]`` that stands alone, so one int will do.
    """
    base = kind.base
    if value is None:
        return None if kind.is_optional else _UNFIT
    if kind.is_list:
        return _list_converter(kind, base, value, alone)
    cls = type(value)
    if base == "Tensor":
        if isinstance(value, TensorBase):
            return None
        if numbers and isinstance(value, (bool, int, float, complex)):
            return None if cls is not np.float64 and cls is not np.complex128 else _numpy_item
        if numbers and is_symbolic(value):
            return None
        return _numpy_item if numbers and isinstance(value, np.generic) else _UNFIT
    if base in ("int", "SymInt"):
        if cls is int:
            return None
        if cls is bool or cls is np.bool_:
            return _UNFIT
        if isinstance(value, TensorBase):
            return _int_of_tensor if relaxed else _UNFIT
        return _int if hasattr(value, "__index__") else _UNFIT
    if base == "float":
        if cls is float:
            return None
        if isinstance(value, (int, float, np.floating, np.integer)) and cls is not bool:
            return float
        if isinstance(value, (SymInt, SymFloat)):
            return sym_float
        return _float_of_tensor if relaxed and isinstance(value, TensorBase) else _UNFIT
    if base == "bool":
        if cls is bool:
            return None
        return bool if cls is np.bool_ or cls is SymBool else _UNFIT
    if base in ("Scalar", "number"):
        if cls is int or cls is float or cls is bool or cls is complex or is_symbolic(value):
            return None
        if isinstance(value, np.generic):
            return _numpy_item
        return _number_of_tensor if relaxed and isinstance(value, TensorBase) else _UNFIT
    if base == "ScalarType":
        if cls is dtype:
            return None
        return _python_dtype if cls is type and value in _PYTHON_DTYPES else _UNFIT
    if base == "Device":
        if cls is device:
            return None
        return device if cls is str else (_cuda_device if cls is int else _UNFIT)
    if base == "Layout":
        return None if cls is layout else _UNFIT
    if base == "MemoryFormat":
        return None if cls is memory_format else _UNFIT
    if base == "str":
        return None if cls is str else _UNFIT
    if base == "Generator":
        return None if isinstance(value, Generator) else _UNFIT
    return None


def _cuda_device(value):
    return device("cuda", value)


def _list_converter(kind: Type, base: str, value: Any, alone: bool) -> Any:
    is_sequence = isinstance(value, (list, tuple))
    if base == "Tensor":
        if not is_sequence:
            return _UNFIT
        if kind.element_optional:
            return _optional_tensor_list if all(v is None or isinstance(v, TensorBase) for v in value) else _UNFIT
        return tensor_list if all(isinstance(v, TensorBase) for v in value) else _UNFIT
    if base in ("int", "SymInt"):
        if is_sequence:
            try:
                int_list(value)
            except Mismatch:
                return _UNFIT
            return int_list
        if hasattr(value, "__index__") and not isinstance(value, (bool, TensorBase)):
            if kind.size is not None:
                return _repeat(kind.size)
            return one_int if alone else _UNFIT
        if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu":
            return int_list
        return _UNFIT
    if base == "float":
        if is_sequence:
            return _float_list if all(isinstance(v, (int, float, np.floating)) for v in value) else _UNFIT
        return _repeat_float(kind.size) if kind.size is not None and isinstance(value, (int, float)) else _UNFIT
    if not is_sequence:
        return _UNFIT
    return _bool_list if base == "bool" else (_scalar_list if base == "Scalar" else list)


# -- plans ---------------------------------------------------------------------------------


def stands_alone(parameters: list[Argument], is_method: bool) -> int:
    """Return the index of an ``int[]`` parameter whose elements may be separate arguments, or -1."""
    positional = [i for i, a in enumerate(parameters) if not a.kwarg_only]
    if positional and parameters[0].type.base == "Tensor":
        positional = positional[1:]
    if len(positional) == 1:
        kind = parameters[positional[0]].type
        if kind.is_list and kind.base in ("int", "SymInt"):
            return positional[0]
    return -1


def tensor_first(function: Function, positional: list[Argument], args: tuple) -> tuple:
    """Return a method's arguments in schema order, and where each of them came from (None: in place).

    The tensor that a method is found on is the argument called ``self``, which is not the
    first one of ``polygamma(int n, Tensor self)``.
    """
    if not function.is_method or not positional or positional[0].name == "self":
        return args, None
    at = next((i for i, a in enumerate(positional) if a.name == "self"), 0)
    if at == 0 or len(args) <= at:
        return args, None
    order = [*range(1, at + 1), 0, *range(at + 1, len(args))]
    return tuple([args[i] for i in order]), order


def bind(function: Function, op, args: tuple, kwargs: dict, relaxed: bool):
    """Return the plan that calls `op` with such arguments, or the reason why it cannot be (a str)."""
    schema = op.schema
    parameters = schema.arguments
    positional = [a for a in parameters if not a.kwarg_only]
    alone = stands_alone(parameters, function.is_method)
    packed = None
    count = len(args)
    if count > len(positional) or (
        alone >= 0 and count == alone + 1 and not isinstance(args[alone], (list, tuple, type(None), np.ndarray))
    ):
        if alone < 0 or count <= alone or not all(
            (hasattr(a, "__index__") and not isinstance(a, bool)) for a in args[alone:]
        ):
            return f"takes {len(positional)} positional arguments but {count} were given"
        packed = alone
    given = dict(kwargs)
    requires_grad = None
    names = {a.name for a in parameters}
    if "requires_grad" in given and "requires_grad" not in names and "dtype" in names:
        requires_grad = "requires_grad"
        del given["requires_grad"]
    outs = op.declaration.out_names if op.declaration is not None and op.declaration.kind == "out" else ()
    # A factory's ``out=`` may come with the options of the factory, which must agree with it.
    options = ()
    if outs and op.declaration.functional is None:
        options = tuple(n for n in given if n in _FACTORY_OPTIONS and n not in names)
        for name in options:
            del given[name]
    # keyword -> parameter, aliases resolved
    keyword_of = {}
    for keyword in given:
        name = keyword
        if keyword == "input" and positional and not function.is_method:
            name = positional[0].name
        elif name not in names or (name == "self" and not function.is_method):
            name = _ALIASES.get(keyword, keyword)
            if keyword in ("x", "x1") and positional:
                name = positional[0].name
        if keyword == "self" or name not in names or name in keyword_of:
            if keyword == "out" and outs:
                continue
            return f"got an unexpected keyword argument '{keyword}'"
        keyword_of[name] = keyword
    sources, converters, defaults = [], [], []
    required = 0
    missing: list[tuple] = []
    allow_numbers = op.allow_numbers
    args, order = tensor_first(function, positional, args)
    for place, argument in enumerate(positional):
        default = argument.default if argument.has_default else NO_DEFAULT
        if place < count:
            if argument.name in keyword_of:
                return f"got multiple values for argument '{argument.name}'"
            if packed == place:
                source: Any = (place, count)
                how: Any = int_list
                try:
                    int_list(args[place:])
                except Mismatch:
                    return f"argument '{argument.name}' must be {shown(argument.type)}, not {shown_value(args[place:])}"
            else:
                source = order[place] if order else place
                how = converter_for(argument.type, args[place], relaxed, allow_numbers, place == alone)
                if how is _UNFIT or not converts(how, args[place]):
                    return _unfit(function, argument, place, args[place])
        elif argument.name in keyword_of:
            source = keyword_of[argument.name]
            how = converter_for(argument.type, given[source], relaxed, allow_numbers, place == alone)
            if how is _UNFIT or not converts(how, given[source]):
                return _unfit(function, argument, place, given[source])
        elif default is NO_DEFAULT:
            return f"missing 1 required positional arguments: \"{public_name(argument.name, function)}\""
        else:
            missing.append((argument.name, default))
            sources.append((default,))
            converters.append(None)
            defaults.append(default)
            continue
        sources.append(source)
        converters.append(how)
        defaults.append(default)
        if default is NO_DEFAULT:
            required = place + 1
    while sources and type(sources[-1]) is tuple and len(sources[-1]) == 1:
        sources.pop()
        converters.pop()
        defaults.pop()
    keywords = []
    for argument in parameters:
        if not argument.kwarg_only or argument.name in outs:
            continue
        default = argument.default if argument.has_default else NO_DEFAULT
        keyword = keyword_of.get(argument.name)
        if keyword is None:
            if default is NO_DEFAULT:
                return f"missing required keyword argument '{argument.name}'"
            continue
        how = converter_for(argument.type, given[keyword], relaxed, allow_numbers, False)
        if how is _UNFIT or not converts(how, given[keyword]):
            return _unfit(function, argument, None, given[keyword])
        keywords.append((argument.name, keyword, how, default))
    plan = CallPlan(
        op, tuple(sources), tuple(converters), tuple(defaults), required, tuple(keywords),
        named_results(op) if not outs or len(outs) > 1 else None, returns_list(op),
    )
    if outs:
        plan = _with_out(function, plan, outs, options)
    if requires_grad is not None:
        plan = _with_requires_grad(plan)
    return plan


def _with_out(function: Function, plan: CallPlan, outs: tuple[str, ...], options: tuple[str, ...]) -> CallPlan:
    """Return a plan that hands the keyword ``out`` to the written parameters."""
    inner = plan

    def run(args, kwargs):
        out = kwargs["out"]
        values = (out,) if len(outs) == 1 else tuple(out)
        if len(values) != len(outs) or not all(isinstance(v, TensorBase) for v in values):
            raise TypeError(
                f"{function.name}(): argument 'out' must be "
                f"{'Tensor' if len(outs) == 1 else f'tuple of {len(outs)} Tensors'}, not {shown_value(out)}"
            )
        for name in options:
            _check_option(name, kwargs[name], out)
        result = inner.run_with(args, kwargs, dict(zip(outs, values, strict=True)))
        return result._set_requires_grad(True) if options and kwargs.get("requires_grad") else result

    return CallPlan(plan.op, (), (), (), 0, (), None, False, override=run)


def _check_option(name: str, value: Any, out: TensorBase) -> None:
    """Raise unless a factory's option agrees with the tensor that it writes to."""
    if value is None or name in ("pin_memory", "requires_grad"):
        return
    if name == "dtype":
        wanted = _PYTHON_DTYPES.get(value, value)
        if wanted is not out.dtype:
            raise RuntimeError(
                f"dtype {wanted.scalar_name} does not match dtype of out parameter ({out.dtype.scalar_name})"
            )
        return
    found = out.device if name == "device" else out.layout
    wanted = device(value) if name == "device" else value
    if wanted is not found and not (name == "device" and wanted.index is None and wanted.type == found.type):
        raise RuntimeError(f"{name} {wanted} does not match {name} of out parameter ({found})")


def _with_requires_grad(plan: CallPlan) -> CallPlan:
    """Return a plan for a factory that was given ``requires_grad=``."""

    def run(args, kwargs):
        rest = {k: v for k, v in kwargs.items() if k != "requires_grad"}
        result = plan.run_with(args, rest, None)
        if kwargs["requires_grad"]:
            result._set_requires_grad(True)
        return result

    return CallPlan(plan.op, (), (), (), 0, (), None, False, override=run)


_named_types: dict[Any, Any] = {}


def named_results(op):
    """Return the named tuple type of an operator with several named results, or None."""
    returns = op.schema.returns
    if len(returns) < 2 or not all(r.name for r in returns) or op.namespace != "aten":
        return None
    names = tuple(r.name for r in returns)
    key = (op.basename, names)
    found = _named_types.get(key)
    if found is None:
        from minitorch.ops.return_types import make_return_type

        found = _named_types[key] = make_return_type(op.basename, names)
    return found


def returns_list(op) -> bool:
    """Return whether the result is a list of tensors, which users get as a tuple."""
    returns = op.schema.returns
    return len(returns) == 1 and returns[0].type.is_list


# -- resolution ----------------------------------------------------------------------------


def make_plan(function: Function, args: tuple, kwargs: dict | None, key: Any) -> CallPlan:
    """Return the plan of a call, kept for calls with the same types of arguments."""
    from minitorch.ops.overriding import find_override

    override = find_override(function, args, kwargs or {})
    if override is not None:
        return override
    plan = resolve(function, args, kwargs)
    function.plans[key] = plan
    return plan


def overrides_now(tensor: Any) -> bool:
    """Return whether the class of a tensor takes over a call that is made now."""
    from minitorch.ops.overriding import overrides_calls

    return not current().function_disabled and overrides_calls(tensor)


def plan_once(function: Function, args: tuple, kwargs: dict | None) -> CallPlan:
    """Return the plan of a call that the one kept for its types does not fit: elements of a list decide."""
    from minitorch.ops.overriding import find_override

    override = find_override(function, args, kwargs or {})
    return override if override is not None else resolve(function, args, kwargs)


def resolve(function: Function, args: tuple, kwargs: dict | None) -> CallPlan:
    """Return the plan of a call, judged by its values.

    Raises
    ------
    TypeError
        If no overload takes such arguments.
    """
    kwargs = kwargs or {}
    operators = function.operators()
    if "out" in kwargs and kwargs["out"] is not None:
        operators = function.out_overloads
        if not operators:
            raise TypeError(f"{function.name}() got an unexpected keyword argument 'out'")
    elif "out" in kwargs:
        trimmed = {k: v for k, v in kwargs.items() if k != "out"}
        plan = resolve(function, args, trimmed)
        return CallPlan(
            plan.op, (), (), (), 0, (), None, False,
            override=lambda a, k: function.invoke(a, {n: v for n, v in k.items() if n != "out"}),
        )
    reasons = []
    for relaxed in (False, True):
        reasons.clear()
        for op in operators:
            plan = bind(function, op, args, kwargs, relaxed)
            if not isinstance(plan, str):
                return plan
            reasons.append(plan)
    raise TypeError(mismatch_text(function, operators, args, kwargs, reasons))


def mismatch_text(function: Function, operators, args, kwargs, reasons) -> str:
    """Return the text of the error for a call that no overload takes."""
    if len(operators) == 1:
        return f"{function.name}(): {reasons[0]}"
    got = ", ".join(
        [type(a).__name__ for a in (args[1:] if function.is_method else args)]
        + [f"{k}={type(v).__name__}" for k, v in kwargs.items()]
    )
    lines = "\n".join(
        f" * ({signature_text(op, function)})\n      {reason}" for op, reason in zip(operators, reasons, strict=True)
    )
    return (
        f"{function.name}() received an invalid combination of arguments - got ({got}), but expected one of:\n{lines}"
    )


def signature_text(op, function: Function) -> str:
    """Return an overload's parameters as messages show them."""
    parts = []
    starred = False
    for i, a in enumerate(op.schema.arguments):
        if i == 0 and function.is_method and a.name == "self":
            continue
        if a.kwarg_only and not starred:
            parts.append("*")
            starred = True
        text = f"{shown(a.type)} {public_name(a.name, function)}"
        parts.append(f"{text} = {a.default}" if a.has_default else text)
    return ", ".join(parts)


def public_name(name: str, function: Function) -> str:
    """Return a parameter's public name: functions call ``self`` ``input``."""
    return "input" if name == "self" and not function.is_method else name


def shown(kind: Type) -> str:
    """Return a type as messages show it."""
    base = {"SymInt": "int", "Scalar": "Number", "ScalarType": "torch.dtype", "Device": "torch.device"}.get(
        kind.base, kind.base
    )
    return f"tuple of {base}s" if kind.is_list else base


def shown_value(value: Any) -> str:
    """Return a value's type as messages show it."""
    if isinstance(value, (tuple, list)) and value:
        return f"{type(value).__name__} of ({', '.join(sorted({type(v).__name__ for v in value}))})"
    return type(value).__name__


def _unfit(function: Function, argument: Argument, place: int | None, value: Any) -> str:
    position = f" (position {place + (0 if function.is_method else 1)})" if place is not None else ""
    return (
        f"argument '{public_name(argument.name, function)}'{position} must be {shown(argument.type)}, "
        f"not {shown_value(value)}"
    )


def install() -> None:
    """Make these the rules that public functions follow."""
    from minitorch.dispatch import namespace
    from minitorch.ops.overriding import call_function_modes, handle_operator_call

    set_binder(make_plan, plan_once, call_function_modes, overrides_now)
    namespace.function_handler = handle_operator_call
