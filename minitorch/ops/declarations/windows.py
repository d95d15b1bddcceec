"""Windows for spectra: what exists.  `signal.windows` has more of them."""

from minitorch.ops.registry import FUNCTION, operator

operator(
    "bartlett_window(int window_length, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "bartlett_window.periodic(int window_length, bool periodic, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "blackman_window(int window_length, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "blackman_window.periodic(int window_length, bool periodic, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "hann_window(int window_length, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "hann_window.periodic(int window_length, bool periodic, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "hamming_window(int window_length, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "hamming_window.periodic(int window_length, bool periodic, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "kaiser_window(int window_length, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "kaiser_window.periodic(int window_length, bool periodic, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "kaiser_window.beta(int window_length, bool periodic, float beta, "
    "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    variants=FUNCTION,
)
