"""Passes over graphs: what computes shapes, finds, replaces, splits and fuses."""
