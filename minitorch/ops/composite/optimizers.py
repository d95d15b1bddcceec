"""Optimizer steps that return what they would write, and gradient scaling, written with other operators for every device."""

from __future__ import annotations

from minitorch.core.dtype import float32, int32
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_explicit


def _functional(step, count):
    """Return a step that writes into copies of its first `count` lists, and returns them."""

    def functional_step_composite(*lists, **options):
        copies = [[F.clone(t) for t in tensors] for tensors in lists[:count]]
        step(*copies, *lists[count:], **options)
        return tuple(copies)

    return functional_step_composite


composite_explicit("_fused_sgd")(_functional(lambda *lists, **options: F._fused_sgd_(*lists, **options), 3))
composite_explicit("_fused_adam")(_functional(lambda *lists, **options: F._fused_adam_(*lists, **options), 5))
composite_explicit("_fused_adamw")(_functional(lambda *lists, **options: F._fused_adamw_(*lists, **options), 5))


# -- gradient scaling ------------------------------------------------------------------


@composite_explicit("_amp_foreach_non_finite_check_and_unscale_")
def unscale_composite(self, found_inf, inv_scale):
    """Multiply each gradient by `inv_scale`; set `found_inf` to 1 if an element was not finite, else leave it."""
    _check_one_element("_amp_foreach_non_finite_check_and_unscale_", found_inf=found_inf, inv_scale=inv_scale)
    if inv_scale.dtype is not float32 or found_inf.dtype is not float32:
        raise RuntimeError(
            f"_amp_foreach_non_finite_check_and_unscale_(): found_inf has dtype {found_inf.dtype} and inv_scale "
            f"{inv_scale.dtype}; both must be of float32"
        )
    for grad in self:
        if not grad.dtype.is_floating_point:
            raise NotImplementedError(
                f"_amp_foreach_non_finite_check_and_unscale_(): a gradient has dtype {grad.dtype}; it must be floating"
            )
        bad = F.logical_not(F.all(F.isfinite(grad)))
        F.masked_fill_(found_inf, F.reshape(bad, found_inf.shape), 1.0)
        # The factor has float32's range and would underflow in the gradient's own dtype.
        wide = F.mul(grad.to(inv_scale.dtype), F.reshape(inv_scale, ())) if grad.element_size() < 4 else None
        if wide is None:
            F.mul_(grad, F.reshape(inv_scale, ()))
        else:
            F.copy_(grad, wide)


@composite_explicit("_amp_update_scale_")
def update_scale_composite(self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor, growth_interval):
    """Set the scale and the number of good steps in a row; nothing of it is read by the host."""
    _check_one_element("_amp_update_scale_", self=self, growth_tracker=growth_tracker, found_inf=found_inf)
    if growth_tracker.dtype is not int32:
        raise RuntimeError(f"_amp_update_scale_(): growth_tracker has dtype {growth_tracker.dtype}; it must be of int32")
    if self.dtype is not float32 or found_inf.dtype is not float32:
        raise RuntimeError(
            f"_amp_update_scale_(): self has dtype {self.dtype} and found_inf {found_inf.dtype}; both must be of float32"
        )
    bad = F.reshape(F.ne(found_inf, 0.0), self.shape)
    good_steps = F.add(growth_tracker, 1)
    is_due = F.eq(good_steps, growth_interval)
    grown = F.mul(self, scale_growth_factor)
    # A scale that would be infinite stays as it is.
    grows = F.logical_and(F.reshape(is_due, self.shape), F.isfinite(grown))
    new_scale = F.where(bad, F.mul(self, scale_backoff_factor), F.where(grows, grown, self))
    starts_again = F.logical_or(F.reshape(bad, growth_tracker.shape), is_due)
    F.copy_(growth_tracker, F.masked_fill(good_steps, starts_again, 0))
    F.copy_(self, new_scale)
    return self


def _check_one_element(name, **tensors):
    for argument, tensor in tensors.items():
        if tensor.numel() != 1:
            raise RuntimeError(f"{name}(): {argument} must have one element, but has {tensor.numel()}")


@composite_explicit("_amp_foreach_non_finite_check_and_unscale")
def functional_unscale_composite(self, found_inf, inv_scale):
    grads, found_inf = [F.clone(grad) for grad in self], F.clone(found_inf)
    F._amp_foreach_non_finite_check_and_unscale_(grads, found_inf, inv_scale)
    return grads, found_inf


@composite_explicit("_amp_update_scale")
def functional_update_scale_composite(self, growth_tracker, found_inf, growth_factor, backoff_factor, growth_interval):
    scale, tracker = F.clone(self), F.clone(growth_tracker)
    F._amp_update_scale_(scale, tracker, found_inf, growth_factor, backoff_factor, growth_interval)
    return scale, tracker
