"""`gradcheck` and `gradgradcheck`: gradients against differences of function values.

Note [Gradients of complex numbers]
    The gradient of a real ``s`` by a complex ``z = x + iy`` is ``ds/dx + i ds/dy``, so that a
    step against it goes downhill.  A complex output counts as two real ones.

Note [Slow and fast]
    Slow mode compares whole Jacobians: two evaluations for each element of the inputs, one
    backward for each element of the outputs.  Fast mode compares ``v J u`` for a random input
    direction ``u`` and output weights ``v``: two evaluations and one backward in all.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.autograd import forward_ad
from minitorch.autograd.backward import grad as gradients_of
from minitorch.autograd.function import Function
from minitorch.core.layout import strided
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase
from minitorch.tensor.creation import tensor as make_from
from minitorch.testing.creation import make_tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A gradient is wrong; the text says which, with both its values."""


_REENTRANT_TEXT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
    "values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism was {}. If the "
    "operations are nondeterministic on purpose, pass a larger nondet_tol."
)
_FORWARD_TEXT = "Forward mode: "
_FAST_TEXT = (
    "\n\nThe above quantities relating the numerical and analytical jacobians are computed in fast mode. Recomputed in slow "
    "mode:\n\nNumerical:\n{}\nAnalytical:\n{}\n\nThe max per-element difference (slow mode) is: {}.\n"
)


def _as_tuple(value: Any) -> tuple:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _is_differentiable(value: Any) -> bool:
    return isinstance(value, TensorBase) and value.requires_grad  # type: ignore[attr-defined]


def _array(tensor: Any) -> Any:
    """Return a tensor's elements as a flat array of double precision."""
    tensor = _dense(tensor)
    handle = tensor.numpy(force=True)
    return handle.astype(np.complex128 if handle.dtype.kind == "c" else np.float64).reshape(-1)


def _is_sparse(tensor: Any) -> bool:
    return isinstance(tensor, TensorBase) and tensor.layout is not strided


def _dense(tensor: Any) -> Any:
    return F.to_dense(F.detach(tensor)) if _is_sparse(tensor) else tensor


def _specified(tensor: Any) -> Any:
    """Return the tensor whose elements are stepped through: of a sparse one its values, which may be changed in place."""
    data = tensor.data
    return data.handle.components()[-1].data if _is_sparse(data) else data


def _fully_specified(value: Any) -> Any:
    """Return a sparse tensor with an entry for each of its elements; anything else as it is."""
    if not _is_sparse(value):
        return value
    from minitorch.autograd.derivatives.sparse import in_layout_of

    detached = F.detach(value)
    dense = F.to_dense(detached)
    return F.sparse_mask(dense, in_layout_of(F.ones_like(dense), detached)).requires_grad_(value.requires_grad)


def _places(tensor: Any) -> Any:
    """Return where each element of `_specified` stands among those of the tensor, both counted row by row."""
    if not _is_sparse(tensor):
        return np.arange(tensor.numel())
    from minitorch.sparse.lookup import element_positions

    positions = element_positions(tensor.detach()).numpy(force=True)
    values = _specified(tensor)
    inner = math.prod(tensor.shape[tensor.ndim - F.dense_dim(tensor) :])
    return (positions[:, None] * inner + np.arange(inner)).reshape(-1) if values.numel() else positions[:0]


class _Part:
    """One differentiable output, or the real or imaginary part of one."""

    def __init__(self, index: int, number: int, name: str):
        self.index = index  # among all outputs
        self.number = number  # among the differentiable ones
        self.name = name  # "", "real" or "imaginary"

    def of(self, outputs: tuple) -> Any:
        output = outputs[self.index]
        if self.name == "":
            return output
        return F.real(output) if self.name == "real" else F.imag(output)

    def explain(self, text: str) -> str:
        if self.name == "":
            return text
        return f"While considering the {self.name} part of complex outputs only, {text}"


class _Check:
    """One run of `gradcheck`."""

    def __init__(
        self, func: Callable, inputs: tuple, eps: float, atol: float, rtol: float, nondet_tol: float, masked: bool = False
    ):
        self.func, self.masked = func, masked
        self.inputs = inputs
        # What the differences are taken of: elements that are not specified have gradients too, unless they are masked.
        self.stepped = inputs if masked else tuple(map(_fully_specified, inputs))
        self.wanted = [i for i, value in enumerate(inputs) if _is_differentiable(value)]
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol

    def outputs(self) -> tuple:
        return _as_tuple(self.func(*self.inputs))

    def parts(self, outputs: tuple) -> list[_Part]:
        result = []
        number = 0
        for index, output in enumerate(outputs):
            if _is_differentiable(output):
                for name in ("real", "imaginary") if output.dtype.is_complex else ("",):
                    result.append(_Part(index, number, name))
                number += 1
        return result

    def differentiable(self, outputs: tuple) -> list:
        return [output for output in outputs if _is_differentiable(output)]

    # -- numerical ---------------------------------------------------------------------

    def values(self, parts: list[_Part]) -> list:
        """Return copies of all parts of the outputs, one flat array each."""
        outputs = _as_tuple(self.func(*self.stepped))
        return [_array(part.of(outputs)).copy() for part in parts]

    def difference(self, data: Any, index: tuple, step: Any, parts: list[_Part]) -> list:
        """Return the central differences by one element of an input."""
        old = data[index].item()
        data[index] = old + step
        above = self.values(parts)
        data[index] = old - step
        below = self.values(parts)
        data[index] = old
        return [(a - b) / (2 * self.eps) for a, b in zip(above, below, strict=True)]

    def numerical(self, place: int, parts: list[_Part]) -> list:
        """Return the Jacobians of all parts by one input: (input elements, output elements)."""
        tensor = self.stepped[place]
        data = _specified(tensor)
        indices = list(itertools.product(*[range(n) for n in data.shape]))
        rows: list[list] = [[] for _ in parts]
        for index in indices:
            steps = self.difference(data, index, self.eps, parts)
            if data.dtype.is_complex:
                imaginary = self.difference(data, index, self.eps * 1j, parts)
                steps = [x + 1j * y for x, y in zip(steps, imaginary, strict=True)]
            for row, step in zip(rows, steps, strict=True):
                row.append(step)
        if not rows or not indices:
            sizes = [len(values) for values in self.values(parts)]
            return [np.zeros((0, size)) for size in sizes]
        if not _is_sparse(tensor):
            return [np.array(row) for row in rows]
        # Elements that are not specified are not changed: their differences are 0.
        whole = [np.zeros((tensor.numel(), len(row[0])), np.array(row).dtype) for row in rows]
        for jacobian, row in zip(whole, rows, strict=True):
            jacobian[_places(tensor)] = row
        return whole

    # -- analytical --------------------------------------------------------------------

    def gradients(self, outputs: list, grads: list, create_graph: bool = False) -> list:
        inputs = [self.inputs[i] for i in self.wanted]
        return list(gradients_of(outputs, inputs, grads, True, create_graph, allow_unused=True))

    def analytical(self, outputs: tuple, part: _Part) -> list:
        """Return the Jacobians of one part by all inputs, as `numerical` does."""
        output = part.of(outputs)
        columns: list[list] = [[] for _ in self.wanted]
        weights = F.zeros_like(output)
        for index in itertools.product(*[range(n) for n in output.shape]):
            weights[index] = 1
            # A copy: the function may keep or change what it is given.
            grads = self.gradients([output], [weights.clone()])
            weights[index] = 0
            for column, place, grad in zip(columns, self.wanted, grads, strict=True):
                self.check_shape(grad, self.inputs[place])
                column.append(np.zeros(self.inputs[place].numel()) if grad is None else _array(grad))
        return [
            self.in_mask(np.stack(column, 1), place) if column else np.zeros((self.inputs[place].numel(), 0))
            for column, place in zip(columns, self.wanted, strict=True)
        ]

    def in_mask(self, jacobian: Any, place: int) -> Any:
        """Return a Jacobian with zeros for what a sparse input does not specify, if that is not to be looked at."""
        if not self.masked or not _is_sparse(self.inputs[place]):
            return jacobian
        kept = np.zeros_like(jacobian)
        places = _places(self.inputs[place])
        kept[places] = jacobian[places]
        return kept

    def check_shape(self, grad: Any, tensor: Any) -> None:
        if grad is not None and grad.shape != tensor.shape:
            raise GradcheckError(f"grad is incorrect size: it has shape {grad.shape}, its input {tensor.shape}")

    # -- checks ------------------------------------------------------------------------

    def close(self, found: Any, expected: Any) -> bool:
        return bool(np.allclose(found, expected, rtol=self.rtol, atol=self.atol))

    def check_constant(self, outputs: tuple) -> None:
        """No output requires a gradient: then none may depend on the inputs."""
        parts = [
            _Part(i, i, name)
            for i, output in enumerate(outputs)
            if isinstance(output, TensorBase)
            for name in (("real", "imaginary") if output.dtype.is_complex else ("",))
        ]
        for place in self.wanted:
            for jacobian in self.numerical(place, parts):
                if not np.all(np.abs(jacobian) <= self.atol):
                    raise GradcheckError("Numerical gradient for function expected to be zero")

    def check_slow(self, outputs: tuple) -> None:
        parts = self.parts(outputs)
        expected = {place: self.numerical(place, parts) for place in self.wanted}
        for number, part in enumerate(parts):
            found = self.analytical(outputs, part)
            again = self.analytical(outputs, part)
            for i, place in enumerate(self.wanted):
                if found[i].shape != expected[place][number].shape:
                    raise GradcheckError(
                        f"output {part.number} has another size where the sparse inputs have an entry for each element: pass "
                        "masked=True, or return to_dense() of it"
                    )
                if not self.close(found[i], expected[place][number]):
                    raise GradcheckError(part.explain(self.mismatch(part, place, expected[place][number], found[i])))
            for one, other in zip(found, again, strict=True):
                self.check_same(one, other)

    def check_fast(self, outputs: tuple) -> None:
        random = np.random.default_rng(0)
        parts = self.parts(outputs)
        weights = [_unit(random, part.of(outputs).numel()) for part in parts]
        starts = [
            F.reshape(_like(part.of(outputs), weight), list(part.of(outputs).shape))
            for part, weight in zip(parts, weights, strict=True)
        ]
        found = [self.gradients([part.of(outputs)], [start]) for part, start in zip(parts, starts, strict=True)]
        again = [self.gradients([part.of(outputs)], [start]) for part, start in zip(parts, starts, strict=True)]
        for i, place in enumerate(self.wanted):
            tensor = self.inputs[place]
            values = _specified(self.stepped[place])
            step = _unit(random, values.numel(), tensor.dtype.is_complex)
            differences = self.along(values, F.reshape(_like(tensor, step), list(values.shape)), parts)
            direction = np.zeros(tensor.numel(), step.dtype)
            np.add.at(direction, _places(self.stepped[place]), step)
            for number, part in enumerate(parts):
                expected = float(np.dot(differences[number], weights[number]))
                first, second = found[number][i], again[number][i]
                self.check_shape(first, tensor)
                value = 0.0 if first is None else float(np.real(np.vdot(_array(first), direction)))
                if not self.close(value, expected):
                    text = self.mismatch(part, place, expected, value)
                    slow = self.numerical(place, parts)[number], self.analytical(outputs, part)[i]
                    text += _FAST_TEXT.format(*slow, np.abs(slow[0] - slow[1]).max(initial=0))
                    raise GradcheckError(part.explain(text))
                if first is not None and second is not None:
                    self.check_same(_array(first), _array(second))

    # -- forward mode ------------------------------------------------------------------

    def tangents(self, place: int, direction: Any, parts: list[_Part]) -> list:
        """Return the tangents of all parts for one input's tangent, one flat array each."""
        with forward_ad.dual_level():
            inputs = list(self.inputs)
            inputs[place] = forward_ad.make_dual(inputs[place], direction)
            unpacked = [
                forward_ad.unpack_dual(output) if isinstance(output, TensorBase) else None
                for output in _as_tuple(self.func(*inputs))
            ]
        found = []
        for part in parts:
            primal, tangent = unpacked[part.index]
            if tangent is None:
                tangent = F.zeros_like(primal)
            if tangent.shape != primal.shape or tangent.dtype is not primal.dtype:
                raise GradcheckError(
                    f"tangent of output {part.number} is incorrect: it has shape {tangent.shape} and dtype "
                    f"{tangent.dtype}, its output {primal.shape} and {primal.dtype}"
                )
            values = _array(tangent)
            found.append({"": values, "real": values.real, "imaginary": values.imag}[part.name])
        return found

    def forward(self, place: int, parts: list[_Part]) -> list:
        """Return the Jacobians of all parts by one input in forward mode, as `numerical` does."""
        tensor = self.inputs[place]
        unit = F.zeros_like(tensor.detach())
        rows: list[list] = [[] for _ in parts]
        for index in itertools.product(*[range(n) for n in tensor.shape]):
            unit[index] = 1
            steps = self.tangents(place, unit.clone(), parts)
            if tensor.is_complex():
                unit[index] = 1j
                imaginary = self.tangents(place, unit.clone(), parts)
                steps = [x + 1j * y for x, y in zip(steps, imaginary, strict=True)]
            unit[index] = 0
            for row, step in zip(rows, steps, strict=True):
                row.append(step)
        if not tensor.numel():
            return [np.zeros((0, len(values))) for values in self.values(parts)]
        return [np.array(row) for row in rows]

    def check_forward_slow(self, outputs: tuple) -> None:
        parts = self.parts(outputs)
        for place in self.wanted:
            expected, found = self.numerical(place, parts), self.forward(place, parts)
            for part, one, other in zip(parts, found, expected, strict=True):
                if not self.close(one, other):
                    text = self.mismatch(part, place, other, one)
                    raise GradcheckError(part.explain(_FORWARD_TEXT + text))

    def check_forward_fast(self, outputs: tuple) -> None:
        random = np.random.default_rng(0)
        parts = self.parts(outputs)
        weights = [_unit(random, part.of(outputs).numel()) for part in parts]
        for place in self.wanted:
            tensor = self.inputs[place]
            direction = _unit(random, tensor.numel(), tensor.dtype.is_complex)
            step = F.reshape(_like(tensor, direction), list(tensor.shape))
            differences = self.along(self.stepped[place].data, step, parts)
            for part, weight, one, other in zip(
                parts, weights, self.tangents(place, step, parts), differences, strict=True
            ):
                value, expected = float(np.dot(one, weight)), float(np.dot(other, weight))
                if not self.close(value, expected):
                    raise GradcheckError(part.explain(_FORWARD_TEXT + self.mismatch(part, place, expected, value)))

    def along(self, data: Any, direction: Any, parts: list[_Part]) -> list:
        """Return the central differences of all parts along a direction of what `data` shows of one input."""
        old = data.clone()
        step = direction * self.eps
        try:
            data.copy_(old + step)
            above = self.values(parts)
            data.copy_(old - step)
            below = self.values(parts)
        finally:
            data.copy_(old)
        return [(a - b) / (2 * self.eps) for a, b in zip(above, below, strict=True)]

    def mismatch(self, part: _Part, place: int, expected: Any, found: Any) -> str:
        return (
            f"Jacobian mismatch for output {part.number} with respect to input {self.wanted.index(place)},\n"
            f"numerical:{expected}\nanalytical:{found}\n"
        )

    def check_same(self, one: Any, other: Any) -> None:
        if np.abs(one - other).max(initial=0) > self.nondet_tol:
            raise GradcheckError(_REENTRANT_TEXT.format(self.nondet_tol))

    def check_zero_weights(self, check_dtypes: bool) -> None:
        """Zero gradients of the outputs must give zero gradients of the inputs."""
        outputs = self.differentiable(self.outputs())
        grads = self.gradients(outputs, [F.zeros_like(output) for output in outputs])
        if not any(grad is not None for grad in grads):
            raise GradcheckError("no Tensors requiring grad found in input: no gradient reached any of them")
        for place, grad in zip(self.wanted, grads, strict=True):
            if grad is None:
                continue
            tensor = self.inputs[place]
            self.check_shape(grad, tensor)
            if _is_sparse(tensor) and _is_sparse(grad) and grad.layout is not tensor.layout:
                raise GradcheckError(f"grad is not {tensor.layout} tensor: its layout is {grad.layout}")
            if np.any(_array(grad) != 0):
                raise GradcheckError("backward not multiplied by grad_output")
            if grad.device != tensor.device:
                raise GradcheckError(f"grad is on incorrect device: {grad.device}, its input on {tensor.device}")
            if check_dtypes and grad.dtype is not tensor.dtype:
                raise GradcheckError(f"grad is incorrect type: {grad.dtype}, its input {tensor.dtype}")

    def check_undefined(self) -> None:
        """Backward functions must cope with gradients that are not there."""
        count = len(self.differentiable(self.outputs()))
        choices = [tuple(range(count))] + ([(i,) for i in range(count)] if count > 1 else [])
        for undefined in choices:
            outputs = self.differentiable(self.outputs())
            cut = [_Undefined.apply(o) if i in undefined else o for i, o in enumerate(outputs)]
            try:
                grads = self.gradients(cut, [F.ones_like(output) for output in cut])
            except Exception as error:
                raise GradcheckError(
                    "Expected backward function to handle undefined output grads: a gradient may be None where an output "
                    "is not used."
                ) from error
            if len(undefined) == count:
                for grad in grads:
                    if grad is not None and np.any(_array(grad) != 0):
                        raise GradcheckError(
                            "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
                        )

    def check_batched(self) -> None:
        """A batch of backward passes at once must give what they give one by one."""
        outputs = self.differentiable(self.outputs())
        batch = [
            make_tensor(2, *output.shape, dtype=output.dtype, device=output.device, low=-1, high=1)
            for output in outputs
        ]
        inputs = [self.inputs[i] for i in self.wanted]
        found = gradients_of(outputs, inputs, batch, True, allow_unused=True, is_grads_batched=True)
        for row in range(2):
            expected = self.gradients(outputs, [b[row] for b in batch])
            for one, other in zip(found, expected, strict=True):
                if (one is None) != (other is None) or (
                    other is not None and not self.close(_array(one[row]), _array(other))
                ):
                    raise GradcheckError("For is_grads_batched=True, gradients differ from those computed one by one")


class _Undefined(Function):
    """The identity with a backward that gives no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None


def _unit(random: Any, count: int, is_complex: bool = False) -> Any:
    """Return a random vector of length 1."""
    vector = random.standard_normal(count) + (1j * random.standard_normal(count) if is_complex else 0)
    return vector / (np.linalg.norm(vector) or 1)


def _like(tensor: Any, vector: Any) -> Any:
    return make_from(vector, dtype=tensor.dtype, device=tensor.device)


def _check_inputs(inputs: tuple) -> None:
    wanted = [(i, value) for i, value in enumerate(inputs) if _is_differentiable(value)]
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for i, tensor in wanted:
        if tensor.dtype.name not in ("float64", "complex128"):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex.",
                UserWarning,
                stacklevel=4,
            )
        content = _specified(tensor) if _is_sparse(tensor) else tensor
        steps = zip(content.stride(), content.shape, strict=True)
        if content.numel() and any(step == 0 and n > 1 for step, n in steps):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping "
                "to be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
                "passing it to gradcheck."
            )


def gradcheck(
    func: Callable,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Return whether the gradients of a function agree with differences of its values.

    Parameters
    ----------
    func : callable
        Takes the inputs, returns a Tensor or a sequence of Tensors.
    inputs : Tensor or sequence
        Those that require grad are checked; they should be of double precision.
    eps : float
        Step of the central differences, as large as the inputs' values are near 1.
    atol, rtol : float
        Tolerances of the comparison.
    raise_exception : bool
        Raise instead of returning False.
    nondet_tol : float
        How much two backward passes may differ.
    check_undefined_grad : bool
        Check that gradients may be missing.
    check_grad_dtypes : bool
        Check that gradients have the dtype of their inputs.
    check_batched_grad : bool
        Check ``grad(..., is_grads_batched=True)``.
    check_forward_ad : bool
        Check tangents in forward mode too.
    check_batched_forward_grad : bool
        Tangents cannot be batched: NotImplementedError.
    check_backward_ad : bool
        Check gradients.
    fast_mode : bool
        Note [Slow and fast].
    masked : bool, optional
        Do not look at the gradient of what a sparse input does not specify.  Otherwise it is checked as that of any element:
        the differences are taken of inputs with an entry everywhere.

    Raises
    ------
    GradcheckError
        If a gradient is wrong.
    ValueError
        If no input requires grad.

    Examples
    --------
    >>> x = minitorch.tensor([0.5, 1.5], dtype=minitorch.float64, requires_grad=True)
    >>> gradcheck(lambda t: t.sin() * t, (x,))
    True
    """
    if check_batched_forward_grad:
        raise NotImplementedError("gradcheck: tangents cannot be batched, so batches of them cannot be checked")
    if not check_backward_ad and not check_forward_ad:
        raise ValueError("gradcheck: nothing to check; check_backward_ad and check_forward_ad are False")
    inputs = _as_tuple(inputs)
    try:
        _check_inputs(inputs)
        check = _Check(func, inputs, eps, atol, rtol, nondet_tol, bool(masked))
        outputs = check.outputs()
        if any(map(_is_sparse, outputs)):
            raise ValueError(
                "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of fn for "
                "gradcheck."
            )
        if not check.differentiable(outputs):
            check.check_constant(outputs)
            return True
        if check_forward_ad:
            if fast_mode:
                check.check_forward_fast(outputs)
            else:
                check.check_forward_slow(outputs)
        if not check_backward_ad:
            return True
        if fast_mode:
            check.check_fast(outputs)
        else:
            check.check_slow(outputs)
        if check_batched_grad:
            check.check_batched()
        check.check_zero_weights(check_grad_dtypes)
        if check_undefined_grad:
            check.check_undefined()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Return whether the second derivatives of a function agree with differences of its gradients.

    Parameters
    ----------
    func, inputs
        As for `gradcheck`.
    grad_outputs : Tensor or sequence of Tensor, optional
        Gradients of the outputs; random ones when omitted.
    gen_non_contig_grad_outputs : bool
        Give the random ones gaps in memory.
    check_fwd_over_rev : bool
        Check the gradient's tangents in forward mode.
    check_rev_over_rev : bool
        Check the gradient's gradients.
    eps, atol, rtol, raise_exception, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad
        As for `gradcheck`, here of the gradient.
    fast_mode, masked
        As for `gradcheck`.

    Examples
    --------
    >>> x = minitorch.tensor([0.5, 1.5], dtype=minitorch.float64, requires_grad=True)
    >>> gradgradcheck(lambda t: t.sin() * t, (x,))
    True
    """
    if not check_rev_over_rev and not check_fwd_over_rev:
        raise ValueError("gradgradcheck: nothing to check; check_rev_over_rev and check_fwd_over_rev are False")
    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        outputs = [output for output in _as_tuple(func(*inputs)) if _is_differentiable(output)]
        starts: Sequence = [_random_gradient(output, gen_non_contig_grad_outputs) for output in outputs]
    else:
        starts = _as_tuple(grad_outputs)
    count = len(starts)

    def gradient(*arguments: Any) -> tuple:
        own, grads = arguments[: len(arguments) - count], arguments[len(arguments) - count :]
        wanted = [value for value in own if _is_differentiable(value)]
        outputs = [output for output in _as_tuple(func(*own)) if _is_differentiable(output)]
        found = gradients_of(outputs, wanted, grads, create_graph=True, allow_unused=True)
        return tuple([F.to_dense(grad) if _is_sparse(grad) else grad for grad in found if grad is not None])

    return gradcheck(
        gradient, (*inputs, *starts), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode, masked=masked,
    )


def _random_gradient(output: Any, noncontiguous: bool) -> Any:
    return make_tensor(
        output.shape, dtype=output.dtype, device=output.device, low=-1, high=1, requires_grad=True,
        noncontiguous=noncontiguous,
    )
