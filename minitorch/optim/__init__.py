"""Optimizers and learning rate schedules: PyTorch's ``torch.optim``."""

from minitorch.optim.adam import Adam
from minitorch.optim.adamw import AdamW
from minitorch.optim.optimizer import Optimizer
from minitorch.optim.sgd import SGD
