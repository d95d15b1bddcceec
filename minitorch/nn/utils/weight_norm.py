"""`weight_norm` and `spectral_norm` by hooks: what came before parametrizations, and how older files name their parameters."""

from __future__ import annotations

from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.functional import norm_except_dim
from minitorch.nn import functional as F
from minitorch.nn.parameter import Parameter, UninitializedParameter
from minitorch.ops import functions as operators
from minitorch.tensor.tensor import Tensor

__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]


class WeightNorm:
    """The hook that computes a parameter from its length and its direction."""

    def __init__(self, name: str, dim: int | None):
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """Return the parameter."""
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return v * (g / norm_except_dim(v, 2, self.dim))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


class SpectralNorm:
    """The hook that divides a parameter by its largest singular value, which power iterations approximate.

    Attributes
    ----------
    name : str
    n_power_iterations : int
        How many a call in training does.
    dim : int
        The dimension that counts the rows of the matrix.
    eps : float
    """

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12):
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """Return the parameter as a matrix with `dim` as its rows."""
        return weight.movedim(self.dim, 0).flatten(1) if weight.dim() > 1 else weight.unsqueeze(1)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """Return the parameter divided by its largest singular value."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(operators.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(operators.mv(matrix, v), dim=0, eps=self.eps))
        # Copies, as the next call changes both and a backward pass of this one may come after it.
        u, v = u.clone(), v.clone()
        return weight / operators.dot(u, operators.mv(matrix, v))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def _hook_of(module: Any, kind: type, name: str) -> int | None:
    """Return the number of a module's hook of some kind for a parameter."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:  # type: ignore[attr-defined]
            return key
    return None


def _parameter_for(module: Any, kind: type, name: str) -> Any:
    """Return the parameter that a hook of some kind is to be added for."""
    label = "weight_norm" if kind is WeightNorm else "spectral_norm"
    if _hook_of(module, kind, name) is not None:
        raise RuntimeError(f"Cannot register two {label} hooks on the same parameter {name}")
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`{kind.__name__}` cannot be applied as parameter `{name}` is None")
    if isinstance(weight, UninitializedParameter):
        raise ValueError(
            f"The module passed to `{kind.__name__}` can't have uninitialized parameters. Call it once before {label}"
        )
    return weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Store a parameter as its length, ``weight_g``, and its direction, ``weight_v`` (Salimans & Kingma, 2016).

    New code should take `minitorch.nn.utils.parametrizations.weight_norm`.

    Parameters
    ----------
    module : Module
    name : str
    dim : int or None
        The dimension along which lengths are apart; None for one length.

    Examples
    --------
    >>> layer = minitorch.nn.utils.weight_norm(minitorch.nn.Linear(20, 40))
    >>> layer.weight_g.shape, layer.weight_v.shape
    (torch.Size([40, 1]), torch.Size([40, 20]))
    """
    weight = _parameter_for(module, WeightNorm, name)
    hook = WeightNorm(name, dim)
    del module._parameters[name]
    module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight.detach(), 2, hook.dim)))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Make a parameter one again that `weight_norm` took apart."""
    key = _hook_of(module, WeightNorm, name)
    if key is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    weight = module._forward_pre_hooks.pop(key).compute_weight(module)
    delattr(module, name)
    for suffix in ("_g", "_v"):
        del module._parameters[name + suffix]
    setattr(module, name, Parameter(weight.detach()))
    return module


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divide a parameter by its largest singular value (Miyato et al., 2018).

    New code should take `minitorch.nn.utils.parametrizations.spectral_norm`.

    Parameters
    ----------
    module : Module
    name : str
    n_power_iterations : int
        How many a call in training does.
    eps : float
        The least norm that vectors are divided by.
    dim : int, optional
        The dimension that counts the rows of the matrix: 0, of transposed convolutions 1.
    """
    weight = _parameter_for(module, SpectralNorm, name)
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    with no_grad():
        rows, columns = hook.reshape_weight_to_matrix(weight).shape
        u, v = (F.normalize(weight.new_empty([n]).normal_(0, 1), dim=0, eps=eps) for n in (rows, columns))
    del module._parameters[name]
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Make the normalized values of a parameter the parameter itself."""
    key = _hook_of(module, SpectralNorm, name)
    if key is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    hook = module._forward_pre_hooks.pop(key)
    with no_grad():
        weight = hook.compute_weight(module, do_power_iteration=False)
    for attribute in (name, f"{name}_u", f"{name}_v", f"{name}_orig"):
        delattr(module, attribute)
    module.register_parameter(name, Parameter(weight.detach()))
    return module
