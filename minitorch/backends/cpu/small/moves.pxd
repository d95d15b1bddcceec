cimport cython
from minitorch.backends.array.binding cimport Loop
from minitorch.backends.cpu.small.arrays cimport *
from minitorch.tensor.base cimport TensorBase

cdef Py_ssize_t _MOVED

cdef class GatherLoop(Loop):
    @cython.locals(first=TensorBase, second=TensorBase, p=cython.p_float, q=cython.p_longlong, r=cython.p_float, n=cython.Py_ssize_t, m=cython.Py_ssize_t, rows=cython.Py_ssize_t, i=cython.Py_ssize_t, j=cython.Py_ssize_t, at=cython.longlong)
    cpdef object run(self, tuple args, dict kwargs)

cdef class EmbeddingLoop(Loop):
    @cython.locals(first=TensorBase, second=TensorBase, p=cython.p_float, q=cython.p_longlong, r=cython.p_float, n=cython.Py_ssize_t, m=cython.Py_ssize_t, rows=cython.Py_ssize_t, i=cython.Py_ssize_t, j=cython.Py_ssize_t, at=cython.longlong)
    cpdef object run(self, tuple args, dict kwargs)

cdef class JoinLoop(Loop):
    cdef bint stacks
    @cython.locals(first=TensorBase, second=TensorBase, tensors=list, p=cython.p_float, r=cython.p_float, n=cython.Py_ssize_t, count=cython.Py_ssize_t, size=cython.Py_ssize_t, i=cython.Py_ssize_t, j=cython.Py_ssize_t)
    cpdef object run(self, tuple args, dict kwargs)

cdef class FactoryLoop(Loop):
    cdef float value
    cdef bint filled
    @cython.locals(r=cython.p_float, i=cython.Py_ssize_t)
    cpdef object run(self, tuple args, dict kwargs)

cdef class LikeLoop(FactoryLoop):
    @cython.locals(first=TensorBase, r=cython.p_float, i=cython.Py_ssize_t)
    cpdef object run(self, tuple args, dict kwargs)

cdef class CastLoop(Loop):
    @cython.locals(first=TensorBase, p=cython.p_float, d=cython.p_double, q=cython.p_longlong, c=cython.p_uchar, r=cython.p_float, s=cython.p_double, i=cython.Py_ssize_t, n=cython.Py_ssize_t)
    cpdef object run(self, tuple args, dict kwargs)
