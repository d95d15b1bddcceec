"""Derivatives of functions of tensors: Jacobians, Hessians, and their products with vectors.

Everything but `jacobian` with ``strategy="forward-mode"`` is computed in reverse mode.  A
Jacobian times a vector is the gradient of a gradient: ``u -> u J`` is linear, so its derivative
along ``v`` is ``J v``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.autograd import forward_ad
from minitorch.autograd.backward import grad as gradients_of
from minitorch.autograd.grad_mode import enable_grad
from minitorch.tensor.base import TensorBase
from minitorch.tensor.operators import F

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_NEED_DIFFERENTIABLE_TEXT = (
    "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode."
)


class _Call:
    """One call of a user's function: its inputs with a history of their own, and its outputs.

    Parameters
    ----------
    name : str
        The public function, for messages.
    create_graph : bool
        Whether results are to be differentiable with respect to the inputs.
    """

    def __init__(self, name: str, func: Callable, inputs: Any, create_graph: bool, strict: bool):
        self.name = name
        self.create_graph = create_graph
        self.strict = strict
        self.one_input = not isinstance(inputs, tuple)
        self.inputs = tuple(
            [_own(tensor, create_graph) for tensor in _tensors_of(inputs, "inputs given to", name)]
        )
        outputs = func(*self.inputs)
        self.one_output = not isinstance(outputs, tuple)
        self.outputs = _tensors_of(outputs, "outputs of the user-provided function given to", name)
        if strict:
            for i, output in enumerate(self.outputs):
                if not output.requires_grad:
                    raise RuntimeError(_NEED_DIFFERENTIABLE_TEXT.format(i))

    def vector(self, v: Any, like: tuple, what: str) -> tuple:
        """Return the vector given to the public function as a tuple that fits `like`."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                raise RuntimeError(
                    f"The vector v can only be None if {what} a single Tensor with a single element."
                )
            return (F.ones_like(like[0]),)
        vectors = _tensors_of(v, "v given to", self.name)
        if len(vectors) != len(like):
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
        for vector, tensor in zip(vectors, like, strict=True):
            if vector.shape != tensor.shape:
                raise RuntimeError(f"v has invalid size: should be {tensor.shape} but got {vector.shape}.")
        return tuple([v if self.create_graph else v.detach() for v in vectors])

    def scalar(self) -> Any:
        """Return the only output, which must have one element."""
        if not self.one_output or self.outputs[0].numel() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {self.name} should contain a single element"
            )
        return self.outputs[0]

    def gradients(self, outputs: tuple, vectors: Any, create_graph: bool, text: str) -> tuple:
        """Return the gradients of `outputs` with respect to the inputs, zeros where there is none.

        Raises
        ------
        RuntimeError
            With `text`, in strict mode, for an input that nothing depends on.
        """
        return _gradients(outputs, self.inputs, vectors, create_graph, text if self.strict else None)

    def result(self, values: tuple, one: bool) -> Any:
        """Return what the user gets: one tensor or a tuple, without history unless asked for."""
        if not self.create_graph:
            values = tuple([v.detach() for v in values])
        return values[0] if one else values


def _tensors_of(value: Any, what: str, name: str) -> tuple:
    items = value if isinstance(value, tuple) else (value,)
    for i, item in enumerate(items):
        if not isinstance(item, TensorBase):
            place = f"has type {type(value)}" if item is value else f"contain {type(item)} at position {i}"
            raise TypeError(
                f"The {what} {name} must be either a Tensor or a tuple of Tensors but the given "
                f"{what.removesuffix(' given to')} {place}."
            )
    return items


def _own(tensor: Any, create_graph: bool) -> Any:
    """Return a tensor of the same elements to differentiate by."""
    own = tensor.view_as(tensor) if create_graph else tensor.detach()
    return own if own.requires_grad else own._set_requires_grad()


def _gradients(outputs: tuple, inputs: tuple, vectors: Any, create_graph: bool, text: str | None) -> tuple:
    pairs = [
        (output, None if vectors is None else vectors[i]) for i, output in enumerate(outputs) if output.requires_grad
    ]
    grads: tuple = (None,) * len(inputs)
    if pairs:
        starts = None if vectors is None else [v for _, v in pairs]
        grads = gradients_of(
            [o for o, _ in pairs], inputs, starts, retain_graph=True, create_graph=create_graph, allow_unused=True
        )
    if text is not None:
        for i, grad in enumerate(grads):
            if grad is None or (create_graph and not grad.requires_grad):
                raise RuntimeError(text.format(i))
    return tuple([F.zeros_like(x) if g is None else g for g, x in zip(grads, inputs, strict=True)])


_INDEPENDENT_TEXT = (
    "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
)
_JACOBIAN_TEXT = (
    "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True."
)
_HESSIAN_TEXT = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for example)."
)


def vjp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return ``func(*inputs)`` and the product of the vector `v` with its Jacobian.

    Parameters
    ----------
    func : callable
        Takes tensors, returns a Tensor or a tuple of Tensors.
    inputs : Tensor or tuple of Tensor
    v : Tensor or tuple of Tensor, shaped as the outputs
        May be left out for one output of one element.
    create_graph : bool
        Whether the results can be differentiated with respect to the inputs.
    strict : bool
        Raise where an output does not depend on an input, instead of giving zeros.

    Returns
    -------
    tuple of (outputs, products)
        The products have the shapes of the inputs.

    Examples
    --------
    >>> vjp(lambda x: x * x, minitorch.tensor([1.0, 2.0]), minitorch.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        call = _Call("vjp", func, inputs, create_graph, strict)
        vectors = call.vector(v, call.outputs, "the user-provided function returns")
        grads = call.gradients(call.outputs, vectors, create_graph, _INDEPENDENT_TEXT)
    return call.result(call.outputs, call.one_output), call.result(grads, call.one_input)


def jvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return ``func(*inputs)`` and the product of its Jacobian with the vector `v`.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As for `vjp`.
    v : Tensor or tuple of Tensor, shaped as the inputs
        May be left out for one input of one element.

    Returns
    -------
    tuple of (outputs, products)
        The products have the shapes of the outputs.

    Examples
    --------
    >>> jvp(lambda x: x.sum(), minitorch.tensor([1.0, 2.0]), minitorch.tensor([1.0, 10.0]))
    (tensor(3.), tensor(11.))
    """
    with enable_grad():
        call = _Call("jvp", func, inputs, create_graph, strict)
        vectors = call.vector(v, call.inputs, "the input to the user-provided function is")
        products = _jvp(call, call.outputs, vectors, _INDEPENDENT_TEXT)
    return call.result(call.outputs, call.one_output), call.result(products, call.one_output)


def _jvp(call: _Call, outputs: tuple, vectors: tuple, text: str) -> tuple:
    """Return the Jacobian of `outputs` times `vectors`, by differentiating the gradient."""
    dummies = tuple([F.zeros_like(o).requires_grad_() for o in outputs])
    grads = call.gradients(outputs, dummies, True, text)
    return _gradients(grads, dummies, vectors, call.create_graph, None)


def jacobian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the derivatives of each element of the outputs by each element of the inputs.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As for `vjp`.
    vectorize : bool
        Compute all rows or columns at once, by ``vmap``: faster, and takes the memory for all of them.
    strategy : ``"reverse-mode"`` or ``"forward-mode"``
        Row by row, or column by column: what takes fewer passes depends on the sizes.

    Returns
    -------
    Tensor, shape (*output, *input)
        In a tuple for several inputs or outputs, in a tuple of tuples for both: the outputs first.

    Examples
    --------
    >>> jacobian(lambda x: x * x, minitorch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise ValueError(f'Expected strategy to be either "forward-mode" or "reverse-mode", not {strategy!r}')
    if strategy == "forward-mode" and (create_graph or strict):
        raise NotImplementedError('jacobian: create_graph and strict need strategy="reverse-mode"')
    if strict and vectorize:
        raise RuntimeError("jacobian: `strict=True` and `vectorize=True` are not supported together.")
    with enable_grad():
        call = _Call("jacobian", func, inputs, create_graph, strict)
        if strategy == "forward-mode":
            rows = _columns_at_once(call, func) if vectorize else _columns(call, func)
        else:
            rows = tuple([_rows_at_once(call, o) if vectorize else _rows(call, o) for o in call.outputs])
    tables = tuple([call.result(row, call.one_input) for row in rows])
    return tables[0] if call.one_output else tables


def _rows(call: _Call, output: Any) -> tuple:
    """Return the Jacobian of one output, one tensor an input."""
    columns: list[list] = [[] for _ in call.inputs]
    text = _JACOBIAN_TEXT if call.create_graph else _INDEPENDENT_TEXT
    for element in output.reshape(-1).unbind(0):
        for column, grad in zip(columns, call.gradients((element,), None, call.create_graph, text), strict=True):
            column.append(grad)
    return tuple(
        [
            F.reshape(F.stack(column), [*output.shape, *x.shape])
            if column
            else F.zeros([*output.shape, *x.shape], dtype=x.dtype, device=x.device)
            for column, x in zip(columns, call.inputs, strict=True)
        ]
    )


def _rows_at_once(call: _Call, output: Any) -> tuple:
    """Return what `_rows` does, from one backward pass for all elements."""
    count = output.numel()
    if not output.requires_grad or not count:
        return tuple([F.zeros([*output.shape, *x.shape], dtype=x.dtype, device=x.device) for x in call.inputs])
    units = F.reshape(F.eye(count, dtype=output.dtype, device=output.device), [count, *output.shape])
    grads = gradients_of(
        output, call.inputs, units, retain_graph=True, create_graph=call.create_graph, allow_unused=True,
        is_grads_batched=True,
    )  # fmt: skip
    return tuple(
        [
            F.zeros([*output.shape, *x.shape], dtype=x.dtype, device=x.device)
            if grad is None
            else F.reshape(grad, [*output.shape, *x.shape])
            for grad, x in zip(grads, call.inputs, strict=True)
        ]
    )


def _columns_at_once(call: _Call, func: Callable) -> tuple:
    """Return what `_columns` does, from one run of the function."""
    from minitorch.functorch.forward import jacfwd

    if any(x.is_complex() for x in (*call.inputs, *call.outputs)):
        return _columns(call, func)  # jacfwd leaves it to its callers what the derivative of a complex function is
    found = jacfwd(func, tuple(range(len(call.inputs))))(*[x.detach() for x in call.inputs])
    return (found,) if call.one_output else tuple(found)


def _columns(call: _Call, func: Callable) -> tuple:
    """Return the Jacobians of all outputs, each one tensor an input, computed in forward mode."""
    tables: list[list] = [[] for _ in call.outputs]
    for place, x in enumerate(call.inputs):
        columns: list[list] = [[] for _ in call.outputs]
        units = F.eye(x.numel(), dtype=x.dtype, device=x.device)
        for unit in units.unbind(0):
            with forward_ad.dual_level():
                inputs = list(call.inputs)
                inputs[place] = forward_ad.make_dual(x, F.reshape(unit, list(x.shape)))
                outputs = func(*inputs)
                for column, output in zip(columns, (outputs,) if call.one_output else outputs, strict=True):
                    tangent = forward_ad.unpack_dual(output).tangent
                    column.append((F.zeros_like(output) if tangent is None else tangent).detach())
        for table, column, output in zip(tables, columns, call.outputs, strict=True):
            shape = [*output.shape, *x.shape]
            table.append(F.reshape(F.stack(column, -1), shape) if column else output.new_zeros(shape))
    return tuple([tuple(table) for table in tables])


def hessian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the second derivatives of a function with one output of one element.

    Parameters
    ----------
    func, inputs, create_graph, strict, vectorize
        As for `jacobian`.
    outer_jacobian_strategy : str
        As `strategy` of `jacobian`, for the derivative of the gradient.

    Returns
    -------
    Tensor, shape (*input, *input)
        In a tuple of tuples for several inputs.

    Examples
    --------
    >>> hessian(lambda x: (x * x * x).sum(), minitorch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    several = isinstance(inputs, tuple)

    def gradient(*tensors: Any) -> Any:
        call = _Call("hessian", func, tensors, True, strict)
        grads = call.gradients((call.scalar(),), None, True, _HESSIAN_TEXT)
        return grads if several else grads[0]

    return jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)


def vhp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return ``func(*inputs)`` and the product of the vector `v` with its Hessian.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As for `vjp`; `func` returns one element.
    v : Tensor or tuple of Tensor, shaped as the inputs
        May be left out for one input of one element.

    Examples
    --------
    >>> vhp(lambda x: (x * x * x).sum(), minitorch.tensor([1.0, 2.0]), minitorch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        call, grads, vectors = _gradient_of_scalar("vhp", func, inputs, v, create_graph, strict)
        products = call.gradients(grads, vectors, create_graph, _HESSIAN_TEXT)
    return call.result(call.outputs, True), call.result(products, call.one_input)


def hvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """Return ``func(*inputs)`` and the product of its Hessian with the vector `v`.

    `vhp` gives the same numbers, Hessians being symmetric, and takes half the time.

    Parameters
    ----------
    func, inputs, v, create_graph, strict
        As for `vhp`.

    Examples
    --------
    >>> hvp(lambda x: (x * x * x).sum(), minitorch.tensor([1.0, 2.0]), minitorch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        call, grads, vectors = _gradient_of_scalar("hvp", func, inputs, v, create_graph, strict)
        products = _jvp(call, grads, vectors, _HESSIAN_TEXT)
    return call.result(call.outputs, True), call.result(products, call.one_input)


def _gradient_of_scalar(
    name: str, func: Callable, inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[_Call, tuple, tuple]:
    call = _Call(name, func, inputs, create_graph, strict)
    output = call.scalar()
    vectors = call.vector(v, call.inputs, "the input to the user-provided function is")
    return call, call.gradients((output,), None, True, _HESSIAN_TEXT), vectors
