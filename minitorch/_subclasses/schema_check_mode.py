"""PyTorch's path of the mode that checks schemas."""

from minitorch.modes.schema_check import Aliasing, Mutation, SchemaCheckMode

__all__ = ["Aliasing", "Mutation", "SchemaCheckMode"]
