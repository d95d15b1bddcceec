"""``python -m minitorch.testing.conformance``: pytest with the kit's options, on the kit."""

import sys

import pytest

if __name__ == "__main__":
    plugin = ["-p", "minitorch.testing.conformance.plugin"]
    sys.exit(pytest.main([*plugin, "--pyargs", "minitorch.testing.conformance", *sys.argv[1:]]))
