cimport cython
from minitorch.autograd.bookkeeping cimport InplaceBookkeeping
from minitorch.autograd.node cimport Node, SavedOutput, SavedPacked, attach_history, gradient_target, next_sequence, requires_grad
from minitorch.dispatch.local_state cimport LocalState, current
from minitorch.dispatch.operator cimport Entry, Kernel, Operator
from minitorch.tensor.base cimport TensorBase, VersionCounter, ViewInfo

cdef unsigned long long _AUTOGRAD_KEYS
cdef unsigned long long _AFTER_AUTOGRAD
cdef unsigned long long _AD_INPLACE_OR_VIEW
cdef unsigned long long _SPARSE_KEYS

cdef int _FORWARD_LEVELS

cdef class Plan:
    cdef public tuple saves
    cdef public tuple steps
    cdef public bint saves_outputs
    cdef public bint saves_tensors

cdef class DerivativeInfo:
    cdef public Operator op
    cdef public object derivative
    cdef public str node_name
    cdef public tuple differentiable
    cdef public int plain
    cdef public dict plans
    cdef public bint implemented
    cdef public bint has_formulas
    cdef public object output_index

cdef class GradNode(Node):
    cdef object unpack(self, Py_ssize_t index)
    @cython.locals(count=cython.Py_ssize_t, i=cython.Py_ssize_t, kind=cython.int, place=cython.Py_ssize_t)
    cpdef object apply(self, list grads)
    cdef public DerivativeInfo info
    cdef public Plan plan
    cdef public list saved
    cdef public list versions
    cdef public object needs
    cdef public tuple list_lengths

cdef class AutogradKernel(Kernel):
    cdef public object derivative
    cdef public DerivativeInfo info
    cdef public bint inplace
    @cython.locals(count=cython.Py_ssize_t, i=cython.Py_ssize_t)
    cdef bint any_requires_grad(self, tuple args, dict kwargs)
    cdef bint add_edge(self, object value, list targets, list numbers, list metas)
    @cython.locals(count=cython.Py_ssize_t, index=cython.Py_ssize_t, need=cython.bint)
    cdef GradNode make_node(self, Operator op, tuple args, dict kwargs)
    @cython.locals(added=cython.ulonglong)
    cdef object run_below(self, Operator op, Entry below, tuple args, dict kwargs, LocalState state)
    cdef object record(self, Operator op, Entry below, tuple args, dict kwargs, LocalState state)
    @cython.locals(count=cython.Py_ssize_t, version=cython.long, source=cython.int)
    cdef object save_inputs(self, GradNode node, tuple args, dict kwargs, LocalState state)
    cdef object save_item(self, TensorBase tensor, LocalState state)
    cdef object save_outputs(self, GradNode node, object result, LocalState state)
    cpdef object run_primal(self, Operator op, Entry entry, tuple args, dict kwargs)

cdef class InplaceAutogradKernel(AutogradKernel):
    pass

cdef class InplaceViewAutogradKernel(Kernel):
    cdef public Operator functional
    @cython.locals(added=cython.ulonglong)
    cpdef object run_primal(self, Operator op, Entry entry, tuple args, dict kwargs)

cdef class DetachInplaceKernel(Kernel):
    cpdef object run_primal(self, Operator op, Entry entry, tuple args, dict kwargs)
    cpdef object run(self, Operator op, Entry entry, tuple args, dict kwargs)

cdef class OutAutogradKernel(AutogradKernel):
    pass

@cython.locals(version=cython.long)
cdef long noted_version(TensorBase tensor)
cdef object check_unchanged(TensorBase tensor, long noted)
