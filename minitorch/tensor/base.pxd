cimport cython
from minitorch.dispatch.local_state cimport LocalState, current
from minitorch.dispatch.operator cimport KeyedObject, Operator

cdef extern from *:
    """
    /* Make an instance of cls without its Python-level __new__: as base would. */
    static CYTHON_INLINE PyObject* minitorch_new_object(PyObject* base, PyObject* cls) {
        static PyObject* empty = NULL;
        if (empty == NULL) { empty = PyTuple_New(0); if (empty == NULL) return NULL; }
        return ((PyTypeObject*)base)->tp_new((PyTypeObject*)cls, empty, NULL);
    }
    """
    object minitorch_new_object(object base, object cls)

cdef bint COMPILED
cdef unsigned long long _AD_INPLACE_OR_VIEW
cdef unsigned long long _NORMAL_KEYS
cdef unsigned long long _NO_PYTHON
cdef unsigned long long _PYTHON
cdef unsigned long long _WRAPPER_KEYS
cdef unsigned long long _DECLARING
cdef unsigned long long _PLAIN_CPU_KEYS
cdef unsigned long long _DEFAULT_INCLUDED
cdef dict _ops

cdef class VersionCounter:
    cdef public long version

cdef class Storage(VersionCounter):
    cdef public object root

cdef class ViewInfo:
    cdef public TensorBase base
    cdef public ViewInfo parent
    cdef public object op
    cdef public tuple args
    cdef public dict kwargs
    cdef public int output
    cdef public int creation
    cdef public long attr_version

cdef class TensorBase(KeyedObject):
    cdef public object handle
    cdef public bint requires_grad_flag
    cdef public object node
    cdef public int output_nr
    cdef public object grad_slot
    cdef public VersionCounter version_counter
    cdef public Storage storage_cell
    cdef public ViewInfo view_info
    cdef public object autograd_meta
    cdef public object shape_cache
    cdef public object extra
    cpdef Storage storage_of(self)
    cpdef VersionCounter counter_of(self)
    cpdef object bump_version(self)

cdef object TENSOR_CLASS
cdef object PARAMETER_CLASS

cpdef TensorBase new_tensor(object handle, unsigned long long key_set)
cpdef TensorBase bare_copy(TensorBase tensor)
cpdef bint is_plain(object value)
cpdef int modes_active()
cdef int function_mode_count
cdef object _binary(str name, object a, object b)
cdef object _compare(str name, object a, object b)
cpdef ViewInfo make_view_info(TensorBase base, ViewInfo parent, object op, tuple args, dict kwargs, int output, int creation)
cpdef Storage make_storage(object root)
