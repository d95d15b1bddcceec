"""Fourier transforms."""

from minitorch.ops.registry import CORE, FUNCTION, operator

operator(
    "_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
    out="_fft_c2c.out", variants=0,
)
operator(
    "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
    out="_fft_r2c.out", variants=0, tags=CORE,
)
operator(
    "_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
    out="_fft_c2r.out", variants=0, tags=CORE,
)
operator(
    "fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out="fft_fft.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out="fft_ifft.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out="fft_rfft.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out="fft_irfft.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out="fft_hfft.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out="fft_ihfft.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
    out="fft_fft2.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
    out="fft_ifft2.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
    out="fft_rfft2.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
    out="fft_irfft2.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_hfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
    out="fft_hfft2.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_ihfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
    out="fft_ihfft2.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
    out="fft_fftn.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
    out="fft_ifftn.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
    out="fft_rfftn.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
    out="fft_irfftn.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
    out="fft_hfftn.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
    out="fft_ihfftn.out", variants=FUNCTION, python_module="fft",
)
operator(
    "fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor",
    variants=FUNCTION, python_module="fft",
)
operator(
    "fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor",
    variants=FUNCTION, python_module="fft",
)
operator(
    "fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION, python_module="fft",
)
operator(
    "fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION, python_module="fft",
)
operator(
    "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
    "Tensor? window=None, bool normalized=False, bool? onesided=None, "
    "bool? return_complex=None, bool? align_to_window=None) -> Tensor",
    variants=0,
)
operator(
    'stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, '
    'Tensor? window=None, bool center=True, str pad_mode="reflect", bool normalized=False, '
    'bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor',
    variants=0,
)
operator(
    "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
    "Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, "
    "int? length=None, bool return_complex=False) -> Tensor",
    variants=0,
)
