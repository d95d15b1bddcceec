cimport cython
from minitorch.backends.array.binding cimport Loop
from minitorch.backends.cpu.small.arrays cimport *
from minitorch.backends.cpu.small.exponential cimport *
from minitorch.tensor.base cimport TensorBase

cdef Py_ssize_t _ROWS, _PRODUCT, _ALL

cdef bint is_last(object dim, object array)

@cython.locals(i=cython.Py_ssize_t, total=cython.double)
cdef double total_of(float* x, Py_ssize_t n) noexcept

cdef class SumLoop(Loop):
    cdef bint mean
    @cython.locals(first=TensorBase, p=cython.p_float, r=cython.p_float, n=cython.Py_ssize_t, total=cython.double)
    cpdef object run(self, tuple args, dict kwargs)

cdef class SumDimLoop(SumLoop):
    @cython.locals(first=TensorBase, p=cython.p_float, r=cython.p_float, n=cython.Py_ssize_t, rows=cython.Py_ssize_t, i=cython.Py_ssize_t, total=cython.double, keep=cython.bint)
    cpdef object run(self, tuple args, dict kwargs)

cdef class ExtremumLoop(Loop):
    cdef float sign
    @cython.locals(first=TensorBase, p=cython.p_float, r=cython.p_float, s=cython.p_longlong, n=cython.Py_ssize_t, rows=cython.Py_ssize_t, i=cython.Py_ssize_t, j=cython.Py_ssize_t, best=cython.Py_ssize_t, keep=cython.bint, sign=cython.float, a=cython.float, b=cython.float)
    cpdef object run(self, tuple args, dict kwargs)

cdef class CumsumLoop(Loop):
    @cython.locals(first=TensorBase, p=cython.p_float, r=cython.p_float, n=cython.Py_ssize_t, i=cython.Py_ssize_t, j=cython.Py_ssize_t, total=cython.float)
    cpdef object run(self, tuple args, dict kwargs)

cdef class SoftmaxLoop(Loop):
    cdef bint logarithm
    cdef public Py_ssize_t limit
    @cython.locals(first=TensorBase, p=cython.p_float, r=cython.p_float, n=cython.Py_ssize_t, size=cython.Py_ssize_t, i=cython.Py_ssize_t)
    cpdef object run(self, tuple args, dict kwargs)

cdef class SoftmaxBackwardLoop(Loop):
    cdef bint logarithm
    cdef public Py_ssize_t limit
    @cython.locals(first=TensorBase, second=TensorBase, p=cython.p_float, q=cython.p_float, r=cython.p_float, n=cython.Py_ssize_t, size=cython.Py_ssize_t, i=cython.Py_ssize_t)
    cpdef object run(self, tuple args, dict kwargs)

cdef class LayerNormLoop(Loop):
    @cython.locals(first=TensorBase, second=TensorBase, p=cython.p_float, w=cython.p_float, b=cython.p_float, r=cython.p_float, s=cython.p_float, t=cython.p_float, n=cython.Py_ssize_t, rows=cython.Py_ssize_t, i=cython.Py_ssize_t, j=cython.Py_ssize_t, mean=cython.double, square=cython.double, rstd=cython.double, v=cython.double, eps=cython.double)
    cpdef object run(self, tuple args, dict kwargs)

cdef class LayerNormBackwardLoop(Loop):
    @cython.locals(first=TensorBase, second=TensorBase, third=TensorBase, fourth=TensorBase, fifth=TensorBase, g=cython.p_float, p=cython.p_float, m=cython.p_float, d=cython.p_float, w=cython.p_float, r=cython.p_float, s=cython.p_float, t=cython.p_float, n=cython.Py_ssize_t, rows=cython.Py_ssize_t, i=cython.Py_ssize_t, j=cython.Py_ssize_t, normal=cython.double, along=cython.double, mean=cython.double, v=cython.double)
    cpdef object run(self, tuple args, dict kwargs)

cdef class ProductLoop(Loop):
    cdef bint transposed
    @cython.locals(first=TensorBase, second=TensorBase, third=TensorBase, p=cython.p_float, q=cython.p_float, b=cython.p_float, r=cython.p_float, rows=cython.Py_ssize_t, columns=cython.Py_ssize_t, depth=cython.Py_ssize_t, i=cython.Py_ssize_t, j=cython.Py_ssize_t, k=cython.Py_ssize_t, total=cython.float)
    cpdef object run(self, tuple args, dict kwargs)
