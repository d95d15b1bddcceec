"""Reductions, norms and statistics written with other operators."""

from __future__ import annotations

from minitorch.core.promotion import promote_types
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_explicit, composite_implicit
from minitorch.ops.shapes.common import check, normalize_dim
from minitorch.tensor.wrapper import innermost


@composite_implicit("max.other")
def max_other_composite(self, other):
    return F.maximum(self, other)


@composite_implicit("min.other")
def min_other_composite(self, other):
    return F.minimum(self, other)


# ---------------------------------------------------------------- variance, `unbiased` spelling


@composite_implicit("var")
def var_composite(self, unbiased=True):
    return F.var(self, None, correction=int(unbiased))


@composite_implicit("var.dim")
def var_dim_composite(self, dim, unbiased=True, keepdim=False):
    return F.var(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite_implicit("std")
def std_composite(self, unbiased=True):
    return F.std(self, None, correction=int(unbiased))


@composite_implicit("std.dim")
def std_dim_composite(self, dim, unbiased=True, keepdim=False):
    return F.std(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite_implicit("var_mean")
def var_mean_composite(self, unbiased=True):
    return F.var_mean(self, None, correction=int(unbiased))


@composite_implicit("var_mean.dim")
def var_mean_dim_composite(self, dim, unbiased=True, keepdim=False):
    return F.var_mean(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite_implicit("std_mean")
def std_mean_composite(self, unbiased=True):
    return F.std_mean(self, None, correction=int(unbiased))


@composite_implicit("std_mean.dim")
def std_mean_dim_composite(self, dim, unbiased=True, keepdim=False):
    return F.std_mean(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite_implicit("special_logsumexp")
def special_logsumexp_composite(self, dim, keepdim=False):
    return F.logsumexp(self, dim, keepdim)


@composite_implicit("nanmean")
def nanmean_composite(self, dim=None, keepdim=False, *, dtype=None):
    check(
        self.is_floating_point() or self.is_complex(),
        "nanmean(): expected input to have floating point or complex dtype but got "
        f"{self.dtype.scalar_name}",
    )
    count = F.sum(F.logical_not(F.isnan(self.detach())), dim, keepdim)
    return F.div(F.nansum(self, dim, keepdim, dtype=dtype), count)


# ---------------------------------------------------------------- quantiles


def _quantile(self, q, dim, keepdim, interpolation, ignore_nan, name):
    check(self.numel() > 0, f"{name}() input tensor must be non-empty")
    check(q.dim() <= 1, f"{name}() q must be a scalar or 1D tensor, got shape {tuple(q.shape)}")
    check(
        self.dtype.name in ("float32", "float64"),
        f"{name}() input tensor must be either float or double dtype, got {self.dtype.name}",
    )
    check(
        self.dtype is q.dtype,
        f"{name}() q tensor must be same dtype as the input tensor, got {q.dtype.name} and "
        f"{self.dtype.name}",
    )
    check(
        interpolation in ("linear", "lower", "higher", "midpoint", "nearest"),
        f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but "
        f"got {interpolation}",
    )
    F._assert_async(F.all(F.logical_and(q >= 0, q <= 1)), f"{name}() q values must be in the range [0, 1]")
    ndim = self.dim()
    if dim is None:
        values = F.reshape(self, [-1])
        kept = [1] * ndim
    else:
        dim = normalize_dim(dim, ndim, name)
        values = F.movedim(self, dim, -1) if ndim else F.reshape(self, [-1])
        kept = list(self.shape)
        if ndim:
            kept[dim] = 1
    values = F.sort(values, -1)[0]
    length = values.shape[-1]
    nans = F.isnan(values)
    ranks = F.unsqueeze(q, 1) if q.dim() else F.reshape(q, [1, 1])
    if ignore_nan:
        last = F.sum(F.logical_not(nans), [-1]) - 1
        ranks = F.clamp_min(ranks * last.to(q.dtype).reshape([1, -1]), 0.0)
    else:
        ranks = ranks * (length - 1)
        spoiled = F.any(nans, -1).reshape([1, -1])
        ranks = F.where(spoiled, F.full_like(ranks[:1, :1], float(length - 1)), ranks)
    rows = F.reshape(values, [-1, length])
    ranks = F.transpose(ranks, 0, 1).contiguous()
    if interpolation == "lower":
        ranks = F.floor(ranks)
    elif interpolation == "higher":
        ranks = F.ceil(ranks)
    elif interpolation == "nearest":
        ranks = F.round(ranks)
    below = ranks.to(dtype=_long()).detach()
    if interpolation in ("linear", "midpoint"):
        above = F.ceil(ranks).to(dtype=_long()).detach()
        weight = F.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
        if interpolation == "midpoint":
            weight = F.where(below == above, F.zeros_like(weight), weight)
        result = F.lerp(F.gather(rows, -1, below), F.gather(rows, -1, above), weight)
    else:
        result = F.gather(rows, -1, below)
    result = F.transpose(result, 0, 1)  # quantiles first
    shape = kept if keepdim else (list(values.shape[:-1]) if dim is not None else [])
    if dim is not None and not ndim:
        shape = []
    lead = [q.shape[0]] if q.dim() else []
    return F.reshape(result, lead + shape)


def _long():
    from minitorch.core.dtype import int64

    return int64


def _as_quantile(self, q, name):
    check(0 <= q <= 1, f"{name}() q must be in the range [0, 1] but got {q}")
    return F.scalar_tensor(q, dtype=self.dtype, device=self.device)


@composite_implicit("quantile")
def quantile_composite(self, q, dim=None, keepdim=False, *, interpolation="linear"):
    return _quantile(self, q, dim, keepdim, interpolation, False, "quantile")


@composite_implicit("quantile.scalar")
def quantile_scalar_composite(self, q, dim=None, keepdim=False, *, interpolation="linear"):
    q = _as_quantile(self, q, "quantile")
    return _quantile(self, q, dim, keepdim, interpolation, False, "quantile")


@composite_implicit("nanquantile")
def nanquantile_composite(self, q, dim=None, keepdim=False, *, interpolation="linear"):
    return _quantile(self, q, dim, keepdim, interpolation, True, "nanquantile")


@composite_implicit("nanquantile.scalar")
def nanquantile_scalar_composite(self, q, dim=None, keepdim=False, *, interpolation="linear"):
    q = _as_quantile(self, q, "nanquantile")
    return _quantile(self, q, dim, keepdim, interpolation, True, "nanquantile")


# ---------------------------------------------------------------- norms


@composite_implicit("norm.Scalar")
def norm_composite(self, p=2):
    return F.linalg_vector_norm(self, p)


@composite_implicit("norm.ScalarOpt_dtype")
def norm_dtype_composite(self, p, *, dtype):
    return F.linalg_vector_norm(self, 2 if p is None else p, dtype=dtype)


@composite_implicit("norm.ScalarOpt_dim")
def norm_dim_composite(self, p, dim, keepdim=False):
    return F.linalg_vector_norm(self, 2 if p is None else p, dim, keepdim)


@composite_implicit("norm.ScalarOpt_dim_dtype")
def norm_dim_dtype_composite(self, p, dim, keepdim=False, *, dtype):
    return F.linalg_vector_norm(self, 2 if p is None else p, dim, keepdim, dtype=dtype)


@composite_implicit("renorm")
def renorm_composite(self, p, dim, maxnorm):
    check(not isinstance(p, complex) and p > 0, f"renorm: non-positive-norm not supported: {p}")
    check(maxnorm >= 0, f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    check(
        self.dim() > 1,
        f"renorm: input needs at least 2 dimensions, got {self.dim()} dimensions",
    )
    dim = normalize_dim(dim, self.dim(), "renorm")
    others = [d for d in range(self.dim()) if d != dim]
    norm = F.linalg_vector_norm(self, p, others, True)
    scale = F.where(norm > maxnorm, maxnorm / (norm + 1e-7), F.ones_like(norm))
    return (self * scale).contiguous()


# ---------------------------------------------------------------- comparison


@composite_implicit("isclose")
def isclose_composite(self, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    check(
        self.dtype is other.dtype,
        f"isclose(): {self.dtype.scalar_name} did not match {other.dtype.scalar_name}; convert "
        "one of them",
    )
    check(rtol >= 0, f"isclose(): rtol must be greater than or equal to zero, but got {rtol}")
    check(atol >= 0, f"isclose(): atol must be greater than or equal to zero, but got {atol}")
    close = F.eq(self, other)
    inexact = self.is_floating_point() or self.is_complex()
    if equal_nan and inexact:
        close = F.logical_or(close, F.logical_and(F.isnan(self), F.isnan(other)))
    if rtol == 0 and atol == 0:
        return close
    if not inexact:
        from minitorch.core.dtype import get_default_dtype

        self, other = self.to(get_default_dtype()), other.to(get_default_dtype())
    allowed = F.abs(other) * rtol + atol
    actual = F.abs(F.sub(self, other))
    near = F.logical_and(F.isfinite(actual), F.le(actual, allowed))
    return F.logical_or(close, near)


@composite_explicit("allclose")
def allclose_composite(self, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    return bool(F.all(F.isclose(self, other, rtol, atol, equal_nan)).item())


# ---------------------------------------------------------------- differences and integrals


@composite_implicit("diff")
def diff_composite(self, n=1, dim=-1, prepend=None, append=None):
    check(self.dim() >= 1, "diff expects input to be at least one-dimensional")
    check(n >= 0, f"order must be non-negative but got {n}")
    dim = normalize_dim(dim, self.dim(), "diff")
    for other in (prepend, append):
        check(
            other is None or other.dim() == self.dim(),
            "diff expects prepend or append to be the same dimension as input",
        )
    if n == 0:
        return F.clone(self)
    parts = [t for t in (prepend, self, append) if t is not None]
    result = F.cat(parts, dim) if len(parts) > 1 else self
    n = min(n, result.shape[dim])
    for _ in range(n):
        length = result.shape[dim] - 1
        high, low = F.narrow(result, dim, 1, length), F.narrow(result, dim, 0, length)
        boolean = result.dtype.name == "bool"
        result = F.logical_xor(high, low) if boolean else F.sub(high, low)
    return result


def _pairs(y, dim):
    """Return the elements but the last, and but the first, along `dim`."""
    length = y.shape[dim] - 1
    return F.narrow(y, dim, 0, length), F.narrow(y, dim, 1, length)


def _spacing(y, x, dim, name):
    """Return the distances between points along `dim`, shaped to multiply with `y`'s pairs."""
    if x.dim() == 1:
        check(
            x.shape[0] == y.shape[dim],
            f"{name}: There must be one `x` value for each sample point, got {x.shape[0]} values "
            f"for {y.shape[dim]} points",
        )
        shape = [1] * y.dim()
        shape[dim] = x.shape[0]
        x = F.reshape(x, shape)
    elif x.dim() < y.dim():
        x = F.reshape(x, [1] * (y.dim() - x.dim()) + list(x.shape))
    low, high = _pairs(x, dim)
    return high - low


def _trapezoids(y, dim, spacing, name):
    low, high = _pairs(y, dim)
    return (low + high) * spacing / 2.0


def _check_trapezoid(y, dim, name):
    dim = normalize_dim(dim, y.dim(), name)
    check(
        y.dim() > 0 and y.dtype.name != "bool",
        f"{name}: received a bool or 0-dim input for `y`, but bool and 0-dim are not supported",
    )
    return dim


def _zero_integral(y, dim):
    shape = list(y.shape)
    del shape[dim]
    return F.new_zeros(y, shape)


@composite_implicit("trapezoid.x", "trapz.x")
def trapezoid_x_composite(y, x, *, dim=-1):
    dim = _check_trapezoid(y, dim, "trapezoid")
    if y.shape[dim] == 0:
        return _zero_integral(y, dim)
    spacing = _spacing(y, x, dim, "trapezoid")
    return F.sum(_trapezoids(y, dim, spacing, "trapezoid"), [dim])


@composite_implicit("trapezoid.dx", "trapz.dx")
def trapezoid_composite(y, *, dx=1, dim=-1):
    dim = _check_trapezoid(y, dim, "trapezoid")
    if y.shape[dim] == 0:
        return _zero_integral(y, dim)
    low, high = _pairs(y, dim)
    return F.sum(low + high, [dim]) * (dx / 2.0)


@composite_implicit("cumulative_trapezoid.x")
def cumulative_trapezoid_x_composite(y, x, *, dim=-1):
    dim = _check_trapezoid(y, dim, "cumulative_trapezoid")
    spacing = _spacing(y, x, dim, "cumulative_trapezoid")
    return F.cumsum(_trapezoids(y, dim, spacing, "cumulative_trapezoid"), dim)


@composite_implicit("cumulative_trapezoid.dx")
def cumulative_trapezoid_composite(y, *, dx=1, dim=-1):
    dim = _check_trapezoid(y, dim, "cumulative_trapezoid")
    low, high = _pairs(y, dim)
    return F.cumsum(low + high, dim) * (dx / 2.0)


def _gradient_along(self, spacing, dim, edge_order):
    """Return central differences along `dim`; `spacing` is a number or the coordinates."""
    length = self.shape[dim]
    check(
        length > edge_order,
        "torch.gradient expected each dimension size to be at least edge_order+1, got "
        f"{length} for dimension {dim}",
    )

    def part(start, count):
        return F.narrow(self, dim, start, count)

    def shaped(values):
        shape = [1] * self.dim()
        shape[dim] = values.shape[0]
        return F.reshape(values, shape)

    if not hasattr(spacing, "shape"):
        h = spacing
        inner = (part(2, length - 2) - part(0, length - 2)) / (2.0 * h)
        if edge_order == 1:
            first = (part(1, 1) - part(0, 1)) / h
            last = (part(length - 1, 1) - part(length - 2, 1)) / h
        else:
            first = (part(1, 1) * 2.0 - part(0, 1) * 1.5 - part(2, 1) * 0.5) / h
            last = (
                part(length - 1, 1) * 1.5 - part(length - 2, 1) * 2.0 + part(length - 3, 1) * 0.5
            ) / h
        return F.cat([first, inner, last], dim)
    check(
        spacing.dim() == 1 and spacing.shape[0] == length,
        "torch.gradient expected each element of spacing to have one value for each point, got "
        f"{spacing.shape[0]} for {length}",
    )
    steps = F.diff(spacing)
    left, right = F.narrow(steps, 0, 0, length - 2), F.narrow(steps, 0, 1, length - 2)
    inner = (
        part(0, length - 2) * shaped(-right / (left * (left + right)))
        + part(1, length - 2) * shaped((right - left) / (left * right))
        + part(2, length - 2) * shaped(left / (right * (left + right)))
    )
    if edge_order == 1:
        first = (part(1, 1) - part(0, 1)) / steps[0]
        last = (part(length - 1, 1) - part(length - 2, 1)) / steps[-1]
    else:
        a, b = steps[0], steps[1]
        first = (
            part(0, 1) * (-(a * 2.0 + b) / (a * (a + b)))
            + part(1, 1) * ((a + b) / (a * b))
            - part(2, 1) * (a / (b * (a + b)))
        )
        a, b = steps[-2], steps[-1]
        last = (
            part(length - 3, 1) * (b / (a * (a + b)))
            - part(length - 2, 1) * ((a + b) / (a * b))
            + part(length - 1, 1) * ((a + b * 2.0) / (b * (a + b)))
        )
    return F.cat([first, inner, last], dim)


def _gradient(self, spacings, dims, edge_order):
    check(edge_order in (1, 2), "torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = list(range(self.dim())) if dims is None else [
        normalize_dim(d, self.dim(), "torch.gradient") for d in dims
    ]
    check(len(set(dims)) == len(dims), "torch.gradient: dim appears multiple times")
    if not isinstance(spacings, list):
        spacings = [spacings] * len(dims)
    check(
        len(spacings) == len(dims),
        "torch.gradient expected spacing to be unspecified, a scalar, or it's spacing and dim "
        f"arguments to have the same length, but got {len(spacings)} and {len(dims)}",
    )
    return [
        _gradient_along(self, spacing, dim, edge_order)
        for spacing, dim in zip(spacings, dims, strict=True)
    ]


def _one_dim(dim):
    return None if dim is None else [dim]


@composite_implicit("gradient.scalarint")
def gradient_composite(self, *, spacing=None, dim=None, edge_order=1):
    return _gradient(self, 1.0 if spacing is None else spacing, _one_dim(dim), edge_order)


@composite_implicit("gradient.scalararray")
def gradient_scalararray_composite(self, *, spacing, dim, edge_order=1):
    return _gradient(self, spacing, dim, edge_order)


@composite_implicit("gradient.array")
def gradient_array_composite(self, *, dim, edge_order=1):
    return _gradient(self, 1.0, dim, edge_order)


@composite_implicit("gradient.scalarrayint", "gradient.tensorarrayint")
def gradient_arrayint_composite(self, *, spacing, dim=None, edge_order=1):
    return _gradient(self, list(spacing), _one_dim(dim), edge_order)


@composite_implicit("gradient.scalarrayarray", "gradient.tensorarray")
def gradient_arrayarray_composite(self, *, spacing, dim, edge_order=1):
    return _gradient(self, list(spacing), dim, edge_order)


# ---------------------------------------------------------------- covariance


@composite_implicit("cov")
def cov_composite(self, *, correction=1, fweights=None, aweights=None):
    check(
        self.dim() <= 2,
        "cov(): expected input to have two or fewer dimensions but got an input with "
        f"{self.dim()} dimensions",
    )
    check(self.dtype.name != "bool", "cov(): bool dtype is not supported for input")
    x = self if self.dim() == 2 else F.reshape(self, [1, -1])
    count = x.shape[1]
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        check(
            given.dim() <= 1 and given.numel() == count,
            f"cov(): expected {name} to have one dimension and the same number of elements as "
            f"there are observations, got {given.numel()} != {count}",
        )
        integral = not (given.is_floating_point() or given.is_complex())
        check(
            integral == (name == "fweights"),
            f"cov(): expected {name} to have "
            f"{'integral' if name == 'fweights' else 'floating point'} dtype but got "
            f"{given.dtype.scalar_name}",
        )
        F._assert_async(F.all(given >= 0), f"cov(): {name} cannot be negative")
        weights = given if weights is None else weights * given
    if weights is None:
        total = count
        mean = F.sum(x, [1], True) / count
    else:
        total = F.sum(weights)
        if count:
            F._assert_async(total != 0, "cov(): weights sum to zero, can't be normalized")
        mean = F.sum(x * weights, [1], True) / total
    if aweights is None or correction == 0:
        norm = total - correction
    elif fweights is None:
        norm = total - correction * F.sum(weights * aweights) / total
    else:
        norm = total - correction * F.sum(weights * aweights) / total
    centered = x - mean
    weighted = centered if weights is None else centered * weights
    product = F.mm(weighted, F.t(centered).conj())
    if hasattr(norm, "shape"):
        norm = F.clamp_min(norm, 0)
    else:
        norm = max(norm, 0)
    return F.squeeze(product / norm)


@composite_implicit("corrcoef")
def corrcoef_composite(self):
    check(
        self.dim() <= 2,
        "corrcoef(): expected input to have two or fewer dimensions but got an input with "
        f"{self.dim()} dimensions",
    )
    c = F.cov(self)
    if c.dim() == 0:
        return c / c
    d = F.diagonal(c)
    deviation = F.sqrt(F.real(d) if d.is_complex() else d)
    c = c / F.unsqueeze(deviation, 1) / F.unsqueeze(deviation, 0)
    if c.is_complex():
        return F.complex(F.clamp(F.real(c), -1, 1), F.clamp(F.imag(c), -1, 1))
    return F.clamp(c, -1, 1)


def common_dtype(tensors):
    """Return the type that all of `tensors` can be cast to."""
    result = tensors[0].dtype
    for tensor in tensors[1:]:
        result = promote_types(result, tensor.dtype)
    return result


@composite_implicit("sum_to_size")
def sum_to_size_composite(self, size):
    shape = tuple(self.shape)
    lead = len(shape) - len(size)
    fits = lead >= 0 and all(
        n in (1, m) for n, m in zip(size, shape[max(lead, 0) :], strict=True)
    )
    check(
        fits,
        f"sum_to_size(): size {list(size)} is not expandable to size {list(shape)}; each of its "
        "sizes must be 1 or the tensor's",
    )
    dims = [*range(lead), *(lead + i for i, n in enumerate(size) if n == 1 != shape[lead + i])]
    if not size:
        return F.sum(self)
    if not dims:
        return self
    return F.reshape(F.sum(self, dims, True), size)


@composite_explicit("_assert_async.msg")
def assert_composite(self, assert_msg):
    """Raise unless a tensor of one element is true, for each example."""
    if self.device.type != "meta":
        check(bool(F.all(innermost(self))), assert_msg)
