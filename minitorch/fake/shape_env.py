"""`ShapeEnv`: the unknown sizes of a trace, what they are now, and what was assumed of them.

Note [Unknown sizes]
    A size is *backed* when there is an example: its symbol ``s0`` has a hint, the size of the example.  Sizes 0 and 1 decide
    what broadcasting and memory formats do, and so stay numbers; equal sizes share a symbol.  A backed symbol is therefore
    at least 2.  Conditions that follow from this are decided without a guard.
    A size is *unbacked* when data decides it, as in ``nonzero``: its symbol ``u0`` has no hint.  What is asked of one must
    follow from what was said of it by ``minitorch._check``; where memory formats and broadcasting ask whether it is 0 or 1,
    it is not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sympy

from minitorch.core.symbolic import SymInt
from minitorch.fake.size_expressions import OPERATIONS, SYMBOLIC_TYPES, FloorDiv, compute, expression_of, python_value


class GuardOnDataDependentSymNode(RuntimeError):
    """A condition, or a number, was asked of a size that only data decides."""


class ConstraintViolationError(RuntimeError):
    """A size that was to stay free has been made a constant by what the program asks of it."""


class ShapeGuard(NamedTuple):
    """What was assumed of the sizes, as a SymPy condition."""

    expr: Any

    def __str__(self) -> str:
        return str(self.expr)


class SymNode:
    """The expression of a symbolic number, and the environment that it belongs to.

    Attributes
    ----------
    expr : sympy.Expr
    shape_env : ShapeEnv
    pytype : type
        `int`, `float` or `bool`.
    """

    __slots__ = ("_expr", "pytype", "shape_env")

    def __init__(self, expr: Any, shape_env: ShapeEnv, pytype: type):
        self._expr = expr
        self.shape_env = shape_env
        self.pytype = pytype

    @property
    def expr(self) -> Any:
        """The expression, with what is known by now put in."""
        return self.shape_env.replace(self._expr)

    @property
    def hint(self) -> Any:
        """The value now; None where data decides it."""
        return self.shape_env.hint_of(self._expr, self.pytype)

    def has_hint(self) -> bool:
        return self.hint is not None

    def evaluate(self) -> Any:
        """Return the value now, and guard that it is this one."""
        return self.shape_env.evaluate_expr(self._expr, self.pytype)

    def apply(self, name: str, *operands: Any) -> Any:
        """Return the result of an operation of `OPERATIONS`: symbolic, or a number where nothing is unknown."""
        return self.shape_env.apply(name, operands)


def _kind(value: Any) -> type:
    node = getattr(value, "node", None)
    return node.pytype if node is not None else bool if isinstance(value, bool) else int if isinstance(value, int) else float


class ShapeEnv:
    """The unknown sizes of one trace, their hints, and the guards (Note [Unknown sizes]).

    Parameters
    ----------
    allow_scalar_outputs : bool
        ``item()`` of a fake tensor gives an unbacked number instead of an error.
    allow_dynamic_output_shape_ops : bool
        ``nonzero`` and its kind give unbacked sizes instead of an error.
    specialize_zero_one : bool
        Sizes 0 and 1 are numbers.
    duck_shape : bool
        Equal sizes share a symbol.

    Attributes
    ----------
    guards : list of ShapeGuard
    var_to_val : dict
        The hint of each backed symbol.
    var_to_sources : dict
        Where each symbol comes from: ``"x.size()[0]"``.
    replacements : dict
        Symbols that turned out to be something else.
    """

    def __init__(
        self,
        *,
        allow_scalar_outputs: bool = True,
        allow_dynamic_output_shape_ops: bool = True,
        specialize_zero_one: bool = True,
        duck_shape: bool = True,
    ):
        self.allow_scalar_outputs = allow_scalar_outputs
        self.allow_dynamic_output_shape_ops = allow_dynamic_output_shape_ops
        self.specialize_zero_one = specialize_zero_one
        self.duck_shape = duck_shape
        self.guards: list[ShapeGuard] = []
        self.var_to_val: dict[Any, int] = {}
        self.var_to_sources: dict[Any, list[str]] = {}
        self.replacements: dict[Any, Any] = {}
        self.frozen = False
        self._symbol_of_size: dict[int, Any] = {}
        self._lowest: dict[Any, int] = {}
        self._shifted: dict[Any, Any] = {}
        self._facts: dict[Any, bool] = {}
        self._backed_numbers = itertools.count()
        self._unbacked_numbers = itertools.count()

    # -- unknowns ------------------------------------------------------------------

    def create_symbol(self, size: int, source: str) -> Any:
        """Return a size as an unknown: the symbol of equal sizes, or a new one; 0 and 1 as they are.

        Returns
        -------
        SymInt or int
        """
        if self.specialize_zero_one and size in (0, 1):
            return size
        symbol = self._symbol_of_size.get(size) if self.duck_shape else None
        if symbol is None:
            lowest = 2 if self.specialize_zero_one else 0
            symbol = sympy.Symbol(f"s{next(self._backed_numbers)}", integer=True, positive=lowest > 0, nonnegative=True)
            self._lowest[symbol] = lowest
            self.var_to_val[symbol] = size
            self.var_to_sources[symbol] = []
            if self.duck_shape:
                self._symbol_of_size[size] = symbol
        self.var_to_sources[symbol].append(source)
        return self.wrap(self.replace(symbol), int)

    def create_unbacked_symint(self) -> SymInt:
        """Return an integer that only data decides; sizes of results are made by it too."""
        symbol = sympy.Symbol(f"u{next(self._unbacked_numbers)}", integer=True)
        return SymInt(SymNode(symbol, self, int))

    def create_unbacked_size(self, lowest: int = 0) -> SymInt:
        """Return a size that only data decides."""
        symbol = sympy.Symbol(f"u{next(self._unbacked_numbers)}", integer=True, nonnegative=True)
        self._lowest[symbol] = lowest
        return SymInt(SymNode(symbol, self, int))

    def create_unbacked_symfloat(self) -> Any:
        """Return a floating-point number that only data decides."""
        symbol = sympy.Symbol(f"zuf{next(self._unbacked_numbers)}", real=True)
        return SYMBOLIC_TYPES[float](SymNode(symbol, self, float))

    def create_unbacked_symbool(self) -> Any:
        """Return a condition that only data decides."""
        symbol = sympy.Symbol(f"u{next(self._unbacked_numbers)}", integer=True)
        return SYMBOLIC_TYPES[bool](SymNode(sympy.Eq(symbol, 1), self, bool))

    def create_symbolic_sizes_strides(
        self,
        shape: Sequence[int],
        strides: Sequence[int],
        storage_offset: int,
        source: str,
        dynamic_dims: Iterable[int] | None = None,
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
        """Return the geometry of a tensor with unknown sizes.

        Parameters
        ----------
        shape, strides : sequence of int
            Of the example; strides count elements.
        source : str
            What guards call the tensor.
        dynamic_dims : iterable of int, optional
            The dimensions whose sizes are unknown; all unless given.

        Returns
        -------
        shape : tuple of int or SymInt
        strides : tuple of int or SymInt
            The products of sizes that they are in the example, as far as they are.
        storage_offset : int or SymInt
        """
        dynamic = set(range(len(shape)) if dynamic_dims is None else dynamic_dims)
        sizes = tuple(
            self.create_symbol(n, f"{source}.size()[{i}]") if i in dynamic else n for i, n in enumerate(shape)
        )
        steps: list[Any] = [None] * len(shape)
        # From the innermost dimension out: a step is often a size times the step before.
        products: dict[int, Any] = {}
        order = sorted(range(len(shape)), key=lambda i: (strides[i], shape[i], -i))
        for i in order:
            step = strides[i]
            if step in (0, 1):
                steps[i] = step
            elif step in products:
                steps[i] = products[step]
            elif dynamic:
                steps[i] = self.create_symbol(step, f"{source}.stride()[{i}]")
            else:
                steps[i] = step
            products[shape[i] * step] = sizes[i] * steps[i]
        offset = storage_offset
        if dynamic and storage_offset != 0:
            offset = self.create_symbol(storage_offset, f"{source}.storage_offset()")
        return sizes, tuple(steps), offset

    # -- expressions -----------------------------------------------------------------

    def wrap(self, expr: Any, kind: type) -> Any:
        """Return an expression as a symbolic number; as a Python number if nothing in it is unknown."""
        if not expr.free_symbols:
            return python_value(expr, kind)
        return SYMBOLIC_TYPES[kind](SymNode(expr, self, kind))

    def apply(self, name: str, operands: Sequence[Any]) -> Any:
        """Return the result of an operation on numbers of which at least one is symbolic."""
        for operand in operands:
            node = getattr(operand, "node", None)
            if node is not None and node.shape_env is not self:
                raise RuntimeError(
                    f"{name}: {operands} are sizes of two different traces (shape environments), which cannot be mixed"
                )
        function, kind_of = OPERATIONS[name]
        kinds = [_kind(operand) for operand in operands]
        kind = kind_of(*kinds)
        if name == "floordiv" and float in kinds:
            return self.apply("float", [self.apply("floor", [self.apply("truediv", operands)])])
        if name == "pow" and kinds == [int, int]:
            exponent = operands[1] if type(operands[1]) is int else int(operands[1])
            if exponent < 0:
                kind = float
                return self.apply("truediv", (1, operands[0] ** -exponent))
            operands = (operands[0], exponent)
        expressions = [self.replace(expression_of(operand)) for operand in operands]
        if kind is not bool and name not in ("and", "or", "not", "ite"):
            expressions = [sympy.Integer(bool(e)) if e in (sympy.true, sympy.false) else e for e in expressions]
        result = function(*expressions)
        if kind is int and name in ("add", "sub", "mul"):
            result = sympy.expand(result)
        return self.wrap(result, kind)

    def replace(self, expr: Any) -> Any:
        """Return an expression with what is known by now of its symbols put in."""
        if not self.replacements or not expr.free_symbols:
            return expr
        while True:
            known = {s: self.replacements[s] for s in expr.free_symbols if s in self.replacements}
            if not known:
                return expr
            expr = expr.xreplace(known)
            if hasattr(expr, "doit"):
                expr = expr.doit()

    simplify = replace

    def hint_of(self, expr: Any, kind: type = int) -> Any:
        """Return the value of an expression now; None where data decides it."""
        expr = self.replace(expr)
        if any(symbol not in self.var_to_val for symbol in expr.free_symbols):
            return None
        return kind(compute(expr, self.var_to_val))

    size_hint = hint_of

    # -- conditions ---------------------------------------------------------------------

    def evaluate_expr(self, expr: Any, kind: type = bool) -> Any:
        """Return the value of an expression now, and guard that it is this one.

        Raises
        ------
        GuardOnDataDependentSymNode
            If data decides it.
        """
        expr = self.replace(expr)
        if not expr.free_symbols:
            return python_value(expr, kind)
        if kind is bool:
            known = self.decide(expr)
            if known is not None:
                return known
        value = self.hint_of(expr, kind)
        if value is None:
            raise GuardOnDataDependentSymNode(self._data_decides(expr, kind))
        if kind is bool:
            self.add_guard(expr if value else sympy.Not(expr))
        else:
            self.add_guard(sympy.Eq(expr, expression_of(value)))
        return value

    def _data_decides(self, expr: Any, kind: type) -> str:
        unknown = ", ".join(sorted(str(s) for s in expr.free_symbols if s not in self.var_to_val))
        what = f"guard on data-dependent expression {expr}" if kind is bool else f"extract specialized number from {expr}"
        return (
            f"Could not {what}: {unknown} is known only when the program runs on data. If the condition always holds, say so "
            "before: minitorch._check(condition); otherwise write the program so that it does not ask"
        )

    def decide(self, condition: Any) -> bool | None:
        """Return what a condition is whatever the sizes are; None where that depends on them."""
        condition = self.replace(condition)
        if condition in (sympy.true, sympy.false):
            return bool(condition)
        known = self._facts.get(condition)
        if known is not None:
            return known
        if isinstance(condition, sympy.Not):
            inner = self.decide(condition.args[0])
            return None if inner is None else not inner
        if isinstance(condition, (sympy.And, sympy.Or)):
            parts = [self.decide(part) for part in condition.args]
            ends_it = isinstance(condition, sympy.Or)
            if ends_it in parts:
                return ends_it
            return None if None in parts else not ends_it
        if not isinstance(condition, sympy.core.relational.Relational):
            return None
        difference = sympy.expand(self._from_lowest(condition.lhs) - self._from_lowest(condition.rhs))
        least, most = _bound(difference, -1), _bound(difference, 1)
        if isinstance(condition, (sympy.Eq, sympy.Ne)):
            is_zero = difference.is_zero
            if is_zero is None and (least.is_positive or most.is_negative):
                is_zero = False
            return is_zero if isinstance(condition, sympy.Eq) or is_zero is None else not is_zero
        if isinstance(condition, sympy.StrictGreaterThan):
            return _either(least.is_positive, most.is_nonpositive)
        if isinstance(condition, sympy.GreaterThan):
            return _either(least.is_nonnegative, most.is_negative)
        if isinstance(condition, sympy.StrictLessThan):
            return _either(most.is_negative, least.is_nonnegative)
        return _either(most.is_nonpositive, least.is_positive)

    def _from_lowest(self, expr: Any) -> Any:
        """Return an expression in how much its symbols exceed their lowest values."""
        new = {}
        for symbol in expr.free_symbols:
            lowest = self._lowest.get(symbol)
            if lowest is None:
                continue
            if symbol not in self.var_to_val:
                lowest = max(lowest, 2)  # Note [Unknown sizes]
            if (symbol, lowest) not in self._shifted:
                self._shifted[symbol, lowest] = sympy.Symbol(f"_{symbol}", integer=True, nonnegative=True) + lowest
            new[symbol] = self._shifted[symbol, lowest]
        return expr.xreplace(new) if new else expr

    def add_guard(self, condition: Any) -> None:
        """Note that a condition was assumed."""
        if self.frozen:
            return
        self.guards.append(ShapeGuard(condition))
        self._learn(condition)

    def assume(self, condition: Any) -> bool:
        """Take a condition for true from now on, as `minitorch._check` says; return False if it is not."""
        known = self.decide(condition)
        if known is False or self.hint_of(condition, bool) is False:
            return False
        if known is None:
            self.add_guard(self.replace(condition))
        return True

    def _learn(self, condition: Any) -> None:
        """Use a condition that holds: equalities replace symbols, bounds raise lowest values."""
        self._facts[condition] = True
        self._facts[sympy.Not(condition)] = False
        if isinstance(condition, sympy.Eq):
            left: Any = condition.lhs
            self._learn_equality(left - condition.rhs)
        elif isinstance(condition, (sympy.GreaterThan, sympy.StrictGreaterThan, sympy.LessThan, sympy.StrictLessThan)):
            larger: Any = condition.gts
            smaller: Any = condition.lts
            strict = isinstance(condition, (sympy.StrictGreaterThan, sympy.StrictLessThan))
            if larger.is_Symbol and smaller.is_Integer:
                lowest = int(smaller) + strict
                if lowest > self._lowest.get(larger, lowest - 1):
                    self._lowest[larger] = lowest

    def _learn_equality(self, difference: Any) -> None:
        difference = sympy.expand(self.replace(difference))
        # The youngest symbol goes.
        for symbol in sorted(difference.free_symbols, key=_age, reverse=True):
            factor = difference.coeff(symbol, 1)
            rest = difference - factor * symbol
            if factor.is_Integer and factor != 0 and symbol not in rest.free_symbols:
                solution = -rest / factor
                if solution.is_integer:
                    self.replacements[symbol] = solution
                    return

    # -- using what was assumed -----------------------------------------------------------

    def bindings(self, symbolic: Sequence[Any], real: Sequence[int]) -> dict[Any, int] | None:
        """Return the values of the symbols of some sizes; None if real sizes do not fit these.

        Parameters
        ----------
        symbolic : sequence of int or SymInt
            Sizes (and strides) of the trace.
        real : sequence of int
            Those of other inputs.
        """
        values: dict[Any, int] = {}
        later = []
        for size, value in zip(symbolic, real, strict=True):
            expr = self.replace(expression_of(size))
            if expr.is_Symbol and expr not in values:
                values[expr] = value
            else:
                later.append((expr, value))
        for expr, value in later:
            try:
                if compute(expr, values) != value:
                    return None
            except KeyError:
                return None
        return values

    def holds(self, values: Mapping[Any, int]) -> bool:
        """Return whether values of the symbols are as was assumed, so that the trace is right for them."""
        for symbol, value in values.items():
            if value < self._lowest.get(symbol, value):
                return False
        for guard in self.guards:
            expr = self.replace(guard.expr)
            if not expr.free_symbols:
                if not bool(expr):
                    return False
                continue
            try:
                if not compute(expr, values):
                    return False
            except KeyError:
                continue  # of data: checked where it is computed
        return True

    def format_guards(self) -> str:
        """Return the guards, one a line."""
        return "\n".join(f" - {guard}" for guard in self.guards)


def _either(holds: Any, fails: Any) -> bool | None:
    return True if holds else False if fails else None


def _bound(expr: Any, side: int) -> Any:
    """Return a simpler expression that is never above (`side` -1) or below (1) a sum: without floors and remainders."""
    parts = [atom for atom in expr.atoms(FloorDiv, sympy.Mod) if atom.args[1].is_Integer and atom.args[1] > 0]
    for part in parts:
        factor = expr.coeff(part, 1)
        rest = sympy.expand(expr - factor * part)
        if not factor.is_number or rest.has(part):
            continue
        value, divisor = part.args
        upper = (factor > 0) == (side > 0)
        if isinstance(part, FloorDiv):
            limit = value / divisor if upper else (value - divisor + 1) / divisor
        else:
            limit = divisor - 1 if upper else sympy.S.Zero
        expr = sympy.expand(rest + factor * limit)
    return expr


def _age(symbol: Any) -> tuple[int, int]:
    """Return a sort key: unbacked symbols after backed ones, each in order of their numbers."""
    name = symbol.name.lstrip("suzf")
    return symbol.name.startswith(("u", "z")), int(name) if name.isdigit() else 0
