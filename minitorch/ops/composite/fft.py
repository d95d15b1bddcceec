"""`torch.fft`: transforms of one and several dimensions, and short-time transforms."""

from __future__ import annotations

from minitorch.core.dtype import get_default_dtype
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_implicit
from minitorch.ops.shapes.common import check, normalize_dim, normalize_dims

_FORWARD = {None: 0, "backward": 0, "ortho": 1, "forward": 2}
_INVERSE = {None: 2, "backward": 2, "ortho": 1, "forward": 0}


def _normalization(norm, forward, name):
    check(norm in _FORWARD, f'{name}: Invalid normalization mode: "{norm}"')
    return (_FORWARD if forward else _INVERSE)[norm]


def _transformable(self, name, need_complex=False):
    """Return `self` in a type that can be transformed."""
    dtype = self.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = get_default_dtype()
    check(
        dtype.name in ("float32", "float64", "complex64", "complex128"),
        f"{name}: Unsupported dtype {dtype.scalar_name}; convert to float32 or float64",
    )
    if need_complex:
        dtype = dtype.to_complex()
    return self if dtype is self.dtype else self.to(dtype)


def _fitted(self, dims, sizes):
    """Cut, or fill with zeros, to the wanted size in each dimension (-1: as it is)."""
    for dim, wanted in zip(dims, sizes, strict=True):
        n = self.shape[dim]
        if wanted in (-1, n):
            continue
        if wanted < n:
            self = F.narrow(self, dim, 0, wanted)
        else:
            filler = list(self.shape)
            filler[dim] = wanted - n
            self = F.cat([self, F.new_zeros(self, filler)], dim)
    return self


def _positive(n, name):
    check(n >= 1, f"{name}: Invalid number of data points ({n}) specified")


# ---------------------------------------------------------------- one dimension


def _one(self, n, dim, name, need_complex):
    self = _transformable(self, name, need_complex)
    check(self.dim() > 0, f"{name}: expected at least one dimension, got a 0-dim tensor", IndexError)
    dim = normalize_dim(dim, self.dim(), name)
    size = self.shape[dim] if n is None else n
    _positive(size, name)
    return self, dim, size


def _to_complex(self, n, dim, norm, forward, name):
    self, dim, size = _one(self, n, dim, name, False)
    mode = _normalization(norm, forward, name)
    self = _fitted(self, [dim], [size])
    if self.is_complex():
        return F._fft_c2c(self, [dim], mode, forward)
    result = F._fft_r2c(self, [dim], mode, False)
    return result if forward else F.conj_physical(result)


def _half(self, n, dim, norm, forward, name):
    check(
        not self.is_complex(),
        f"{name} expects a real input tensor, but got {self.dtype.scalar_name}",
    )
    self, dim, size = _one(self, n, dim, name, False)
    mode = _normalization(norm, forward, name)
    result = F._fft_r2c(_fitted(self, [dim], [size]), [dim], mode, True)
    return result if forward else result.conj()


def _from_half(self, n, dim, norm, forward, name):
    self = _transformable(self, name, True)
    check(self.dim() > 0, f"{name}: expected at least one dimension, got a 0-dim tensor", IndexError)
    dim = normalize_dim(dim, self.dim(), name)
    size = 2 * (self.shape[dim] - 1) if n is None else n
    _positive(size, name)
    self = _fitted(self, [dim], [size // 2 + 1])
    if forward:
        self = self.conj()
    return F._fft_c2r(self, [dim], _normalization(norm, forward, name), size)


@composite_implicit("fft_fft")
def fft_composite(self, n=None, dim=-1, norm=None):
    return _to_complex(self, n, dim, norm, True, "fft")


@composite_implicit("fft_ifft")
def ifft_composite(self, n=None, dim=-1, norm=None):
    return _to_complex(self, n, dim, norm, False, "ifft")


@composite_implicit("fft_rfft")
def rfft_composite(self, n=None, dim=-1, norm=None):
    return _half(self, n, dim, norm, True, "rfft")


@composite_implicit("fft_ihfft")
def ihfft_composite(self, n=None, dim=-1, norm=None):
    return _half(self, n, dim, norm, False, "ihfft")


@composite_implicit("fft_irfft")
def irfft_composite(self, n=None, dim=-1, norm=None):
    return _from_half(self, n, dim, norm, False, "irfft")


@composite_implicit("fft_hfft")
def hfft_composite(self, n=None, dim=-1, norm=None):
    return _from_half(self, n, dim, norm, True, "hfft")


# ---------------------------------------------------------------- several dimensions


def _shape_and_dims(self, s, dim, name):
    """Return dims counted from the front, and a size for each."""
    ndim = self.dim()
    check(
        ndim > 0 or not dim,
        f"{name}: Dimension specified as {dim[0] if dim else None} but tensor has no dimensions",
        IndexError,
    )
    if dim is not None:
        dims = list(normalize_dims(dim, ndim, name)) if len(dim) else []
        check(
            len(set(dims)) == len(dims),
            f"{name}: FFT dims must be unique",
        )
        check(
            s is None or len(s) == len(dims),
            f"{name}: When given, dim and shape arguments must have the same length",
        )
    elif s is not None:
        check(
            len(s) <= ndim,
            f"{name}: Got shape with {len(s)} values but input tensor only has {ndim} dimensions.",
        )
        dims = list(range(ndim - len(s), ndim))
    else:
        dims = list(range(ndim))
    sizes = [self.shape[d] for d in dims]
    if s is not None:
        sizes = [n if given == -1 else given for n, given in zip(sizes, s, strict=True)]
    for n in sizes:
        _positive(n, name)
    return dims, sizes


def _many(self, s, dim, norm, forward, name):
    self = _transformable(self, name, True)
    dims, sizes = _shape_and_dims(self, s, dim, name)
    mode = _normalization(norm, forward, name)
    return F._fft_c2c(_fitted(self, dims, sizes), dims, mode, forward)


def _need_dims(dims, name):
    check(len(dims) > 0, f"{name} must transform at least one axis")


def _many_to_half(self, s, dim, norm, name):
    check(
        not self.is_complex(),
        f"{name} expects a real-valued input tensor, but got {self.dtype.scalar_name}",
    )
    self = _transformable(self, name)
    dims, sizes = _shape_and_dims(self, s, dim, name)
    _need_dims(dims, name)
    return F._fft_r2c(_fitted(self, dims, sizes), dims, _normalization(norm, True, name), True)


def _half_dims(self, s, dim, name):
    """Return dims, the sizes of the half spectrum, and the last size of the result."""
    self = _transformable(self, name, True)
    dims, sizes = _shape_and_dims(self, s, dim, name)
    _need_dims(dims, name)
    given = s[-1] if s is not None else -1
    last = 2 * (self.shape[dims[-1]] - 1) if given == -1 else given
    _positive(last, name)
    return _fitted(self, dims, [*sizes[:-1], last // 2 + 1]), dims, last


def _many_from_half(self, s, dim, norm, name):
    self, dims, last = _half_dims(self, s, dim, name)
    return F._fft_c2r(self, dims, _normalization(norm, False, name), last)


def _hermitian(self, s, dim, norm, name):
    self, dims, last = _half_dims(self, s, dim, name)
    mode = _normalization(norm, True, name)
    if len(dims) > 1:
        self = F._fft_c2c(self, dims[:-1], mode, True)
    return F._fft_c2r(self.conj(), dims[-1:], mode, last)


def _inverse_hermitian(self, s, dim, norm, name):
    check(
        not self.is_complex(),
        f"{name} expects a real-valued input tensor, but got {self.dtype.scalar_name}",
    )
    self = _transformable(self, name)
    dims, sizes = _shape_and_dims(self, s, dim, name)
    _need_dims(dims, name)
    mode = _normalization(norm, False, name)
    result = F._fft_r2c(_fitted(self, dims, sizes), dims[-1:], mode, True).conj()
    if len(dims) > 1:
        result = F._fft_c2c(result, dims[:-1], mode, False)
    return result


@composite_implicit("fft_fftn")
def fftn_composite(self, s=None, dim=None, norm=None):
    return _many(self, s, dim, norm, True, "fftn")


@composite_implicit("fft_ifftn")
def ifftn_composite(self, s=None, dim=None, norm=None):
    return _many(self, s, dim, norm, False, "ifftn")


@composite_implicit("fft_rfftn")
def rfftn_composite(self, s=None, dim=None, norm=None):
    return _many_to_half(self, s, dim, norm, "rfftn")


@composite_implicit("fft_irfftn")
def irfftn_composite(self, s=None, dim=None, norm=None):
    return _many_from_half(self, s, dim, norm, "irfftn")


@composite_implicit("fft_hfftn")
def hfftn_composite(self, s=None, dim=None, norm=None):
    return _hermitian(self, s, dim, norm, "hfftn")


@composite_implicit("fft_ihfftn")
def ihfftn_composite(self, s=None, dim=None, norm=None):
    return _inverse_hermitian(self, s, dim, norm, "ihfftn")


@composite_implicit("fft_fft2")
def fft2_composite(self, s=None, dim=(-2, -1), norm=None):
    return _many(self, s, dim, norm, True, "fft2")


@composite_implicit("fft_ifft2")
def ifft2_composite(self, s=None, dim=(-2, -1), norm=None):
    return _many(self, s, dim, norm, False, "ifft2")


@composite_implicit("fft_rfft2")
def rfft2_composite(self, s=None, dim=(-2, -1), norm=None):
    return _many_to_half(self, s, dim, norm, "rfft2")


@composite_implicit("fft_irfft2")
def irfft2_composite(self, s=None, dim=(-2, -1), norm=None):
    return _many_from_half(self, s, dim, norm, "irfft2")


@composite_implicit("fft_hfft2")
def hfft2_composite(self, s=None, dim=(-2, -1), norm=None):
    return _hermitian(self, s, dim, norm, "hfft2")


@composite_implicit("fft_ihfft2")
def ihfft2_composite(self, s=None, dim=(-2, -1), norm=None):
    return _inverse_hermitian(self, s, dim, norm, "ihfft2")


# ---------------------------------------------------------------- frequencies


def _shift_dims(self, dim):
    return list(range(self.dim())) if dim is None else [
        normalize_dim(d, self.dim(), "fftshift") for d in dim
    ]


@composite_implicit("fft_fftshift")
def fftshift_composite(self, dim=None):
    dims = _shift_dims(self, dim)
    return F.roll(self, [self.shape[d] // 2 for d in dims], dims) if dims else F.clone(self)


@composite_implicit("fft_ifftshift")
def ifftshift_composite(self, dim=None):
    dims = _shift_dims(self, dim)
    return F.roll(self, [(self.shape[d] + 1) // 2 for d in dims], dims) if dims else F.clone(self)


def _frequency_dtype(dtype):
    dtype = get_default_dtype() if dtype is None else dtype
    check(
        dtype.is_floating_point or dtype.is_complex,
        f"fftfreq requires a floating point or complex dtype, got {dtype.name}",
    )
    return dtype


@composite_implicit("fft_fftfreq")
def fftfreq_composite(n, d=1.0, *, dtype=None, layout=None, device=None, pin_memory=None):
    dtype = _frequency_dtype(dtype)
    half = (n + 1) // 2
    parts = [
        F.arange(0, half, 1, dtype=dtype, device=device),
        F.arange(-(n // 2), 0, 1, dtype=dtype, device=device),
    ]
    return F.cat(parts) * (1.0 / (n * d))


@composite_implicit("fft_rfftfreq")
def rfftfreq_composite(n, d=1.0, *, dtype=None, layout=None, device=None, pin_memory=None):
    dtype = _frequency_dtype(dtype)
    return F.arange(0, n // 2 + 1, 1, dtype=dtype, device=device) * (1.0 / (n * d))


# ---------------------------------------------------------------- short-time transforms


def _padded_window(self, window, win_length, n_fft, name):
    """Return the window, with zeros on both sides up to the length of a frame."""
    check(
        0 < win_length <= n_fft,
        f"{name}: expected 0 < win_length <= n_fft, but got win_length={win_length}",
    )
    check(
        window is None or (window.dim() == 1 and window.shape[0] == win_length),
        f"{name}: expected a 1D window tensor of size equal to win_length={win_length}, but got "
        f"window with size {None if window is None else list(window.shape)}",
    )
    if window is None:
        if win_length == n_fft:
            return None
        real = self.dtype.to_real()
        window = F.ones([win_length], dtype=real, device=self.device)
    if win_length < n_fft:
        left = (n_fft - win_length) // 2
        right = n_fft - win_length - left
        window = F.cat([F.new_zeros(window, [left]), window, F.new_zeros(window, [right])])
    return window


@composite_implicit("stft")
def stft_composite(
    self, n_fft, hop_length=None, win_length=None, window=None, normalized=False, onesided=None,
    return_complex=None, align_to_window=None,
):  # fmt: skip
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    check(
        self.is_floating_point() or self.is_complex(),
        "stft: expected a tensor of floating point or complex values",
    )
    check(
        self.dim() in (1, 2),
        f"stft: expected a 1D or 2D tensor, but got shape {list(self.shape)}",
    )
    complex_window = window is not None and window.is_complex()
    check(
        return_complex is not None or self.is_complex() or complex_window,
        "stft requires the return_complex parameter be given for real inputs, and will further "
        "require that return_complex=True in a future PyTorch release.",
    )
    x = self if self.dim() == 2 else F.unsqueeze(self, 0)
    length = x.shape[1]
    check(
        0 < n_fft <= length,
        f"stft: expected 0 < n_fft <= {length}, but got n_fft={n_fft}",
    )
    check(hop > 0, f"stft: expected hop_length > 0, but got hop_length={hop}")
    window = _padded_window(self, window, win_length, n_fft, "stft")
    frames = F.unfold(x, 1, n_fft, hop)
    if window is not None:
        frames = frames * window
    is_complex = frames.is_complex()
    if onesided is None:
        onesided = not is_complex
    check(
        not (onesided and is_complex),
        "Cannot have onesided output if window or input is complex",
    )
    norm = "ortho" if normalized else None
    if onesided:
        result = F.fft_rfft(frames, None, -1, norm)
    else:
        result = F.fft_fft(frames, None, -1, norm)
    result = F.transpose(result, 1, 2)
    if self.dim() == 1:
        result = F.squeeze(result, 0)
    return F.view_as_real(result) if return_complex is False else result


def pad_sides(x, amount, mode):
    """Pad the last dimension of a batch of signals on both sides."""
    if mode == "constant":
        return F.constant_pad_nd(x, [amount, amount], 0.0)
    turned = F.unsqueeze(x, 1)
    if mode == "reflect":
        turned = F.reflection_pad1d(turned, [amount, amount])
    elif mode == "replicate":
        turned = F.replication_pad1d(turned, [amount, amount])
    elif mode == "circular":
        length = x.shape[-1]
        before = F.narrow(turned, -1, length - amount, amount)
        after = F.narrow(turned, -1, 0, amount)
        turned = F.cat([before, turned, after], -1)
    else:
        raise NotImplementedError(f"stft: unrecognised padding mode {mode}")
    return F.squeeze(turned, 1)


@composite_implicit("stft.center")
def stft_center_composite(
    self, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect",
    normalized=False, onesided=None, return_complex=None, align_to_window=None,
):  # fmt: skip
    check(
        self.dim() in (1, 2),
        f"stft: expected a 1D or 2D tensor, but got shape {list(self.shape)}",
    )
    x = self
    if center:
        x = pad_sides(F.unsqueeze(x, 0) if x.dim() == 1 else x, n_fft // 2, pad_mode)
        if self.dim() == 1:
            x = F.squeeze(x, 0)
    return stft_composite(
        x, n_fft, hop_length, win_length, window, normalized, onesided, return_complex
    )


def _overlap_add(frames, hop):
    """Return signals in which each of `frames` (batch, count, size) starts `hop` samples on."""
    batch, count, size = frames.shape
    total = size + hop * (count - 1)
    from minitorch.core.dtype import int64

    starts = F.arange(0, count * hop, hop, dtype=int64, device=frames.device)
    inside = F.arange(0, size, 1, dtype=int64, device=frames.device)
    places = F.reshape(F.unsqueeze(starts, 1) + inside, [-1])
    signals = F.new_zeros(frames, [batch, total])
    return F.index_add(signals, 1, places, F.reshape(frames, [batch, count * size]))


@composite_implicit("istft")
def istft_composite(
    self, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False,
    onesided=None, length=None, return_complex=False,
):  # fmt: skip
    check(
        self.is_complex(),
        "istft requires a complex-valued input tensor matching the output from stft with "
        "return_complex=True.",
    )
    check(
        self.dim() in (2, 3) and self.numel() > 0,
        f"istft: expected a non-empty tensor with 2 or 3 dimensions, but got {list(self.shape)}",
    )
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    check(0 < hop <= win_length, "istft: expected 0 < hop_length <= win_length")
    spectrum = self if self.dim() == 3 else F.unsqueeze(self, 0)
    bins, count = spectrum.shape[1], spectrum.shape[2]
    onesided = bins != n_fft if onesided is None else onesided
    check(
        bins == (n_fft // 2 + 1 if onesided else n_fft),
        f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match "
        f"n_fft={n_fft} when onesided={onesided}, but got {bins}",
    )
    check(
        not (onesided and return_complex),
        "cannot have onesided output if window or input is complex",
    )
    window = _padded_window(self, window, win_length, n_fft, "istft")
    if window is None:
        window = F.ones([n_fft], dtype=self.dtype.to_real(), device=self.device)
    frames = F.transpose(spectrum, 1, 2)
    norm = "ortho" if normalized else None
    if return_complex:
        frames = F.fft_ifft(frames, None, -1, norm)
    elif onesided:
        frames = F.fft_irfft(frames, n_fft, -1, norm)
    else:
        frames = F.fft_irfft(F.narrow(frames, -1, 0, n_fft // 2 + 1), n_fft, -1, norm)
    signals = _overlap_add(frames * window, hop)
    squares = F.expand(F.reshape(window * window, [1, 1, n_fft]), [1, count, n_fft])
    envelope = _overlap_add(squares, hop)
    total = signals.shape[1]
    start = n_fft // 2 if center else 0
    if length is not None:
        end = start + length
    else:
        end = total - n_fft // 2 if center else total
    stop = min(end, total)
    signals = F.narrow(signals, 1, start, stop - start)
    envelope = F.narrow(envelope, 1, start, stop - start)
    F._assert_async(F.all(F.abs(envelope) > 1e-11), "istft(): window overlap add min: 1")
    result = signals / envelope
    if end > total:
        result = F.cat([result, F.new_zeros(result, [result.shape[0], end - total])], 1)
    return F.squeeze(result, 0) if self.dim() == 2 else result
