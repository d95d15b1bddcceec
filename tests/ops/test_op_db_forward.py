"""Forward mode for every operator, by its record in `minitorch.testing.op_db`."""

from __future__ import annotations

import pytest
from op_db_gradients import cases, double_dtypes, explained, weights
from op_db_helpers import over

import minitorch as mt
from minitorch.autograd import forward_ad, gradcheck, gradgradcheck
from minitorch.autograd.derivatives.registry import DERIVATIVES, Multilinear, parameter_names
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops.assemble import is_view
from minitorch.ops.registry import DECLARATIONS

DECLARED: dict[str, set] = {}  # the overloads of each base name
for _name in DECLARATIONS:
    DECLARED.setdefault(_name.partition(".")[0], set()).add(_name)


def is_differentiable(record):
    return record.autograd and not record.no_gradcheck and not record.no_forward


# Operators with a gradient and without a tangent, and why.
WITHOUT_TANGENT = {
    "_ctc_loss": "its backward is a kernel without a derivative, and its tangent would be another kernel",
    "_ctc_loss.Tensor": "its backward is a kernel without a derivative, and its tangent would be another kernel",
}


def is_differentiated(name):
    """Return whether an operator has a derivative: its own, or those of its parts."""
    return name in DERIVATIVES or "CompositeImplicitAutograd" in OPERATORS["aten::" + name].kernels


@pytest.mark.parametrize("name", [name for name, d in DERIVATIVES.items() if d.formulas or d.jointly])
def test_every_derivative_has_a_forward_formula(name):
    """One that is written down and fits the schema, or a backward formula that can be differentiated."""
    derivative, schema = DERIVATIVES[name], OPERATORS["aten::" + name].schema
    arguments = {a.name: a for a in schema.arguments}
    forward = derivative.forward
    if forward is None:
        # By transposition: every operator that its backward calls needs a derivative of its own.
        if name not in WITHOUT_TANGENT:
            formulas = [*derivative.formulas.values(), *derivative.jointly.values()]
            # Those that ask take another road where they are to be differentiated.
            asking = {"is_grad_enabled", "is_differentiated_again"}
            names = [f.__code__.co_names for f in formulas if not asking.intersection(f.__code__.co_names)]
            called = {n for group in names for n in group if n.endswith("_backward")}
            missing = [n for n in called if n in DECLARED and not any(is_differentiated(o) for o in DECLARED[n])]
            assert not missing, f"{name}: its backward calls {missing}, which have no derivative; give it result="
        return
    if isinstance(forward, Multilinear):
        assert {*forward.factors, *forward.additive} <= set(arguments)
    elif callable(forward):
        outputs = {"result", *(f"result{i}" for i in range(len(schema.returns))), *(r.name for r in schema.returns)}
        for parameter in parameter_names(forward):
            stem, _, suffix = parameter.rpartition("_")
            known = (
                parameter in arguments or parameter in outputs or (suffix in ("p", "t", "shape") and stem in arguments)
            )
            assert known, f"{name}: its forward formula asks for {parameter!r}, which is nothing"
    else:
        assert forward in ("linear", "elementwise", "zero"), f"{name}: result={forward!r} is no forward formula"
        if forward == "elementwise":
            assert not derivative.jointly, f"{name}: elementwise needs a formula for each argument"


def test_what_has_no_tangent_says_so():
    with forward_ad.dual_level():
        logs = forward_ad.make_dual(mt.zeros(3, 1, 2), mt.ones(3, 1, 2))
        with pytest.raises(RuntimeError, match="not implemented"):
            mt.nn.functional.ctc_loss(logs, mt.tensor([[1]]), [3], [1])


@over(dtypes=double_dtypes, only=is_differentiable)
def test_tangents(record, dtype_name):
    """A directional derivative is what differences of values say."""
    for sample, function, inputs in cases(record, dtype_name):
        explained(
            record, sample,
            lambda: gradcheck(
                function, inputs, check_forward_ad=True, check_backward_ad=False, fast_mode=True, atol=record.grad_atol,
                rtol=record.grad_rtol,
            ),
        )  # fmt: skip


@over(dtypes=double_dtypes, only=lambda record: is_differentiable(record) and not record.no_gradgrad)
def test_tangents_of_gradients(record, dtype_name):
    """Forward over reverse."""
    for sample, function, inputs in cases(record, dtype_name):
        explained(
            record, sample,
            lambda: gradgradcheck(
                function, inputs, grad_outputs=weights(function, inputs), check_fwd_over_rev=True, check_rev_over_rev=False,
                fast_mode=True, atol=record.grad_atol, rtol=record.grad_rtol,
            ),
        )  # fmt: skip


@over(dtypes=double_dtypes, only=lambda record: is_differentiable(record) and not record.no_gradgrad)
def test_gradients_of_tangents(record, dtype_name):
    """Reverse over forward: the tangent is a function of primal and tangent like any other."""
    for sample, function, inputs in cases(record, dtype_name, limit=2):
        directions = weights(lambda *given: given, inputs)

        def tangents(*given, function=function, count=len(inputs)):
            with forward_ad.dual_level():
                duals = [forward_ad.make_dual(x, t) for x, t in zip(given[:count], given[count:], strict=True)]
                found = [forward_ad.unpack_dual(output).tangent for output in function(*duals)]
            return tuple([t for t in found if t is not None])

        explained(
            record, sample,
            lambda: gradcheck(
                tangents, (*inputs, *directions), fast_mode=True, atol=record.grad_atol, rtol=record.grad_rtol,
                check_undefined_grad=False,
            ),
        )  # fmt: skip


@over(only=lambda record: record.inplace is not None and is_differentiable(record) and record.supports("float64"))
def test_tangents_in_place(record):
    """An in-place operator leaves the tangent that its functional form gives."""
    for sample in record.samples(mt.float64, requires_grad=True):
        if not sample.args or not isinstance(sample.args[0], mt.Tensor) or not sample.args[0].is_floating_point():
            continue
        with forward_ad.dual_level():
            given = sample.map(lambda t: forward_ad.make_dual(t.detach(), direction(t)) if t.requires_grad else t)
            expected = forward_ad.unpack_dual(record.function(*given.args, **given.kwargs))
            target = given.args[0].clone()
            if expected.primal.shape != target.shape or not expected.primal.is_floating_point():
                continue
            whole = mt.zeros(2, *target.shape, dtype=target.dtype)
            whole[0].copy_(target)
            turns = any(is_view(op.declaration) for op in record.overloads())  # as t_ does: the base stays
            for changed in (target,) if turns else (target, whole[0]):
                record.inplace(changed, *given.args[1:], **given.kwargs)
                found = forward_ad.unpack_dual(changed)
                for one, other in zip(found, expected, strict=True):
                    mt.testing.assert_close(one, other, msg=lambda text: f"{record.name}_{sample!r}: {text}")
            if turns:
                continue
            of_whole = forward_ad.unpack_dual(whole).tangent
            mt.testing.assert_close(of_whole[0], expected.tangent)
            assert not of_whole[1].any(), f"{record.name}_{sample!r}: the rest of the base got a tangent"


def direction(tensor):
    """Return a tangent, the same one each time."""
    return mt.linspace(-1, 1.5, tensor.numel(), dtype=tensor.dtype).reshape(tensor.shape)
