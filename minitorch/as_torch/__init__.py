"""Run PyTorch programs as they are: ``import torch`` gives minitorch.

From the command line ``python -m minitorch.as_torch script.py``, in a program `install`.  `missing_names` reads
programs, without running them, for what of PyTorch they use and minitorch does not have.
"""

from minitorch.as_torch.aliases import install, is_installed, uninstall
from minitorch.as_torch.usage import MissingName, missing_names

__all__ = ["MissingName", "install", "is_installed", "missing_names", "uninstall"]
