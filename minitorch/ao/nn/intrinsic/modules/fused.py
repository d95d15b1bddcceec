"""Modules in a row that are quantized as one: only what the last returns is observed."""

from __future__ import annotations

from minitorch import nn

__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d",
    "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearBn1d", "LinearReLU",
]  # fmt: skip


class _FusedModule(nn.Sequential):
    """A sequence whose members are of given classes.

    Raises
    ------
    AssertionError
        If a member is of another class.
    """

    _members: tuple[type, ...] = ()

    def __init__(self, *modules: nn.Module):
        if self._members:
            found = tuple(type(m) for m in modules)
            if len(modules) != len(self._members) or not all(
                isinstance(m, cls) for m, cls in zip(modules, self._members, strict=True)
            ):
                raise AssertionError(
                    f"{type(self).__name__} consists of {[c.__name__ for c in self._members]}, not of "
                    f"{[c.__name__ for c in found]}"
                )
        super().__init__(*modules)


class ConvReLU1d(_FusedModule):
    """`Conv1d` and `ReLU`."""

    _members = (nn.Conv1d, nn.ReLU)


class ConvReLU2d(_FusedModule):
    """`Conv2d` and `ReLU`."""

    _members = (nn.Conv2d, nn.ReLU)


class ConvReLU3d(_FusedModule):
    """`Conv3d` and `ReLU`."""

    _members = (nn.Conv3d, nn.ReLU)


class LinearReLU(_FusedModule):
    """`Linear` and `ReLU`."""

    _members = (nn.Linear, nn.ReLU)


class ConvBn1d(_FusedModule):
    """`Conv1d` and `BatchNorm1d`, to be trained."""

    _members = (nn.Conv1d, nn.BatchNorm1d)


class ConvBn2d(_FusedModule):
    """`Conv2d` and `BatchNorm2d`, to be trained."""

    _members = (nn.Conv2d, nn.BatchNorm2d)


class ConvBn3d(_FusedModule):
    """`Conv3d` and `BatchNorm3d`, to be trained."""

    _members = (nn.Conv3d, nn.BatchNorm3d)


class ConvBnReLU1d(_FusedModule):
    """`Conv1d`, `BatchNorm1d` and `ReLU`, to be trained."""

    _members = (nn.Conv1d, nn.BatchNorm1d, nn.ReLU)


class ConvBnReLU2d(_FusedModule):
    """`Conv2d`, `BatchNorm2d` and `ReLU`, to be trained."""

    _members = (nn.Conv2d, nn.BatchNorm2d, nn.ReLU)


class ConvBnReLU3d(_FusedModule):
    """`Conv3d`, `BatchNorm3d` and `ReLU`, to be trained."""

    _members = (nn.Conv3d, nn.BatchNorm3d, nn.ReLU)


class BNReLU2d(_FusedModule):
    """`BatchNorm2d` and `ReLU`."""

    _members = (nn.BatchNorm2d, nn.ReLU)


class BNReLU3d(_FusedModule):
    """`BatchNorm3d` and `ReLU`."""

    _members = (nn.BatchNorm3d, nn.ReLU)


class LinearBn1d(_FusedModule):
    """`Linear` and `BatchNorm1d`, to be trained."""

    _members = (nn.Linear, nn.BatchNorm1d)
