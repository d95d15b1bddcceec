"""The opencl package as anybody's backend: under another name and PrivateUse1."""

from minitorch.backends import opencl


def register():
    """Make the device ``mycl``."""
    opencl.register("mycl", "PrivateUse1")
