from minitorch.dispatch.operator cimport Operator
from minitorch.tensor.base cimport TensorBase

cdef unsigned long long _SPARSE_KEYS
cdef Operator _select, _slice, _unsqueeze

cpdef object getitem(TensorBase tensor, object index)
cpdef object bound(object value)
cpdef tuple apply_basic(TensorBase tensor, tuple index)
