"""Programs for those who work on minitorch: ``python -m minitorch.tools``."""
