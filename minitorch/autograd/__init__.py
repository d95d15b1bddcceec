"""Automatic differentiation: recording, the backward engine, and the ways to use them."""
