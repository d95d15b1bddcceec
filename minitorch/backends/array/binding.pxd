cimport cython
from minitorch.dispatch.operator cimport Entry, Kernel, KeyedObject, Operator
from minitorch.dispatch.local_state cimport LocalState, current
from minitorch.tensor.base cimport Storage, TensorBase, VersionCounter, new_tensor

cdef unsigned long long _AD_INPLACE_OR_VIEW

cpdef object handle_of(object value)

cdef class Loop:
    cpdef object run(self, tuple args, dict kwargs)

cdef class ArrayKernel(Kernel):
    cdef public Loop loop
    cdef public object xp
    cdef public object array_type
    cdef public unsigned long long keys
    cdef public unsigned long long inference_keys
    cdef object wrap(self, object result)
    cdef object wrap_one(self, object result)
    cdef object convert(self, tuple args)
    @cython.locals(count=cython.Py_ssize_t)
    cdef object run_plain(self, Operator op, tuple args, dict kwargs)

cdef class PointwiseKernel(ArrayKernel):
    cdef public object ufunc
    cdef public dict fast
    @cython.locals(count=cython.Py_ssize_t)
    cpdef object run(self, Operator op, Entry entry, tuple args, dict kwargs)

cdef class InplacePointwiseKernel(PointwiseKernel):
    @cython.locals(count=cython.Py_ssize_t)
    cdef object write(self, Operator op, object a, tuple args, dict kwargs)
    cpdef object run(self, Operator op, Entry entry, tuple args, dict kwargs)

cdef class WritingKernel(ArrayKernel):
    pass

cdef class ViewArrayKernel(ArrayKernel):
    cdef object wrap_view(self, TensorBase source, object result)
