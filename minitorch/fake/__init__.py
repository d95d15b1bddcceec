"""Tensors without elements that know how to behave: fake tensors, and sizes that are not known yet."""
