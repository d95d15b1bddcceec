"""Which modules in a row are fused, and to what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch import nn
from minitorch.ao.nn import intrinsic as nni
from minitorch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["fuse_conv_bn", "fuse_conv_bn_relu", "fuse_convtranspose_bn", "fuse_linear_bn", "get_fuser_method"]

_TO_TRAIN = {
    nn.Conv1d: (nni.ConvBn1d, nni.ConvBnReLU1d), nn.Conv2d: (nni.ConvBn2d, nni.ConvBnReLU2d),
    nn.Conv3d: (nni.ConvBn3d, nni.ConvBnReLU3d),
}  # fmt: skip
_WITH_RELU = {nn.Conv1d: nni.ConvReLU1d, nn.Conv2d: nni.ConvReLU2d, nn.Conv3d: nni.ConvReLU3d}


def _check_together(first: Any, bn: Any, what: str) -> None:
    if first.training != bn.training:
        raise AssertionError(f"{what} and BN both must be in the same mode (train or eval).")


def _check_trainable(conv: Any, bn: Any) -> None:
    if bn.num_features != conv.out_channels:
        raise AssertionError(
            f"Output channel of Conv must match num_features of BatchNorm: {conv.out_channels} and {bn.num_features}"
        )
    if not bn.affine or not bn.track_running_stats:
        raise AssertionError(
            "Only support fusing BatchNorm with affine set to True and track_running_stats set to True"
        )


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Any) -> Any:
    """Return a convolution and its batch norm as one module: to be trained, or with the norm folded in.

    Raises
    ------
    AssertionError
        If one is in training mode and the other is not.
    """
    _check_together(conv, bn, "Conv")
    if not is_qat:
        return fuse_conv_bn_eval(conv, bn)
    _check_trainable(conv, bn)
    return _TO_TRAIN[type(conv)][0](conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Any, relu: Any) -> Any:
    """Return a convolution, its batch norm and `ReLU` as one module: to be trained, or with the norm folded in.

    Raises
    ------
    AssertionError
        If they are not all in the same mode.
    """
    if not conv.training == bn.training == relu.training:
        raise AssertionError("Conv, BN and ReLU all must be in the same mode (train or eval).")
    if not is_qat:
        return _WITH_RELU[type(conv)](fuse_conv_bn_eval(conv, bn), relu)
    _check_trainable(conv, bn)
    return _TO_TRAIN[type(conv)][1](conv, bn, relu)


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Any) -> Any:
    """Return a linear map and its batch norm as one module: to be trained, or with the norm folded in."""
    _check_together(linear, bn, "Linear")
    return nni.LinearBn1d(linear, bn) if is_qat else fuse_linear_bn_eval(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Any, bn: Any) -> Any:
    """Return a transposed convolution with the batch norm after it folded in."""
    _check_together(convt, bn, "ConvTranspose")
    if is_qat:
        raise AssertionError("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")
    return fuse_conv_bn_eval(convt, bn, transpose=True)


def _in_a_row(fused: type) -> Callable[..., Any]:
    return lambda is_qat, *modules: fused(*modules)


_FUSERS: dict[tuple[type, ...], Callable[..., Any]] = {
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn,
    (nn.Linear, nn.ReLU): _in_a_row(nni.LinearReLU),
    (nn.BatchNorm2d, nn.ReLU): _in_a_row(nni.BNReLU2d),
    (nn.BatchNorm3d, nn.ReLU): _in_a_row(nni.BNReLU3d),
    (nn.ConvTranspose1d, nn.BatchNorm1d): fuse_convtranspose_bn,
    (nn.ConvTranspose2d, nn.BatchNorm2d): fuse_convtranspose_bn,
    (nn.ConvTranspose3d, nn.BatchNorm3d): fuse_convtranspose_bn,
}
for _conv, _bn in ((nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d)):
    _FUSERS[(_conv, _bn)] = fuse_conv_bn
    _FUSERS[(_conv, _bn, nn.ReLU)] = fuse_conv_bn_relu
    _FUSERS[(_conv, nn.ReLU)] = _in_a_row(_WITH_RELU[_conv])


def get_fuser_method(op_list: Any, additional_fuser_method_mapping: dict | None = None) -> Callable[..., Any]:
    """Return what fuses modules of given classes: ``fuser(is_qat, *modules)``.

    Raises
    ------
    AssertionError
        If nothing does.
    """
    method = {**_FUSERS, **(additional_fuser_method_mapping or {})}.get(tuple(op_list))
    if method is None:
        names = [cls.__name__ for cls in op_list]
        raise AssertionError(f"did not find fuser method for: {names}; see fuser_method_mappings for what can be fused")
    return method
