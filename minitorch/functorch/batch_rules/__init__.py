"""The batch rules of the declared operators, by family."""
