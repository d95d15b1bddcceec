cimport cython
from minitorch.backends.array.binding cimport ArrayKernel
from minitorch.dispatch.operator cimport Entry, Kernel, Operator
from minitorch.tensor.base cimport TensorBase

cdef class LargeKernel(ArrayKernel):
    cdef public ArrayKernel small
    cdef public object find
    cdef public object large
    cdef public Py_ssize_t position
    cdef public Py_ssize_t minimum
    cdef public bint writes
    cpdef object run(self, Operator op, Entry entry, tuple args, dict kwargs)
    cdef object run_large(self, tuple args, dict kwargs)
