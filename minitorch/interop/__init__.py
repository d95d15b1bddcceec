"""Other libraries with minitorch's tensors, where they need to be told of them: import the module of the library's name.

Libraries that ask arrays for their namespace (SciPy, scikit-learn) need nothing of this: `minitorch.array_api`.
"""
