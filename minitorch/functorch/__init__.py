"""The function transforms: the interpreter stack, `vmap`, `grad`, `jvp` and what is made of them.

The public names are those of `minitorch.func`.  Importing this package registers the kernels of the keys
of transforms; nothing else of the library needs them, so `import minitorch` leaves them out.
"""

from minitorch.functorch.registration import register

register()
