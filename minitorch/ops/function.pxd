cimport cython
from minitorch.dispatch.operator cimport KeyedObject, Operator
from minitorch.tensor.base cimport is_plain, modes_active

cdef class CallPlan:
    cdef public Operator op
    cdef public bint direct
    cdef public bint trivial
    cdef public bint in_order
    cdef public bytes codes
    cdef public tuple sources
    cdef public tuple converters
    cdef public tuple defaults
    cdef public int required
    cdef public tuple keywords
    cdef public object named
    cdef public bint makes_tuple
    cdef public object override
    cdef object run(self, tuple args, dict kwargs)
    cpdef object run_with(self, tuple args, dict kwargs, dict extra)
    @cython.locals(i=cython.Py_ssize_t, count=cython.Py_ssize_t, keep=cython.Py_ssize_t, code=cython.int)
    cdef object run_call(self, tuple args, dict kwargs, dict extra)

cdef class Function:
    cdef public str name
    cdef public tuple overload_names
    cdef public list overloads
    cdef public list out_overloads
    cdef public dict plans
    cdef public dict plans2
    cdef public object public
    cdef public bint is_method
    cpdef object invoke(self, tuple args, dict kwargs)
    cpdef object invoke1(self, object a)
    @cython.locals(row=dict, args=tuple)
    cpdef object invoke2(self, object a, object b)

cdef bint is_default(object value, object default)

cpdef list int_list(object value)
cpdef list one_int(object value)
cpdef list tensor_list(object value)
