cimport cython
from minitorch.dispatch.local_state cimport LocalState, current
from minitorch.dispatch.operator cimport Entry, Kernel, Operator
from minitorch.tensor.base cimport TensorBase, VersionCounter, ViewInfo, make_view_info

cdef unsigned long long _AFTER_AD_INPLACE_OR_VIEW
cdef unsigned long long _AD_INPLACE_OR_VIEW
cdef unsigned long long _BOTH
cdef unsigned long long _PYTHON

cdef VersionCounter shared_counter(TensorBase view, TensorBase source)

cdef class InplaceBookkeeping(Kernel):
    @cython.locals(added=cython.ulonglong)
    cpdef object run(self, Operator op, Entry entry, tuple args, dict kwargs)

cdef class InplaceViewBookkeeping(InplaceBookkeeping):
    cdef public Operator functional
    cpdef object run(self, Operator op, Entry entry, tuple args, dict kwargs)

cdef class InplaceListBookkeeping(Kernel):
    @cython.locals(added=cython.ulonglong)
    cpdef object run(self, Operator op, Entry entry, tuple args, dict kwargs)

cdef class ViewBookkeeping(Kernel):
    @cython.locals(creation=cython.int, single=cython.bint, info=ViewInfo, base=TensorBase, index=cython.Py_ssize_t)
    cpdef object run(self, Operator op, Entry entry, tuple args, dict kwargs)
