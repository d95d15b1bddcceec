"""Where a model of modules becomes quantized and where it ends to be: `QuantStub` and `DeQuantStub`."""

from __future__ import annotations

from typing import Any

from minitorch.nn.modules.module import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class QuantStub(Module):
    """Observes its input; `convert` makes it a module that quantizes.

    Parameters
    ----------
    qconfig : QConfig, optional
        Where it is not that of the model.
    """

    def __init__(self, qconfig: Any = None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class DeQuantStub(Module):
    """Returns its input; `convert` makes it a module that dequantizes.

    Parameters
    ----------
    qconfig : QConfig, optional
    """

    def __init__(self, qconfig: Any = None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class QuantWrapper(Module):
    """A module between a `QuantStub` and a `DeQuantStub`.

    Parameters
    ----------
    module : Module
    """

    quant: QuantStub
    dequant: DeQuantStub
    module: Module

    def __init__(self, module: Module):
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Any) -> Any:
        return self.dequant(self.module(self.quant(X)))
