cdef extern from "Python.h":
    ctypedef struct PyThreadState:
        pass
    PyThreadState* PyThreadState_Get()
    unsigned long long PyThreadState_GetID(PyThreadState*)

cdef bint COMPILED

cdef class LocalState:
    cdef public unsigned long long included
    cdef public unsigned long long excluded
    cdef public unsigned long long ident
    cdef public bint grad_enabled
    cdef public bint inference_mode
    cdef public bint forward_grad_enabled
    cdef public bint view_replay
    cdef public int trace
    cdef public bint anomaly
    cdef public bint anomaly_check_nan
    cdef public bint function_disabled
    cdef public object saved_tensor_hooks
    cdef public object saved_tensor_hooks_disabled
    cdef public object function_modes
    cdef public object dispatch_modes
    cdef public object default_device
    cdef public object evaluating_node
    cdef public dict extra

cpdef LocalState current()
