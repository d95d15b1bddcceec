"""Views of quantized tensors: they share the integers, and their channels follow.

Note [Channels of a view]
    Where a view has its channels is found with strides alone.  A meta tensor of the shape is made that has a stride of 1 along
    the axis of the channels and 0 along all others: its element is the number of the channel.  The view of it has a stride along
    the axis that has the channels now, its step says which of them are left, and its offset where they begin.
"""

from __future__ import annotations

from typing import Any

from minitorch.core.memory_format import contiguous_format
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops import functions as F
from minitorch.ops.assemble import is_view
from minitorch.ops.registry import DECLARATIONS
from minitorch.quantized.handle import PerChannel, PerTensor, ints_of, wrap
from minitorch.quantized.registry import KERNELS, quantized_kernel

# Views that read memory as something else, or are of other kinds of tensors.
_NOT_FOR_QUANTIZED = (
    "view.dtype", "view_as_real", "view_as_complex", "real", "imag", "_conj", "_neg_view", "_view_as_real_physical",
    "values", "indices", "_values", "_indices", "crow_indices", "col_indices", "ccol_indices", "row_indices",
    "_reshape_alias", "lift_fresh", "_fw_primal", "_make_dual", "_unpack_dual",
)  # fmt: skip


def _channel_numbers(shape: tuple, axis: int) -> Any:
    base = F.empty([max(shape[axis], 1)], device="meta")
    return F.as_strided(base, list(shape), [1 if i == axis else 0 for i in range(len(shape))])


def _params_of_view(name: str, params: PerChannel, numbers: Any) -> PerTensor | PerChannel:
    """Return the parameters of a view, from the view of the numbers of the channels."""
    strides = numbers.stride()
    first = numbers.storage_offset()
    axes = [i for i, step in enumerate(strides) if step and numbers.shape[i] > 1]
    if len(axes) > 1:
        raise _lost(name, params)
    if not axes:  # one channel is left: any axis of size 1 will do
        axes = [i for i, step in enumerate(strides) if step][:1]
    if not axes:
        # A view of one channel; torch has one scale for it as well.
        zero_point = params.zero_points[first].item()
        if params.float_qparams:
            raise _lost(name, params)
        return PerTensor(float(params.scales[first].item()), int(zero_point))
    axis = axes[0]
    count = numbers.shape[axis]
    step = strides[axis] if count > 1 else 1
    if first == 0 and step == 1 and count == params.scales.shape[0]:
        return PerChannel(params.scales, params.zero_points, axis)
    stop = first + step * (count - 1) + 1 if count else first
    return PerChannel(
        F.slice(params.scales, 0, first, stop, step), F.slice(params.zero_points, 0, first, stop, step), axis
    )


def _lost(name: str, params: PerChannel) -> RuntimeError:
    return RuntimeError(
        f"{name}: the view has no axis of channels any more: the tensor has {params.scales.shape[0]} scales along axis "
        f"{params.axis}, which the view splits or joins with others. dequantize() first, or requantize with one scale"
    )


def _view_kernel(name: str) -> Any:
    op = OPERATORS["aten::" + name]

    def quantized_view_kernel(self: Any, *args: Any, **kwargs: Any) -> Any:
        handle = self.handle
        ints = ints_of(self, name)
        made = op.call((ints, *args), kwargs or None)
        params = handle.params
        several = isinstance(made, (list, tuple))
        items = list(made) if several else [made]
        if isinstance(params, PerChannel):
            if name in ("as_strided", "as_strided_"):
                raise _lost(name, params)
            try:
                numbers = op.call((_channel_numbers(handle.shape, params.axis), *args), kwargs or None)
            except RuntimeError:
                raise _lost(name, params) from None
            followed = [_params_of_view(name, params, n) for n in (numbers if several else [numbers])]
        else:
            followed = [params] * len(items)
        results = [wrap(i, p, handle.qdtype) for i, p in zip(items, followed, strict=True)]
        for result in results:
            result.handle.of_others = True
        return results if several else results[0]

    return quantized_view_kernel


def _register_views() -> None:
    for name, declaration in DECLARATIONS.items():
        if is_view(declaration) and declaration.kind == "functional" and name not in _NOT_FOR_QUANTIZED:
            op = OPERATORS["aten::" + name]
            if "CompositeImplicitAutograd" not in op.kernels and name not in KERNELS:
                quantized_kernel(name)(_view_kernel(name))


@quantized_kernel("detach", "alias", "lift_fresh")
def alias_kernel(self):
    # The same handle: parameters that one takes over (`copy_`) are those of the other.
    result = self.handle.tensor()
    result.version_counter = self.counter_of()
    return result


_register_views()


@quantized_kernel("view.dtype")
def view_dtype_kernel(self, dtype):
    if dtype is self.dtype:
        return F.alias(self)
    raise RuntimeError(
        f"view: the integers of a quantized tensor ({self.dtype.name}) are not read as {dtype.name}: use int_repr(), or "
        "dequantize()"
    )


def _copy_kernel(name: str) -> Any:
    op = OPERATORS["aten::" + name]

    def copied_view_kernel(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = op.call((self, *args), kwargs or None)
        if isinstance(made, (list, tuple)):
            return [F.clone(view, memory_format=contiguous_format) for view in made]
        return F.clone(made, memory_format=contiguous_format)

    return copied_view_kernel


# As views, their channels follow.
for _name, _copied in {
    "permute": "permute_copy", "transpose.int": "transpose_copy.int", "view": "view_copy", "expand": "expand_copy",
    "slice.Tensor": "slice_copy.Tensor", "select.int": "select_copy.int", "unsqueeze": "unsqueeze_copy",
    "squeeze": "squeeze_copy", "squeeze.dim": "squeeze_copy.dim", "as_strided": "as_strided_copy", "unfold": "unfold_copy",
    "t": "t_copy", "diagonal": "diagonal_copy", "detach": "detach_copy", "alias": "alias_copy",
    "unbind.int": "unbind_copy.int", "split.Tensor": "split_copy.Tensor",
}.items():  # fmt: skip
    quantized_kernel(_copied)(_copy_kernel(_name))


@quantized_kernel("_unsafe_view")
def unsafe_view_kernel(self, size):
    return F.view(self, size)
