"""The version, and what it was built with; the names of ``torch.version``."""

__version__ = "0.1.0"
cuda = None
hip = None
xpu = None
debug = False
git_version = "Unknown"
