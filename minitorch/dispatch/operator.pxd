cimport cython
from minitorch.dispatch.local_state cimport LocalState, current

cdef unsigned long long _FUNCTIONALITY
cdef unsigned long long _TRACKED

cdef class KeyedObject:
    cdef public unsigned long long key_set
    cdef public bint tracked

cdef class Entry:
    cdef public unsigned long long lookup_set
    cdef public unsigned long long key_set
    cdef public Kernel kernel
    cdef public Entry below
    cdef public Entry untracked
    cdef public bint leaf
    cdef public object cached

cdef class Kernel:
    cdef public object fn
    cdef public str key_name
    cdef public object origin
    cdef public bint is_fallthrough
    cdef public object owner
    cpdef object run(self, Operator op, Entry entry, tuple args, dict kwargs)
    cpdef bint is_leaf(self, Operator op, Entry entry) except? 0
    cpdef Entry untracked(self, Operator op, Entry entry)

cdef class PythonKernel(Kernel):
    cdef public bint with_keyset

cdef class FallbackKernel(Kernel):
    cdef public bint with_keyset

cdef class Operator:
    cdef public str qualname
    cdef public str namespace
    cdef public str basename
    cdef public str overload
    cdef public object schema_text
    cdef object _parsed
    cdef public dict kernels
    cdef public dict cache
    cdef public dict raw_cache
    cdef public Entry last
    cdef public int simple
    cdef public object positions
    cdef public bint allow_numbers
    cdef public object tags
    cdef public object declaration
    cdef public object hooks
    cdef public int return_count
    cdef object __weakref__
    @cython.locals(key_set=cython.ulonglong, count=cython.Py_ssize_t, i=cython.Py_ssize_t, tracked=cython.bint)
    cpdef object call(self, tuple args, dict kwargs)
    @cython.locals(key_set=cython.ulonglong)
    cpdef object call1(self, KeyedObject a)
    @cython.locals(key_set=cython.ulonglong, tracked=cython.bint)
    cpdef object call2(self, a, b)
    @cython.locals(key_set=cython.ulonglong, count=cython.Py_ssize_t, index=cython.Py_ssize_t, keyed=KeyedObject)
    cdef unsigned long long _extract(self, tuple args, dict kwargs) except? 0
    cpdef object redispatch_boxed(self, unsigned long long key_set, tuple args, dict kwargs)
    cpdef object run_below(self, Entry entry, tuple args, dict kwargs)
    cpdef Entry lookup(self, unsigned long long key_set)
    cpdef Entry lookup_raw(self, unsigned long long key_set)
    cpdef Entry entry_below(self, Entry entry, unsigned long long after)
