"""What pytest loads where minitorch is installed (entry point ``pytest11``): the conformance kit's options, if it is to run.

A module beside the package, because importing one inside it imports all of minitorch, which other test runs have no use for.
"""

KIT = "minitorch.testing.conformance"


def pytest_load_initial_conftests(early_config, args):
    """Load the kit's plugin before pytest reads its options."""
    manager = early_config.pluginmanager
    if any(str(arg).startswith(KIT) for arg in args) and not manager.has_plugin(f"{KIT}.plugin"):
        manager.import_plugin(f"{KIT}.plugin")
