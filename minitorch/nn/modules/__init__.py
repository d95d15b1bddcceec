"""The neural network modules."""

from minitorch.nn.modules import (
    activation,
    adaptive,
    batchnorm,
    container,
    conv,
    distance,
    dropout,
    instancenorm,
    lazy,
    linear,
    linear_cross_entropy,
    loss,
    normalization,
    padding,
    pooling,
    rnn,
    shape,
    sparse,
    transformer,
    utils,
)
from minitorch.nn.modules.activation import *
from minitorch.nn.modules.adaptive import *
from minitorch.nn.modules.batchnorm import *
from minitorch.nn.modules.container import *
from minitorch.nn.modules.conv import *
from minitorch.nn.modules.distance import *
from minitorch.nn.modules.dropout import *
from minitorch.nn.modules.instancenorm import *
from minitorch.nn.modules.lazy import *
from minitorch.nn.modules.linear import *
from minitorch.nn.modules.linear_cross_entropy import *
from minitorch.nn.modules.loss import *
from minitorch.nn.modules.module import Module
from minitorch.nn.modules.normalization import *
from minitorch.nn.modules.padding import *
from minitorch.nn.modules.pooling import *
from minitorch.nn.modules.rnn import *
from minitorch.nn.modules.shape import *
from minitorch.nn.modules.sparse import *
from minitorch.nn.modules.transformer import *

__all__ = [
    "Module",
    *activation.__all__,
    *adaptive.__all__,
    *batchnorm.__all__,
    *container.__all__,
    *conv.__all__,
    *distance.__all__,
    *dropout.__all__,
    *instancenorm.__all__,
    *lazy.__all__,
    *linear.__all__,
    *linear_cross_entropy.__all__,
    *loss.__all__,
    *normalization.__all__,
    *padding.__all__,
    *pooling.__all__,
    *rnn.__all__,
    *shape.__all__,
    *sparse.__all__,
    *transformer.__all__,
]
