"""Transforms of random variables: the base, inverses, and transforms made of others."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from minitorch.core.size import Size
from minitorch.distributions import constraints
from minitorch.distributions.utils import is_tensor, sum_rightmost
from minitorch.tensor.tensor import Tensor


class Transform:
    """A differentiable map with a tractable Jacobian, from its `domain` to its `codomain`.

    Parameters
    ----------
    cache_size : int
        1 keeps the latest pair of values: the inverse of a value that was just computed is then the very tensor it was
        computed from.

    Notes
    -----
    Subclasses define ``_call``, ``_inverse`` and `log_abs_det_jacobian`, and `domain` and `codomain`; those that change the
    shape of events also `forward_shape` and `inverse_shape`.
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    # Names of the attributes that make two transforms of one class equal; None: only the same object is equal.
    _compared: tuple[str, ...] | None = None

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1, not {cache_size!r}")
        self._cache_size = cache_size
        self._latest: tuple[Any, Any] = (None, None)
        self._inverse_reference: Any = None

    def __getstate__(self) -> dict:
        """Return what copies and files keep: no weak references."""
        return {**self.__dict__, "_inverse_reference": None}

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions are transformed together, where domain and codomain agree."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self) -> Transform:
        """The inverse transform; its own inverse is this object."""
        inverse = None if self._inverse_reference is None else self._inverse_reference()
        if inverse is None:
            inverse = self._make_inverse()
            self._inverse_reference = weakref.ref(inverse)
        return inverse

    def _make_inverse(self) -> Transform:
        return _InverseTransform(self)

    if TYPE_CHECKING:
        sign: Any
    else:

        @property
        def sign(self) -> Any:
            """1 for increasing and -1 for decreasing maps of numbers."""
            raise NotImplementedError(f"{type(self).__name__} has no sign")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the transform with another cache size."""
        if self._cache_size == cache_size:
            return self
        return self._with_cache(cache_size)

    def _with_cache(self, cache_size: int) -> Transform:
        if type(self).__init__ is not Transform.__init__:
            raise NotImplementedError(f"{type(self)}.with_cache is not implemented")
        return type(self)(cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        """Return whether the other one is known to be the same map."""
        if self is other:
            return True
        if self._compared is None or type(other) is not type(self):
            return False
        return all(_same(getattr(self, name), getattr(other, name)) for name in self._compared)

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, x: Any) -> Any:
        """Return the image of `x`."""
        if self._cache_size == 0:
            return self._call(x)
        if x is self._latest[0]:
            return self._latest[1]
        y = self._call(x)
        self._latest = (x, y)
        return y

    def _inv_call(self, y: Any) -> Any:
        """Return the value whose image is `y`."""
        if self._cache_size == 0:
            return self._inverse(y)
        if y is self._latest[1]:
            return self._latest[0]
        x = self._inverse(y)
        self._latest = (x, y)
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward map")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return ``log |det dy/dx|`` of each event, given the value and its image."""
        raise NotImplementedError(f"{type(self).__name__} has no Jacobian")

    def forward_shape(self, shape: Any) -> Any:
        """Return the shape of the images of values of a shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """Return the shape of the values whose images have a shape."""
        return shape

    def __repr__(self) -> str:
        """Name the transform."""
        return f"{type(self).__name__}()"


def _same(a: Any, b: Any) -> bool:
    if is_tensor(a) or is_tensor(b):
        return a is b or bool((a == b).all())
    return a == b


def wider(constraint: constraints.Constraint, event_dim: int) -> constraints.Constraint:
    """Return a constraint of events of at least `event_dim` dimensions."""
    missing = event_dim - constraint.event_dim
    return constraints.independent(constraint, missing) if missing > 0 else constraint


class _InverseTransform(Transform):
    """The inverse of a transform, which it asks for everything; it needs no cache of its own."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv: Transform = transform

    @property
    def domain(self) -> Any:
        return self._inv.codomain

    @property
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        """Return whether the other one inverts an equal transform."""
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = None

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        """Name the transform that is inverted."""
        return f"{type(self).__name__}({self._inv!r})"


class ComposeTransform(Transform):
    """Transforms one after the other.

    Parameters
    ----------
    parts : sequence of Transform
        The first one is applied first; none at all is the identity.
    cache_size : int
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    _compared = ("parts",)

    def _with_cache(self, cache_size: int) -> Transform:
        return ComposeTransform(self.parts, cache_size=cache_size)

    def _make_inverse(self) -> Transform:
        inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
        # Which of the two holds the other one weakly does not matter, but one must: else neither would ever be freed at once.
        inverse._inverse_reference = lambda: self
        return inverse

    @property
    def domain(self) -> Any:
        """What the first part takes, in events wide enough for all parts."""
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim = max(event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return wider(self.parts[0].domain, event_dim)

    @property
    def codomain(self) -> Any:
        """What the last part gives, in events wide enough for all parts."""
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim = max(event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return wider(self.parts[-1].codomain, event_dim)

    @property
    def bijective(self) -> bool:
        """Whether all parts are."""
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        """The product of the parts' signs."""
        sign: Any = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    def __call__(self, x: Any) -> Any:
        """Return the image under all parts; each has its own cache."""
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the sum of the parts' logarithms, each summed over the whole event."""
        if not self.parts:
            return x.new_zeros(tuple(x.shape))
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        event_dim = self.domain.event_dim
        total: Any = 0
        for k, part in enumerate(self.parts):
            logarithm = part.log_abs_det_jacobian(values[k], values[k + 1])
            total = total + sum_rightmost(logarithm, event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape: Any) -> Any:
        """Return the shape after all parts."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """Return the shape before all parts."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        """Name the parts, a line each."""
        return f"{type(self).__name__}(\n    " + ",\n    ".join(repr(part) for part in self.parts) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch dimensions count as dimensions of the event: their Jacobians are summed.

    Parameters
    ----------
    base_transform : Transform
    reinterpreted_batch_ndims : int
    cache_size : int
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _with_cache(self, cache_size: int) -> Transform:
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @property
    def domain(self) -> Any:
        """That of the base, of wider events."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:
        """That of the base, of wider events."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        """Whether the base is."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """That of the base."""
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        self._check(x, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        self._check(y, self.codomain.event_dim)
        return self.base_transform.inv(y)

    @staticmethod
    def _check(value: Any, event_dim: int) -> None:
        if value.dim() < event_dim:
            raise ValueError(
                f"Too few dimensions on input: events have {event_dim}, and the shape is {tuple(value.shape)}"
            )

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the base's logarithm, summed over the reinterpreted dimensions."""
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        """Return what the base does."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        """Return what the base does."""
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        """Name the base, and how many dimensions are reinterpreted."""
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Events in another shape, the elements in the same order.

    Parameters
    ----------
    in_shape, out_shape : Size
        Shapes of events, of as many elements.
    cache_size : int
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                f"in_shape, out_shape have different numbers of elements: {tuple(in_shape)} has {self.in_shape.numel()}, "
                f"{tuple(out_shape)} has {self.out_shape.numel()}"
            )

    def _with_cache(self, cache_size: int) -> Transform:
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    @property
    def domain(self) -> Any:
        """Events of real numbers."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:
        """Events of real numbers."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self._changed(x.shape, self.in_shape, self.out_shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self._changed(y.shape, self.out_shape, self.in_shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return zeros."""
        return x.new_zeros(tuple(x.shape[: x.dim() - len(self.in_shape)]))

    @staticmethod
    def _changed(shape: Any, old: Size, new: Size) -> Size:
        if len(shape) < len(old):
            raise ValueError(
                f"Too few dimensions on input: events have shape {tuple(old)}, and the shape is {tuple(shape)}"
            )
        cut = len(shape) - len(old)
        if tuple(shape[cut:]) != tuple(old):
            raise ValueError(f"Shape mismatch: expected {tuple(old)} but got {tuple(shape[cut:])}")
        return Size(tuple(shape[:cut]) + tuple(new))

    def forward_shape(self, shape: Any) -> Any:
        """Return the shape with the event's exchanged."""
        return self._changed(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        """Return the shape with the event's exchanged."""
        return self._changed(shape, self.out_shape, self.in_shape)
