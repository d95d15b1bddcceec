"""``torch.backends.mps``: Apple's GPUs, for which there is no backend; programs ask."""

def is_available() -> bool:
    """Return whether there is such a device: False."""
    return False


def is_built() -> bool:
    """Return whether there is a backend for such devices: False."""
    return False


def is_macos_or_newer(major: int, minor: int = 0) -> bool:
    """Return whether this is macOS of a version or a later one."""
    import platform

    release = platform.mac_ver()[0]
    return bool(release) and tuple(map(int, release.split(".")[:2])) >= (major, minor)
