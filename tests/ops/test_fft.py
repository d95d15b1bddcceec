"""Fourier transforms against NumPy's, their gradients, and the short-time transforms."""

import numpy as np
import pytest

import minitorch as mt

RNG = np.random.default_rng(0)


def array(*shape, complex=False):
    values = RNG.standard_normal(shape)
    return values + 1j * RNG.standard_normal(shape) if complex else values


def same(tensor, expected):
    assert tuple(tensor.shape) == expected.shape
    np.testing.assert_allclose(tensor.detach().resolve_conj().numpy(), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 4, 9])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_dimension(name, n, norm):
    for complex in (False, True):
        if complex and name in ("rfft", "ihfft"):
            continue
        x = array(3, 6, complex=complex)
        for axis in (-1, 0):
            expected = getattr(np.fft, name)(x, n, axis, norm)
            same(getattr(mt.fft, name)(mt.from_numpy(x), n, axis, norm), expected)


@pytest.mark.parametrize(
    ("s", "dim"), [(None, None), (None, (0, 2)), ((4, 3), None), ((2, 7), (2, 0)), ((-1, 3), (0, 1))]
)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_several_dimensions(name, s, dim):
    x = array(3, 4, 5, complex=name != "rfftn")
    axes = dim if dim is not None or s is None else tuple(range(3 - len(s), 3))
    sizes = None if s is None else [x.shape[a] if n == -1 else n for a, n in zip(axes, s, strict=True)]
    expected = getattr(np.fft, name)(x, sizes, axes)
    same(getattr(mt.fft, name)(mt.from_numpy(x), s, dim), expected)


def test_hermitian_transforms_undo_each_other():
    x = mt.from_numpy(array(3, 4, 6))
    same(mt.fft.hfftn(mt.fft.ihfftn(x), (3, 4, 6)), x.numpy())
    same(mt.fft.irfft2(mt.fft.rfft2(x)), x.numpy())


def test_types():
    assert mt.fft.fft(mt.ones(4)).dtype is mt.complex64
    assert mt.fft.fft(mt.ones(4, dtype=mt.int64)).dtype is mt.complex64
    assert mt.fft.irfft(mt.ones(3, dtype=mt.complex128)).dtype is mt.float64
    with pytest.raises(RuntimeError, match="real"):
        mt.fft.rfft(mt.ones(3, dtype=mt.complex64))
    with pytest.raises(RuntimeError, match="Half"):
        mt.fft.fft(mt.ones(3, dtype=mt.float16))
    with pytest.raises(RuntimeError, match="data points"):
        mt.fft.fft(mt.ones(3), 0)
    with pytest.raises(RuntimeError, match="normalization"):
        mt.fft.fft(mt.ones(3), norm="half")


def test_transformed_dimensions_are_innermost():
    x = mt.ones(5, 6, 7)
    assert mt.fft.fft(x, dim=1).stride() == (42, 1, 6)
    assert mt.fft.fft(x).is_contiguous()


@pytest.mark.parametrize("n", [5, 6])
def test_frequencies(n):
    same(mt.fft.fftfreq(n, 0.5, dtype=mt.float64), np.fft.fftfreq(n, 0.5))
    same(mt.fft.rfftfreq(n, dtype=mt.float64), np.fft.rfftfreq(n))
    x = mt.arange(float(n))
    same(mt.fft.ifftshift(mt.fft.fftshift(x)), x.numpy())
    same(mt.fft.fftshift(x), np.fft.fftshift(x.numpy()))


@pytest.mark.parametrize("n", [5, 6])
@pytest.mark.parametrize(
    ("name", "complex"),
    [("fft", True), ("fft", False), ("ifft", True), ("rfft", False), ("irfft", True), ("hfft", True)],
)
def test_gradients_are_the_adjoint_transforms(name, complex, n):
    x = mt.from_numpy(array(n, complex=complex)).requires_grad_()
    y = getattr(mt.fft, name)(x, norm="ortho")
    g = array(*y.shape, complex=y.is_complex())
    y.backward(mt.from_numpy(g))
    direction = array(n, complex=complex)
    out = getattr(mt.fft, name)(mt.from_numpy(direction), norm="ortho").numpy()
    np.testing.assert_allclose(
        np.real(np.sum(x.grad.numpy().conj() * direction)), np.real(np.sum(g.conj() * out)), rtol=1e-9
    )


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("onesided", [False, True])
def test_short_time_transform_and_back(center, onesided):
    x = mt.from_numpy(array(2, 64))
    window = mt.ones(16, dtype=mt.float64) * 0.5
    spectrum = mt.stft(
        x, 16, 4, window=window, center=center, onesided=onesided, return_complex=True
    )
    assert spectrum.shape == (2, 9 if onesided else 16, 17 if center else 13)
    if not center:
        first = np.fft.fft(x.numpy()[:, :16] * 0.5)[:, : spectrum.shape[1]]
        same(spectrum[:, :, 0], first)
    back = mt.istft(spectrum, 16, 4, window=window, center=center, onesided=onesided, length=64)
    same(back, x.numpy())
