cimport cython
from minitorch.autograd.node cimport Node
from minitorch.dispatch.local_state cimport LocalState, current
from minitorch.tensor.base cimport TensorBase, bare_copy

cdef unsigned long long _PYTHON
cdef unsigned long long _SPARSE
cdef unsigned long long _WITHOUT_MEMORY

cdef class Task:
    cdef public dict dependencies
    cdef public dict buffers
    cdef public list ready
    cdef public object captures
    cdef public object needed
    cdef public object leaves
    cdef public bint keep_graph
    cdef public bint create_graph
    cdef public list captured
    cdef public dict leaf_buffers
    cdef public list callbacks
    cdef public list roots
    cdef object __weakref__
    cdef object count_dependencies(self, list roots)
    cdef object deliver(self, object target, int number, object grad)
    cdef object receive(self, Node node, list grads)
    cdef bint is_on_the_way(self, Node target)
    cdef bint may_add_in_place(self, TensorBase old, TensorBase grad)
    cdef object capture(self, Node node, list grads)
    @cython.locals(i=cython.Py_ssize_t, count=cython.Py_ssize_t)
    cdef object validate(self, Node node, list results)
    @cython.locals(i=cython.Py_ssize_t, count=cython.Py_ssize_t, left=cython.Py_ssize_t, wanted=cython.bint)
    cdef object loop(self)
    @cython.locals(accumulates=cython.bint)
    cdef object finish_leaf(self, object key)

cdef object added(TensorBase old, object grad)
cdef object accumulate_into(TensorBase leaf, object grad, bint create_graph)
cdef object retain(TensorBase tensor, object grad, bint create_graph)
cdef bint is_owned(TensorBase tensor, Py_ssize_t references)
cdef bint is_alone(TensorBase tensor, Py_ssize_t references)
cdef Py_ssize_t _references_at_leaf
cdef Py_ssize_t _references_in_buffer
cdef Py_ssize_t _references_to_handle
cdef Py_ssize_t _references_to_base
cdef Py_ssize_t _large
