"""The operators of ``minitorch.ops.quantized``, by their families; importing the modules defines them."""
