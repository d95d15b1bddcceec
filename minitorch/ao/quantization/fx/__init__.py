"""Quantization of graphs: fusing, observing, converting; `quantize_fx` has the public functions."""
