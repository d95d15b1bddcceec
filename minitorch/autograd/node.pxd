from minitorch.dispatch.local_state cimport LocalState, current
from minitorch.tensor.base cimport Storage, TensorBase, VersionCounter, ViewInfo, bare_copy, new_tensor

cdef unsigned long long _sequence
cdef unsigned long long _PYTHON

cdef class Node:
    cdef public unsigned long long sequence
    cdef public tuple targets
    cdef public tuple numbers
    cdef public list input_meta
    cdef public int output_count
    cdef public object pre_hooks
    cdef public object post_hooks
    cdef public object retain_hooks
    cdef public object extra
    cdef public bint runs_always
    cdef object __weakref__
    cpdef object apply(self, list grads)
    cpdef object release(self)

cdef class SavedOutput:
    cdef public object detached
    cdef public object handle
    cdef public VersionCounter counter
    cdef public long version
    cdef public unsigned long long key_set
    cdef public int output_nr

cdef class SavedPacked:
    cdef public object packed
    cdef public object unpack
    cdef public object output_nr
    cdef public object target
    cdef public int target_number

cpdef object gradient_target(TensorBase tensor)
cpdef bint requires_grad(TensorBase tensor)
cpdef unsigned long long next_sequence()
cpdef object attach_history(TensorBase tensor, Node node, int output_nr)
cdef object set_output(TensorBase tensor, Node node, int output_nr)
