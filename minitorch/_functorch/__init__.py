"""PyTorch's paths of AOT autograd: the names are those of `minitorch.compiler`."""
