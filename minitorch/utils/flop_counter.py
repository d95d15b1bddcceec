"""`FlopCounterMode`: count the floating point operations of matrix products, convolutions and attention.

A multiplication and the addition that goes with it count as two; element-wise operators, reductions
and copies as none.  What is counted is what reaches the backends, so backward counts too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from minitorch.dispatch.namespace import OpOverload, OpOverloadPacket, ops
from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.utils.module_tracker import ModuleTracker

# ``formula(*args, out=result, **kwargs) -> int``, by the operator's packet.
Formula = Callable[..., int]
flop_registry: dict[OpOverloadPacket, Formula] = {}


def register_flop_formula(targets: OpOverloadPacket | Sequence[OpOverloadPacket]) -> Callable[[Formula], Formula]:
    """Register the decorated function as how operations of operators are counted, everywhere.

    It gets the arguments of a call, and its result as ``out``.
    """

    def register(formula: Formula) -> Formula:
        for target in (targets,) if isinstance(targets, OpOverloadPacket) else targets:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(f"register_flop_formula: expected operators such as ops.aten.mm, not {target!r}")
            flop_registry[target] = formula
        return formula

    return register


@register_flop_formula(ops.aten.mm)
def mm_flops(self: Any, mat2: Any, *, out: Any) -> int:
    """Return the count of a matrix product."""
    rows, inner = self.shape
    return 2 * rows * inner * mat2.shape[1]


@register_flop_formula([ops.aten.addmm])
def addmm_flops(self: Any, mat1: Any, mat2: Any, *, out: Any, **kwargs: Any) -> int:
    """Return the count of a matrix product; what is added to it counts as nothing."""
    return mm_flops(mat1, mat2, out=out)


@register_flop_formula(ops.aten.bmm)
def bmm_flops(self: Any, mat2: Any, *, out: Any) -> int:
    """Return the count of a batch of matrix products."""
    batch, rows, inner = self.shape
    return 2 * batch * rows * inner * mat2.shape[2]


@register_flop_formula([ops.aten.baddbmm, ops.aten.addbmm])
def baddbmm_flops(self: Any, batch1: Any, batch2: Any, *, out: Any, **kwargs: Any) -> int:
    """Return the count of a batch of matrix products that is added to something."""
    return bmm_flops(batch1, batch2, out=out)


@register_flop_formula(ops.aten.linear)
def linear_flops(input: Any, weight: Any, bias: Any = None, *, out: Any) -> int:
    """Return the count of rows multiplied by a transposed matrix."""
    return 2 * input.numel() * weight.shape[0]


def _convolution_flops(wide: Any, weight: Any) -> int:
    """Count the products of a convolution: of each element of the wide side with a slice of the filters.

    `wide` is the output, of a transposed convolution the input: for each of its elements there
    is one product for each element of the filters that belong to its channel.
    """
    return 2 * prod(wide) * prod(weight[1:])


@register_flop_formula([ops.aten.convolution, ops.aten._convolution])
def convolution_flops(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    *rest: Any,
    out: Any,
) -> int:
    """Return the count of a convolution."""
    return _convolution_flops(input.shape if transposed else out.shape, weight.shape)


@register_flop_formula(ops.aten.convolution_backward)
def convolution_backward_flops(
    grad_output: Any,
    input: Any,
    weight: Any,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Sequence[bool],
    *,
    out: Any,
) -> int:
    """Return the count of the gradients asked for: each takes the products of the convolution once more."""
    once = _convolution_flops(input.shape if transposed else grad_output.shape, weight.shape)
    return once * (bool(output_mask[0]) + bool(output_mask[1]))


def _attention_products(query: Any, key: Any, value: Any) -> tuple[int, int]:
    """Return the counts of ``query @ key.T`` and of a product of that with `value`."""
    *batch, rows, size = query.shape
    pairs = prod(batch) * rows * key.shape[-2]
    return 2 * pairs * size, 2 * pairs * value.shape[-1]


@register_flop_formula(ops.aten._scaled_dot_product_flash_attention_for_cpu)
def attention_flops(query: Any, key: Any, value: Any, *args: Any, out: Any, **kwargs: Any) -> int:
    """Return the count of attention: two products."""
    return sum(_attention_products(query, key, value))


@register_flop_formula(ops.aten._scaled_dot_product_flash_attention_for_cpu_backward)
def attention_backward_flops(
    grad_out: Any, query: Any, key: Any, value: Any, *args: Any, out: Any, **kwargs: Any
) -> int:
    """Return the count of the gradients of attention: five products, one of them the scores once more."""
    scores, mixed = _attention_products(query, key, value)
    return 3 * scores + 2 * mixed


class FlopCounterMode(TorchDispatchMode):
    """Scope in which floating point operations are counted, for each module and in all.

    Parameters
    ----------
    depth : int
        How many levels of submodules the table shows.
    display : bool
        Whether to print the table when the scope ends.
    custom_mapping : dict, optional
        Formulas of this counter alone: packet to ``formula(*args, out=result, **kwargs)``.

    Examples
    --------
    >>> counter = FlopCounterMode(display=False)
    >>> with counter:
    ...     y = minitorch.ones(2, 3) @ minitorch.ones(3, 4)
    >>> counter.get_total_flops()
    48
    """

    def __init__(
        self, *, depth: int = 2, display: bool = True, custom_mapping: dict[OpOverloadPacket, Formula] | None = None
    ):
        self.depth = depth
        self.display = display
        self.formulas = {**flop_registry, **(custom_mapping or {})}
        self.flop_counts: dict[str, dict[OpOverloadPacket, int]] = {}
        self._tracker = ModuleTracker()

    def get_total_flops(self) -> int:
        """Return how many operations were counted."""
        return sum(self.flop_counts.get("Global", {}).values())

    def get_flop_counts(self) -> dict[str, dict[OpOverloadPacket, int]]:
        """Return the counts by module (``"Global"`` is all of them), then by operator."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Return the counts as text, a line for each module and operator."""
        depth = self.depth if depth is None else depth
        rows = [("Module", "FLOP", "% Total")]
        total = self.get_total_flops()
        names = ["Global", *sorted(name for name in self.flop_counts if name != "Global")]
        for name in names:
            level = 0 if name == "Global" else name.count(".") + 1
            counts = self.flop_counts.get(name, {})
            if level > depth:
                continue
            lines = [(" " * level + name, sum(counts.values()))]
            lines += [(f"{' ' * level} - {packet}", count) for packet, count in counts.items()]
            rows += [(text, f"{count:,}", f"{count / total if total else 0:.2%}") for text, count in lines]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        return "\n".join(
            f"{name:<{widths[0]}}  {count:>{widths[1]}}  {share:>{widths[2]}}" for name, count, share in rows
        )

    def __enter__(self) -> Any:
        self.flop_counts.clear()
        self._tracker.__enter__()
        return super().__enter__()

    def __exit__(self, *exc_info: Any) -> None:
        super().__exit__(*exc_info)
        self._tracker.__exit__(*exc_info)
        if self.display:
            print(self.get_table())

    def __torch_dispatch__(self, func: OpOverload, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        result = func(*args, **keywords)
        formula = self.formulas.get(func.overloadpacket)
        if formula is not None:
            rest = {name: value for name, value in keywords.items() if name != "out"}
            count = formula(*args, **rest, out=result)
            for name in dict.fromkeys((*self._tracker.path, *self._tracker.backward_path)):
                counts = self.flop_counts.setdefault(name, {})
                counts[func.overloadpacket] = counts.get(func.overloadpacket, 0) + count
        return result
