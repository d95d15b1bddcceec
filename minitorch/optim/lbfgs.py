"""Limited-memory BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.autograd.grad_mode import enable_grad, no_grad
from minitorch.ops.functions import cat, view_as_real
from minitorch.optim.optimizer import Optimizer, check_lr
from minitorch.tensor.tensor import Tensor

__all__ = ["LBFGS"]


def _cubic_minimum(x1, f1, g1, x2, f2, g2, bounds=None):
    """Return the minimum of the cubic through two points with given slopes.

    Notes
    -----
    Nocedal & Wright, Numerical Optimization, equation 3.59.
    """
    low, high = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    d2 = square**0.5
    if x1 <= x2:
        position = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        position = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(position, low), high)


def _strong_wolfe(
    evaluate, x, t, d, f, g, gtd, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25
):
    """Search along `d` for a step that fulfils the strong Wolfe conditions.

    Returns
    -------
    tuple
        The loss, the gradient, the step and the number of evaluations.

    Notes
    -----
    Nocedal & Wright, Numerical Optimization, algorithms 3.5 and 3.6.
    """
    d_norm = d.abs().max()
    g = g.clone()
    f_new, g_new = evaluate(x, t, d)
    evaluations = 1
    gtd_new = g_new.dot(d)
    t_prev, f_prev, g_prev, gtd_prev = 0, f, g, gtd
    done = False
    iteration = 0
    # Grow the step until the minimum is bracketed.
    while iteration < max_ls:
        if f_new > f + c1 * t * gtd or (iteration > 1 and f_new >= f_prev):
            bracket = [t_prev, t]
            values = [f_prev, f_new]
            gradients = [g_prev, g_new.clone()]
            slopes = [gtd_prev, gtd_new]
            break
        if abs(gtd_new) <= -c2 * gtd:
            bracket, values, gradients, slopes = [t], [f_new], [g_new], [gtd_new]
            done = True
            break
        if gtd_new >= 0:
            bracket = [t_prev, t]
            values = [f_prev, f_new]
            gradients = [g_prev, g_new.clone()]
            slopes = [gtd_prev, gtd_new]
            break
        least = t + 0.01 * (t - t_prev)
        most = t * 10
        old = t
        t = _cubic_minimum(t_prev, f_prev, gtd_prev, t, f_new, gtd_new, bounds=(least, most))
        t_prev, f_prev, g_prev, gtd_prev = old, f_new, g_new.clone(), gtd_new
        f_new, g_new = evaluate(x, t, d)
        evaluations += 1
        gtd_new = g_new.dot(d)
        iteration += 1
    if iteration == max_ls:
        bracket, values, gradients = [0, t], [f, f_new], [g, g_new]
        slopes = [gtd, gtd_new]
    # Shrink the bracket.
    stalled = False
    low, high = (0, 1) if values[0] <= values[-1] else (1, 0)
    while not done and iteration < max_ls:
        if abs(bracket[1] - bracket[0]) * d_norm < tolerance_change:
            break
        t = _cubic_minimum(
            bracket[0], values[0], slopes[0], bracket[1], values[1], slopes[1]
        )
        margin = 0.1 * (max(bracket) - min(bracket))
        if min(max(bracket) - t, t - min(bracket)) < margin:
            # Too near an end: move away from it, at the second time in a row.
            if stalled or t >= max(bracket) or t <= min(bracket):
                if abs(t - max(bracket)) < abs(t - min(bracket)):
                    t = max(bracket) - margin
                else:
                    t = min(bracket) + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        f_new, g_new = evaluate(x, t, d)
        evaluations += 1
        gtd_new = g_new.dot(d)
        iteration += 1
        if f_new > f + c1 * t * gtd or f_new >= values[low]:
            bracket[high], values[high] = t, f_new
            gradients[high], slopes[high] = g_new.clone(), gtd_new
            low, high = (0, 1) if values[0] <= values[1] else (1, 0)
        else:
            if abs(gtd_new) <= -c2 * gtd:
                done = True
            elif gtd_new * (bracket[high] - bracket[low]) >= 0:
                bracket[high], values[high] = bracket[low], values[low]
                gradients[high], slopes[high] = gradients[low], slopes[low]
            bracket[low], values[low] = t, f_new
            gradients[low], slopes[low] = g_new.clone(), gtd_new
    low = low if len(bracket) > 1 else 0
    return values[low], gradients[low], bracket[low], evaluations


class LBFGS(Optimizer):
    """A quasi-Newton method that remembers the last steps; its step needs a closure.

    Parameters
    ----------
    params : iterable of Tensor
        One group only.
    lr : float
    max_iter : int
        Iterations of one step.
    max_eval : int, optional
        Evaluations of one step; 1.25 times `max_iter` when omitted.
    tolerance_grad, tolerance_change : float
        When to stop: the largest gradient, and the change of loss or parameters.
    history_size : int
        How many steps are remembered.
    line_search_fn : {"strong_wolfe"}, optional
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
            "history_size": history_size, "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _flat_grad(self) -> Tensor:
        """Return the gradients of all parameters as one real vector."""
        grads = [p.new_zeros(p.shape) if p.grad is None else p.grad for p in self._params]
        return cat([_real(g).reshape(-1) for g in grads], 0)

    def _move(self, step: Any, direction: Tensor) -> None:
        """Add ``step * direction`` to the parameters."""
        offset = 0
        for p in map(_real, self._params):
            n = p.numel()
            p.add_(direction[offset : offset + n].view_as(p), alpha=step)
            offset += n

    def _evaluate(self, closure: Callable, x: list[Tensor], t: Any, d: Tensor) -> tuple:
        """Return loss and gradient at ``x + t * d``; the parameters are left at `x`."""
        self._move(t, d)
        loss = float(closure())
        grad = self._flat_grad()
        for p, value in zip(self._params, x, strict=True):
            p.copy_(value)
        return loss, grad

    def step(self, closure: Callable) -> Any:  # type: ignore[override]
        """Update the parameters by several iterations; return the first loss.

        Parameters
        ----------
        closure : callable
            Computes the loss anew, with gradients, and returns it.
        """
        with no_grad():
            return self._step(_with_gradients(closure))

    def _step(self, closure: Callable) -> Any:
        group = self.param_groups[0]
        lr, max_iter, max_eval = float(group["lr"]), group["max_iter"], group["max_eval"]
        tolerance_grad, tolerance_change = group["tolerance_grad"], group["tolerance_change"]
        line_search, history_size = group["line_search_fn"], group["history_size"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        flat_grad = self._flat_grad()
        if flat_grad.abs().max() <= tolerance_grad:
            return first_loss
        d, t = state.get("d"), state.get("t")
        old_dirs, old_stps, ro = state.get("old_dirs"), state.get("old_stps"), state.get("ro")
        h_diag = state.get("H_diag")
        previous_grad, previous_loss = state.get("prev_flat_grad"), state.get("prev_loss")
        iteration = 0
        while iteration < max_iter:
            iteration += 1
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                d = flat_grad.neg()
                old_dirs, old_stps, ro = [], [], []
                h_diag = 1
            else:
                d, h_diag = self._direction(
                    flat_grad, previous_grad, d, t, old_dirs, old_stps, ro, h_diag, history_size,
                    state,
                )  # fmt: skip
            if previous_grad is None:
                previous_grad = flat_grad.clone()
            else:
                previous_grad.copy_(flat_grad)
            previous_loss = loss
            t = min(1.0, 1.0 / float(flat_grad.abs().sum())) * lr if state["n_iter"] == 1 else lr
            gtd = flat_grad.dot(d)
            if gtd > -tolerance_change:
                break
            used = 0
            if line_search is not None:
                if line_search != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = [p.clone() for p in self._params]
                loss, flat_grad, t, used = _strong_wolfe(
                    lambda x, step, direction: self._evaluate(closure, x, step, direction),
                    start, t, d, loss, flat_grad, gtd,
                )  # fmt: skip
                self._move(t, d)
                small = flat_grad.abs().max() <= tolerance_grad
            else:
                self._move(t, d)
                small = False
                if iteration != max_iter:
                    loss = float(closure())
                    flat_grad = self._flat_grad()
                    small = flat_grad.abs().max() <= tolerance_grad
                    used = 1
            evaluations += used
            state["func_evals"] += used
            if (
                iteration == max_iter
                or evaluations >= max_eval
                or small
                or d.mul(t).abs().max() <= tolerance_change
                or abs(loss - previous_loss) < tolerance_change
            ):
                break
        state["d"], state["t"] = d, t
        state["old_dirs"], state["old_stps"], state["ro"] = old_dirs, old_stps, ro
        state["H_diag"] = h_diag
        state["prev_flat_grad"], state["prev_loss"] = previous_grad, previous_loss
        return first_loss

    def _direction(
        self, flat_grad, previous_grad, d, t, old_dirs, old_stps, ro, h_diag, history_size, state
    ):
        """Return the next direction (the two-loop recursion) and the scale of the Hessian."""
        y = flat_grad.sub(previous_grad)
        s = d.mul(t)
        ys = y.dot(s)
        if ys > 1e-10:
            if len(old_dirs) == history_size:
                old_dirs.pop(0)
                old_stps.pop(0)
                ro.pop(0)
            old_dirs.append(y)
            old_stps.append(s)
            ro.append(1.0 / ys)
            h_diag = ys / y.dot(y)
        count = len(old_dirs)
        shares = state["al"] = [None] * count
        q = flat_grad.neg()
        for i in range(count - 1, -1, -1):
            shares[i] = old_stps[i].dot(q) * ro[i]
            q.add_(old_dirs[i] * -shares[i])
        d = q * h_diag
        for i in range(count):
            b = old_dirs[i].dot(d) * ro[i]
            d.add_(old_stps[i] * (shares[i] - b))
        return d, h_diag


def _real(tensor: Any) -> Any:
    """Return a complex tensor's real and imaginary parts, as a last dimension."""
    return view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def _with_gradients(closure: Callable) -> Callable:
    def run() -> Any:
        with enable_grad():
            return closure()

    return run
