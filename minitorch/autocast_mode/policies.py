"""Which operator computes in which dtype under autocast: one table for each device type.

A `PolicyTable` is a mapping that can be read, printed and changed; a change is in force with the next call.

Note [Who is in a table]
    The lists are PyTorch's, of the operators that exist here (spec C9, C10; a test compares them), and short ones
    of operators that need a policy only here (`_HERE`).  What is in no list promotes its dtypes as it does without
    autocast, and what is made of other operators is cast in its pieces.  ``out=`` and in-place forms are in no
    list: the tensor that they write to has its dtype.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from functools import cache
from typing import Any

from minitorch.autocast_mode.kernels import KERNELS, AutocastKernel, DerivedFormKernel
from minitorch.core.device import device
from minitorch.dispatch.dispatcher import register_kernel, unregister_kernel
from minitorch.dispatch.operator import OPERATORS
from minitorch.dispatch.scopes import autocast_key
from minitorch.ops.derived import DerivedInplace, DerivedOut

__all__ = ["POLICIES", "PolicyTable", "policies"]

POLICIES = {
    "lower_precision_fp": "compute in autocast's dtype",
    "fp32": "compute in float32",
    "fp32_set_opt_dtype": "ask for a float32 result, unless a dtype is given",
    "fp32_append_dtype": "call the overload that takes a dtype, with float32",
    "promote": "compute in the widest dtype among the arguments and autocast's",
    "banned": "refuse, and say what to call instead",
}
"""The policies, and what each does."""

_CPU = {
    "lower_precision_fp": """
        addbmm addmm baddbmm bmm conv1d conv1d.padding conv2d conv2d.padding conv3d conv3d.padding conv_tbc
        conv_transpose1d conv_transpose2d.input conv_transpose3d.input linalg_vecdot linear matmul mm prelu
        scaled_dot_product_attention
        """,
    "fp32": """
        adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d cdist cholesky cholesky_inverse cholesky_solve
        fake_quantize_per_tensor_affine fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2
        fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2
        fft_rfftn fractional_max_pool2d fractional_max_pool3d geqrf grid_sampler grid_sampler_2d grid_sampler_3d inverse
        linalg_cholesky linalg_cholesky_ex linalg_cond linalg_cond.p_str linalg_eig linalg_eigh linalg_eigvals
        linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank
        linalg_matrix_rank.atol_rtol_float linalg_matrix_rank.atol_rtol_tensor linalg_matrix_rank.tol_tensor linalg_qr
        linalg_solve linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve lu_solve max_pool3d max_unpool2d
        max_unpool3d nanquantile nanquantile.scalar orgqr ormqr pinverse polar prod prod.dim_int qr quantile
        quantile.scalar reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d stft
        stft.center svd trace triangular_solve view_as_complex
        binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy_loss ctc_loss.IntList
        ctc_loss.Tensor hinge_embedding_loss huber_loss kl_div l1_loss margin_ranking_loss mse_loss multi_margin_loss
        multilabel_margin_loss nll_loss nll_loss2d poisson_nll_loss smooth_l1_loss soft_margin_loss triplet_margin_loss
        """,
    "promote": "cat index_copy stack",
}

# Of CUDA, and of the other devices that compute like it.
_GPU = {
    "lower_precision_fp": """
        _convolution addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc conv_transpose1d
        conv_transpose2d.input conv_transpose3d.input convolution einsum gru_cell linalg_multi_dot linalg_vecdot linear
        lstm_cell matmul mm mv prelu rnn_relu_cell rnn_tanh_cell scaled_dot_product_attention
        """,
    "fp32": """
        _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d
        _upsample_nearest_exact3d acos asin cdist cosh cosine_similarity dist erfinv exp expm1 frobenius_norm.dim group_norm
        layer_norm log log10 log1p log2 logsumexp native_layer_norm nuclear_norm nuclear_norm.dim pdist pow.Scalar
        pow.Tensor_Scalar pow.Tensor_Tensor reciprocal renorm rms_norm rsqrt sinh softplus tan upsample_bicubic2d
        upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d
        upsample_trilinear3d
        binary_cross_entropy_with_logits cosine_embedding_loss hinge_embedding_loss huber_loss kl_div l1_loss
        margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss nll_loss2d poisson_nll_loss
        smooth_l1_loss soft_margin_loss triplet_margin_loss
        """,
    "fp32_set_opt_dtype": """
        cumprod cumsum linalg_matrix_norm linalg_matrix_norm.str_ord linalg_vector_norm log_softmax.int prod prod.dim_int
        softmax.int sum sum.dim_IntList
        """,
    "fp32_append_dtype": "norm.Scalar norm.ScalarOpt_dim",
    "promote": """
        addcdiv addcmul atan2 cross dot grid_sampler index_put scatter_add tensordot vdot
        """,
    "banned": "binary_cross_entropy",
}

# Operators of this package, and of PyTorch those that are made of other operators only here, so that they do what
# PyTorch's do by the lists above: its nll_loss_nd calls nll_loss, its square calls pow, its cross_entropy_loss
# log_softmax, and cuDNN's recurrent layers compute in autocast's dtype.
_HERE = {"fp32": "linalg_lu_solve nll_loss_nd"}
_HERE_ON_GPU = {
    "fp32": "cross_entropy_loss linalg_lu_solve nll_loss_nd square",
    "lower_precision_fp": "_fused_gru_layer _fused_lstm_layer _fused_rnn_layer",
}


class PolicyTable(MutableMapping[str, str]):
    """The policies of one device type, from operator to the name of its policy.

    Operators are named ``"mm"``, ``"aten::mm"`` or ``"sum.dim_IntList"``, or are operator objects; those without a
    namespace are of ``aten``.

    Attributes
    ----------
    device_type : str

    Raises
    ------
    ValueError
        By assignment of what is none of `POLICIES`, or of one that the operator's schema has no place for.
    KeyError
        By assignment to an operator that does not exist.

    Examples
    --------
    >>> table = policies("cpu")
    >>> table["mm"], "softmax.int" in table
    ('lower_precision_fp', False)
    >>> table["softmax.int"] = "fp32"  # from now on, in float32 under autocast
    >>> del table["softmax.int"]
    """

    def __init__(self, device_type: str, *lists: dict[str, str]):
        self.device_type = device_type
        self._key = autocast_key(device_type)
        self._kernels: dict[str, AutocastKernel] = {}
        self._forms: dict[str, AutocastKernel] = {}
        for policy, names in [item for by_policy in lists for item in by_policy.items()]:
            for name in names.split():
                # What somebody registered for the key already stays, as with a backend that brings its own kernels.
                if OPERATORS[_qualified(name)].active(self._key.name) is None:
                    self[name] = policy

    def __getitem__(self, operator: Any) -> str:
        return self._kernels[_qualified(operator)].policy

    def __setitem__(self, operator: Any, policy: str) -> None:
        name = _qualified(operator)
        if policy not in KERNELS:
            raise ValueError(f"autocast policy of {name}: expected one of {', '.join(POLICIES)}, not {policy!r}")
        if name not in OPERATORS:
            raise KeyError(f"autocast policy of {name}: there is no operator of this name")
        kernel = KERNELS[policy](OPERATORS[name], self.device_type, self._key)
        if name in self._kernels:
            unregister_kernel(OPERATORS[name], self._kernels.pop(name))
        else:
            for form in _forms_of(name):
                derived = DerivedFormKernel(OPERATORS[form], self.device_type, self._key)
                register_kernel(form, self._key, derived, warn_override=False)
                self._forms[form] = derived
        register_kernel(name, self._key, kernel, warn_override=False)
        self._kernels[name] = kernel

    def __delitem__(self, operator: Any) -> None:
        name = _qualified(operator)
        unregister_kernel(OPERATORS[name], self._kernels.pop(name))
        for form in _forms_of(name):
            unregister_kernel(OPERATORS[form], self._forms.pop(form))

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __contains__(self, operator: object) -> bool:
        return _qualified(operator) in self._kernels

    def __repr__(self) -> str:
        return f"<autocast policies of {self.device_type}: {len(self)} operators>"

    def __str__(self) -> str:
        lines = [f"autocast policies of {self.device_type}"]
        for policy, effect in POLICIES.items():
            names = sorted(name.removeprefix("aten::") for name in self if self[name] == policy)
            if names:
                lines.append(f"{policy} ({effect}):")
                lines += _wrapped(names)
        return "\n".join(lines)


@cache
def _all_forms() -> dict[str, list[str]]:
    """Return, for each operator, its in-place and ``out=`` forms that are computed by calling it."""
    found: dict[str, list[str]] = {}
    for name, op in OPERATORS.items():
        for stack in op.kernels.values():
            if isinstance(stack[-1], (DerivedInplace, DerivedOut)):
                found.setdefault(stack[-1].functional.qualname, []).append(name)
    return found


def _forms_of(name: str) -> list[str]:
    return _all_forms().get(name, [])


def _qualified(operator: Any) -> str:
    """Return an operator's name as the dispatcher has it: ``aten::mm``, ``aten::sum.dim_IntList``."""
    name = operator if isinstance(operator, str) else getattr(operator, "qualname", str(operator))
    name = name if "::" in name else f"aten::{name}"
    return name.removesuffix(".default")


def _wrapped(names: list[str], width: int = 100) -> list[str]:
    lines, line = [], "   "
    for name in names:
        if len(line) + len(name) >= width:
            lines.append(line)
            line = "   "
        line += f" {name}"
    return [*lines, line]


_LISTS_OF_GPU = (_GPU, _HERE_ON_GPU)
_LISTS = {"cpu": (_CPU, _HERE), **dict.fromkeys(("cuda", "opencl", "mtia", "maia"), _LISTS_OF_GPU)}
_TABLES: dict[str, PolicyTable] = {}


def policies(device_type: str) -> PolicyTable:
    """Return the table of a device type: which operator computes in which dtype under autocast there.

    Parameters
    ----------
    device_type : str
        ``"cpu"``, ``"cuda"``, ``"opencl"``, or a device of a registered backend.

    Returns
    -------
    PolicyTable
        The table itself, not a copy.  That of a backend registered by `minitorch.backends` begins with CUDA's
        lists if the backend has ``autocast_dtypes``, and empty otherwise.

    Raises
    ------
    RuntimeError
        If the device type is unknown, or has no autocast.

    Examples
    --------
    >>> policies("cuda")["softmax.int"]
    'fp32_set_opt_dtype'
    >>> print(policies("cpu"))  # doctest: +ELLIPSIS
    autocast policies of cpu
    lower_precision_fp (compute in autocast's dtype):
        addbmm addmm ...
    """
    kind = device(device_type).type
    table = _TABLES.get(kind)
    if table is None:
        from minitorch.autocast_mode.devices import key_of, takes_gpu_lists

        key_of(kind)  # says which devices have autocast, where this one has not
        lists = _LISTS.get(kind) or (_LISTS_OF_GPU if takes_gpu_lists(kind) else ())
        table = _TABLES[kind] = PolicyTable(kind, *lists)
    return table
