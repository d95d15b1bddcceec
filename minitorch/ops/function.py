"""Public functions and methods: how ordinary calls find their overload.

Compiled where a compiler exists (`function.pxd`).

Note [Call plans]
    Which overload a call means, and how its arguments become the operator's, depends on
    the types of the arguments alone (and on which keywords are given).  The first call
    with a combination of types works it out (`binder.make_plan`) and keeps it as a
    `CallPlan`; later ones find the plan with one dictionary probe.  Where the elements
    of a list decide, a converter raises `binder.Mismatch` and the call is resolved anew.
"""

from __future__ import annotations

from minitorch.core.symbolic import SymInt
from minitorch.dispatch.operator import OPERATORS, KeyedObject, Operator
from minitorch.tensor.base import is_plain, modes_active

COMPILED = not __file__.endswith(".py")


class Mismatch(Exception):
    """An argument does not fit the parameter that a plan gives it to."""


# `binder.resolve(function, args, kwargs)` and `overrides.call_function_modes`, set by those modules.
_make_plan = None
_resolve = None
_call_modes = None
# Whether the class of a tensor takes calls over: plans do not tell, as they know lists by their type alone.
_overrides = None


def int_list(value):
    """Return a sequence of integers as a list of int.

    Raises
    ------
    Mismatch
        If an element is no integer.
    """
    result = []
    for item in value:
        if type(item) is int:
            result.append(item)
        else:
            result.append(_one_integer(item))
    return result


def _one_integer(item):
    if not isinstance(item, bool):
        if hasattr(item, "handle"):
            if item.ndim == 0 and item.handle.dtype.kind in "iu":
                return int(item.item())
        elif hasattr(item, "__index__"):
            return item if isinstance(item, SymInt) else item.__index__()
    raise Mismatch


def tensor_list(value):
    """Return a sequence of tensors as a list.

    Raises
    ------
    Mismatch
        If an element is no tensor, or of a class that takes calls over.
    """
    result = []
    for item in value:
        if not isinstance(item, KeyedObject) or (not is_plain(item) and _overrides(item)):
            raise Mismatch
        result.append(item)
    return result


def one_int(value):
    """Return a single integer as a list of one."""
    return [value if type(value) is int else _one_integer(value)]


# Note [Conversion codes]
# 0: as it is; 1: a sequence of int becomes a list; 2: one int becomes a list; 3: any other
# function; 4: the rest of the arguments is one list of int; 5: all that is less common; 6: a list of tensors.
_CODES = {int_list: 1, one_int: 2, tensor_list: 6}


class CallPlan:
    """How a call with given argument types becomes an operator call (Note [Call plans]).

    Attributes
    ----------
    op : Operator
    direct : bool
        The positional arguments are the operator's as they stand.
    sources : tuple
        For each positional parameter: index of the argument, its keyword, or a tuple holding a constant.
    converters : tuple
        For each positional parameter: a function of the value, or None.
    defaults : tuple
        For each positional parameter its default, or `NO_DEFAULT`.
    required : int
        How many parameters have no default.
    keywords : tuple of (name, keyword of the call, converter, default)
        The keyword-only parameters that are given.
    named : type or None
        Named tuple to wrap several results in.
    makes_tuple : bool
        A list result is handed out as a tuple.
    override : callable or None
        Runs instead, with ``(args, kwargs)``.
    """

    __slots__ = (
        "codes",
        "converters",
        "defaults",
        "direct",
        "in_order",
        "keywords",
        "makes_tuple",
        "named",
        "op",
        "override",
        "required",
        "sources",
        "trivial",
    )

    def __init__(self, op, sources, converters, defaults, required, keywords, named, makes_tuple, override=None):
        self.op = op
        self.sources = sources
        self.converters = converters
        self.defaults = defaults
        self.required = required
        self.keywords = keywords
        self.named = named
        self.makes_tuple = makes_tuple
        self.override = override
        self.direct = sources == tuple(range(len(sources))) and not any(converters)
        self.trivial = (
            self.direct and override is None and not keywords and named is None and not makes_tuple
            and len(sources) <= required
        )
        # The common conversions as codes, one a parameter (Note [Conversion codes]).
        codes = []
        for source, converter in zip(sources, converters):  # noqa: B905 (same length by construction)
            if type(source) is int:
                codes.append(0 if converter is None else _CODES.get(converter, 3))
            elif type(source) is tuple and len(source) == 2 and converter is int_list:
                codes.append(4)
            else:
                codes.append(5)
        self.codes = bytes(codes)
        self.in_order = all(type(s) is not int or s == i for i, s in enumerate(sources))

    def run_with(self, args, kwargs, extra):
        """Run with further keyword-only arguments, which are the operator's as they stand."""
        if extra is None:
            return self.run(args, kwargs)
        return self.run_call(args, kwargs, extra)

    def run(self, args, kwargs):
        return self.run_call(args, kwargs, None)

    def run_call(self, args, kwargs, extra):
        if self.override is not None:
            return self.override(args, kwargs)
        if self.direct:
            values = args
        else:
            built = []
            for i in range(len(self.codes)):
                code = self.codes[i]
                if code != 4 and code != 5 and self.in_order:
                    value = args[i]
                    if code == 1:
                        value = int_list(value)
                    elif code == 2:
                        value = one_int(value)
                    elif code == 6:
                        value = tensor_list(value)
                    elif code == 3:
                        value = self.converters[i](value)
                    built.append(value)
                    continue
                source = self.sources[i]
                if code == 4:
                    built.append(int_list(args[source[0] :]))
                    continue
                kind = type(source)
                if kind is int:
                    value = args[source]
                elif kind is str:
                    value = kwargs[source]
                else:
                    value = source[0] if len(source) == 1 else args[source[0] : source[1]]
                converter = self.converters[i]
                if converter is not None:
                    value = converter(value)
                built.append(value)
            values = tuple(built)
        count = len(values)
        if count > self.required:
            keep = count
            while keep > self.required and is_default(values[keep - 1], self.defaults[keep - 1]):
                keep -= 1
            if keep != count:
                values = values[:keep]
        keywords = extra
        if self.keywords:
            if keywords is None:
                keywords = {}
            for name, keyword, converter, default in self.keywords:
                value = kwargs[keyword]
                if converter is not None:
                    value = converter(value)
                if not is_default(value, default):
                    keywords[name] = value
        op: Operator = self.op
        result = op.call(values, keywords)
        if self.named is not None:
            return self.named(*result)
        if self.makes_tuple and type(result) is list:
            return tuple(result)
        return result


def is_default(value, default):
    """Return whether an argument equals its schema default (never asks a tensor)."""
    if value is default:
        return True
    kind = type(value)
    if kind is int or kind is float or kind is bool or kind is str or kind is list:
        return kind is type(default) and value == default
    return False


class Function:
    """A public function or method: a name and the overloads behind it.

    Parameters
    ----------
    name : str
        ``"sum"``.
    overload_names : tuple of str
        Qualified names of the operators, in the order in which they are tried.
    is_method : bool
        Whether the first argument is the tensor that the method was found on.
    """

    __slots__ = ("is_method", "name", "out_overloads", "overload_names", "overloads", "plans", "plans2", "public")

    def __init__(self, name, overload_names, is_method=False):
        self.name = name
        self.overload_names = overload_names
        self.overloads = None
        self.out_overloads = None
        self.plans = {}
        self.plans2 = {}
        self.public = None
        self.is_method = is_method

    def operators(self):
        """Return the overloads, looked up on first use."""
        if self.overloads is None:
            found = [OPERATORS[name] for name in self.overload_names]
            self.out_overloads = [op for op in found if op.declaration is not None and op.declaration.kind == "out"]
            self.overloads = [op for op in found if op not in self.out_overloads]
        return self.overloads

    def invoke(self, args, kwargs):
        """Call with a tuple of positional arguments and a dictionary of keywords (or None)."""
        if modes_active():
            return _call_modes(self, args, kwargs)
        if kwargs:
            key = tuple([type(a) for a in args]) + tuple(kwargs) + tuple([type(v) for v in kwargs.values()])
        else:
            key = tuple([type(a) for a in args])
        plan: CallPlan = self.plans.get(key)
        if plan is None:
            plan = _make_plan(self, args, kwargs, key)
        if plan.trivial:
            return plan.op.call(args, None)
        try:
            return plan.run(args, kwargs)
        except Mismatch:
            pass
        plan = _resolve(self, args, kwargs)
        return plan.run(args, kwargs)

    def invoke1(self, a):
        """Call with one positional argument."""
        if modes_active():
            return _call_modes(self, (a,), None)
        plan: CallPlan = self.plans.get(type(a))
        if plan is None:
            plan = _make_plan(self, (a,), None, type(a))
        if plan.trivial and isinstance(a, KeyedObject):
            return plan.op.call1(a)
        try:
            return plan.run((a,), None)
        except Mismatch:
            pass
        plan = _resolve(self, (a,), None)
        return plan.run((a,), None)

    def invoke2(self, a, b):
        """Call with two positional arguments: two look-ups by type, no tuple of types."""
        if modes_active():
            return _call_modes(self, (a, b), None)
        args = (a, b)
        row = self.plans2.get(type(a))
        if row is None:
            row = {}
            self.plans2[type(a)] = row
        plan: CallPlan = row.get(type(b))
        if plan is None:
            key = (type(a), type(b))
            plan = _make_plan(self, args, None, key)
            if key in self.plans:
                row[type(b)] = plan
        if plan.trivial:
            return plan.op.call(args, None)
        try:
            return plan.run_call(args, None, None)
        except Mismatch:
            pass
        plan = _resolve(self, args, None)
        return plan.run(args, None)

    def __call__(self, *args, **kwargs):
        return self.invoke(args, kwargs)

    def __repr__(self):
        return f"<function {self.name}>"


def make_function(public_function):
    """Return the Python function that users call."""
    function: Function = public_function

    def call(*args, **kwargs):
        if not kwargs:
            count = len(args)
            if count == 1:
                return function.invoke1(args[0])
            if count == 2:
                return function.invoke2(args[0], args[1])
            return function.invoke(args, None)
        return function.invoke(args, kwargs)

    return call


def make_method(public_function):
    """Return the method that users call."""
    function: Function = public_function

    def call(self, *args, **kwargs):
        if not kwargs:
            count = len(args)
            if count == 0:
                return function.invoke1(self)
            if count == 1:
                return function.invoke2(self, args[0])
            return function.invoke((self, *args), None)
        return function.invoke((self, *args), kwargs)

    return call


def set_binder(make_plan, resolve, call_modes, overrides):
    """Give this module the parts that run rarely."""
    global _make_plan, _resolve, _call_modes, _overrides
    _overrides = overrides
    _make_plan = make_plan
    _resolve = resolve
    _call_modes = call_modes
