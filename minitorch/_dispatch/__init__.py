"""PyTorch's path of the Python dispatcher."""
