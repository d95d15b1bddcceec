"""The neural network modules."""

from minitorch.nn.modules.activation import *  # noqa: F403
from minitorch.nn.modules.batchnorm import *  # noqa: F403
from minitorch.nn.modules.container import *  # noqa: F403
from minitorch.nn.modules.conv import *  # noqa: F403
from minitorch.nn.modules.distance import *  # noqa: F403
from minitorch.nn.modules.dropout import *  # noqa: F403
from minitorch.nn.modules.instancenorm import *  # noqa: F403
from minitorch.nn.modules.linear import *  # noqa: F403
from minitorch.nn.modules.loss import *  # noqa: F403
from minitorch.nn.modules.module import Module
from minitorch.nn.modules.normalization import *  # noqa: F403
from minitorch.nn.modules.padding import *  # noqa: F403
from minitorch.nn.modules.pooling import *  # noqa: F403
from minitorch.nn.modules.rnn import *  # noqa: F403
from minitorch.nn.modules.shape import *  # noqa: F403
from minitorch.nn.modules.sparse import *  # noqa: F403
from minitorch.nn.modules.transformer import *  # noqa: F403
