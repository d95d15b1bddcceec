"""The base of all distributions: shapes, checks of parameters and values, expansion."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.core.size import Size
from minitorch.distributions import constraints
from minitorch.distributions.utils import is_tensor, lazy_property
from minitorch.tensor.tensor import Tensor
from minitorch.tensor.wrapper import has_values, innermost

__all__ = ["Distribution"]


def all_true(condition: Any) -> bool:
    """Return whether a condition holds everywhere, in all examples of a batch; True where nobody knows, as of meta tensors."""
    return not has_values(condition) or bool(innermost(condition).all())


def as_text(value: Any) -> str:
    """Return the text of a value: of a tensor of one element the number, but where that is one of several examples not."""
    return f"{value}" if not is_tensor(value) or innermost(value) is value else repr(value)


class Distribution:
    """A family of random variables with given parameters.

    Parameters
    ----------
    batch_shape : Size
        The shape of independent, not identically distributed events: that of the parameters.
    event_shape : Size
        The shape of one event: () for a number, (n,) for a vector.
    validate_args : bool, optional
        Whether parameters and values are checked; where not given, as `set_default_validate_args` says.

    Notes
    -----
    A draw has the shape ``sample_shape + batch_shape + event_shape``.

    Subclasses put their parameters into attributes that `arg_constraints` names, and then call this class's ``__init__``.
    `expand` finds them there: how many of a parameter's last dimensions are its event's is what its constraint says.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    # Attributes with tensors that are no parameters, and stay as they are when the batch is expanded.
    _not_expanded: frozenset[str] = frozenset()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Say whether distributions made from now on check their arguments.

        Raises
        ------
        ValueError
            If `value` is no bool.
        """
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args(): value must be True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = Size(), event_shape: Any = Size(), validate_args: bool | None = None) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    # ------------------------------------------------------------ shapes and parameters

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters' batch."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event."""
        return self._event_shape

    if TYPE_CHECKING:
        # Class attributes in most subclasses, properties in some.
        arg_constraints: Any
        support: Any
    else:

        @property
        def arg_constraints(self) -> dict[str, constraints.Constraint]:
            """What is demanded of the parameters, by their names."""
            raise NotImplementedError(f"{type(self).__name__} does not define arg_constraints")

        @property
        def support(self) -> Any:
            """The constraint of the values that have a density."""
            raise NotImplementedError(f"{type(self).__name__} does not define support")

    def _check_parameters(self) -> None:
        try:
            demanded = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`: set it to {{}}, or pass validate_args=False, to say that "
                "nothing is to be checked.",
                stacklevel=3,
            )
            return
        for name, constraint in demanded.items():
            lazily = name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property)
            if lazily or constraints.is_dependent(constraint):
                continue
            value = getattr(self, name)
            if not all_true(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, but found invalid values:\n{as_text(value)}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution with parameters that are expanded, without copies, to another batch shape.

        Parameters
        ----------
        batch_shape : Size
            One that the present one broadcasts to.

        Raises
        ------
        NotImplementedError
            If a subclass has attributes that this method cannot know how to expand; it then defines `expand` itself.
        """
        batch_shape = Size(batch_shape)
        demanded = self._parameter_constraints()
        if _instance is None:
            self._check_own_init(demanded)
        new = type(self).__new__(type(self)) if _instance is None else _instance
        for name, value in self.__dict__.items():
            if isinstance(value, Distribution):
                # A distribution that this one is made of may have further batch dimensions, behind the common ones.
                value = value.expand(batch_shape + value.batch_shape[len(self._batch_shape) :])
            elif is_tensor(value) and name in demanded:
                event_dim = demanded[name].event_dim
                value = value.expand(tuple(batch_shape) + tuple(value.shape[value.dim() - event_dim :]))
            elif isinstance(getattr(type(self), name, None), lazy_property):
                continue  # computed anew
            elif is_tensor(value) and value.dim() and name not in self._not_expanded:
                raise NotImplementedError(
                    f"expand(): attribute {name} of {type(self).__name__} is a tensor that arg_constraints does not name; "
                    "define expand() in the subclass"
                )
            new.__dict__[name] = value
        new._batch_shape = batch_shape
        return new

    def _parameter_constraints(self) -> dict[str, constraints.Constraint]:
        """Return what is demanded of parameters here and in the base classes, whose parameters a subclass may have renamed."""
        demanded: dict = {}
        for base in reversed(type(self).__mro__):
            declared = base.__dict__.get("arg_constraints")
            demanded.update(declared if isinstance(declared, dict) else {})
        demanded.update(self.arg_constraints)
        return demanded

    def _check_own_init(self, demanded: dict) -> None:
        """Raise if the class has an ``__init__`` of its own, but does not say what its parameters are."""
        owner = next(base for base in type(self).__mro__ if "__init__" in base.__dict__)
        if "arg_constraints" not in owner.__dict__ and owner is not Distribution:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} that defines a custom __init__ method must also define "
                "a custom .expand() method."
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """Return an empty object for the ``expand`` of a subclass to fill in."""
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must "
                "also define a custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    # ------------------------------------------------------------ moments

    @property
    def mean(self) -> Tensor:
        """The expected value."""
        raise NotImplementedError(f"{type(self).__name__} does not implement mean")

    @property
    def mode(self) -> Tensor:
        """A value of highest density."""
        raise NotImplementedError(f"{type(self).__name__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError(f"{type(self).__name__} does not implement variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    # ------------------------------------------------------------ draws

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws that are not differentiable, of shape ``sample_shape + batch_shape + event_shape``."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws that are differentiable in the parameters."""
        raise NotImplementedError(f"{type(self).__name__} does not implement rsample: use sample()")

    def sample_n(self, n: int) -> Tensor:
        """Return n draws; the old name of ``sample((n,))``."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def _extended_shape(self, sample_shape: Any = Size()) -> Size:
        return Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    # ------------------------------------------------------------ densities

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, or of the probability, at `value`: without the event's dimensions."""
        raise NotImplementedError(f"{type(self).__name__} does not implement log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of at most `value`."""
        raise NotImplementedError(f"{type(self).__name__} does not implement cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """Return the quantile of probability `value`."""
        raise NotImplementedError(f"{type(self).__name__} does not implement icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values of a discrete distribution, along a new first dimension.

        Parameters
        ----------
        expand : bool
            Whether the batch's dimensions have their size, or size 1.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement enumerate_support")

    def entropy(self) -> Tensor:
        """Return the entropy, in nats, of shape `batch_shape`."""
        raise NotImplementedError(f"{type(self).__name__} does not implement entropy")

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy."""
        return self.entropy().exp()

    def _along_first_dim(self, values: Tensor, expand: bool) -> Tensor:
        """Return the values of an enumeration as `enumerate_support` arranges them."""
        ones = (1,) * len(self._batch_shape)
        rest = tuple(values.shape[1:])
        values = values.reshape((-1, *ones, *rest))
        return values.expand((-1, *self._batch_shape, *rest)) if expand else values

    def _validate_sample(self, value: Tensor) -> None:
        """Raise ValueError unless `value` has the shape of events, and lies within the support; nothing if checks are off."""
        if not self._validate_args:
            return
        if not is_tensor(value):
            raise ValueError(f"The value argument to log_prob must be a Tensor, but it is a {type(value).__name__}")
        shape, wanted = tuple(value.shape), tuple(self._event_shape)
        if shape[len(shape) - len(wanted) :] != wanted:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {wanted}.")
        whole = tuple(self._batch_shape) + wanted
        if any(i != j and 1 not in (i, j) for i, j in zip(reversed(shape), reversed(whole), strict=False)):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {whole}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support`: pass validate_args=False to say that values are not to be checked.",
                stacklevel=3,
            )
            return
        if not all_true(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {shape}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{as_text(value)}"
            )

    def __repr__(self) -> str:
        """Name the distribution and its parameters: their values where there is one, else their shapes."""
        own = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        return f"{type(self).__name__}({', '.join(f'{name}: {_brief(value)}' for name, value in own.items())})"


def _brief(value: Any) -> str:
    return as_text(value if not is_tensor(value) or value.numel() == 1 else value.shape)
