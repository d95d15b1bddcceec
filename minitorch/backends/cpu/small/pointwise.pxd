cimport cython
from minitorch.backends.array.binding cimport Loop
from minitorch.backends.cpu.small.arrays cimport *
from minitorch.backends.cpu.small.exponential cimport *
from minitorch.tensor.base cimport TensorBase

cdef Py_ssize_t _ARITHMETIC, _FUNCTIONS, _EXACT, _ALL
cdef int NEG, EXP, LOG, TANH, SIGMOID, RELU, SQRT, ABS, SQUARE, RECIPROCAL, RSQRT, SIN, COS, SILU, GELU, COPY
cdef int ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM, SIGMOID_BACKWARD, TANH_BACKWARD
cdef int EQ, NE, LT, LE, GT, GE

@cython.locals(i=cython.Py_ssize_t)
cdef void unary(int code, float* x, float* out, Py_ssize_t n) noexcept

@cython.locals(i=cython.Py_ssize_t, v=cython.float, w=cython.float)
cdef void binary(int code, float* x, float* y, float* out, Py_ssize_t n) noexcept

@cython.locals(i=cython.Py_ssize_t)
cdef void binary_scalar(int code, float* x, float v, float* out, Py_ssize_t n) noexcept

@cython.locals(start=cython.Py_ssize_t)
cdef void binary_rows(int code, float* x, float* y, float* out, Py_ssize_t n, Py_ssize_t m) noexcept

@cython.locals(i=cython.Py_ssize_t)
cdef void compare(int code, float* x, float* y, unsigned char* out, Py_ssize_t n) noexcept

@cython.locals(i=cython.Py_ssize_t)
cdef void compare_scalar(int code, float* x, float v, unsigned char* out, Py_ssize_t n) noexcept

cdef bint is_number(object value)

cdef class UnaryLoop(Loop):
    cdef int code
    cdef public Py_ssize_t limit
    @cython.locals(tensor=TensorBase, source=cython.p_float, target=cython.p_float)
    cpdef object run(self, tuple args, dict kwargs)

cdef class UnaryInplaceLoop(UnaryLoop):
    @cython.locals(tensor=TensorBase, source=cython.p_float)
    cpdef object run(self, tuple args, dict kwargs)

cdef class BinaryLoop(Loop):
    cdef int code
    @cython.locals(first=TensorBase, second=TensorBase, p=cython.p_float, q=cython.p_float, n=cython.Py_ssize_t, m=cython.Py_ssize_t)
    cpdef object run(self, tuple args, dict kwargs)

cdef class BinaryInplaceLoop(BinaryLoop):
    @cython.locals(first=TensorBase, second=TensorBase, p=cython.p_float, q=cython.p_float, n=cython.Py_ssize_t, m=cython.Py_ssize_t)
    cpdef object run(self, tuple args, dict kwargs)

cdef class CompareLoop(Loop):
    cdef int code
    @cython.locals(first=TensorBase, second=TensorBase, p=cython.p_float, q=cython.p_float)
    cpdef object run(self, tuple args, dict kwargs)

cdef class WhereLoop(Loop):
    @cython.locals(first=TensorBase, second=TensorBase, third=TensorBase, c=cython.p_uchar, p=cython.p_float, q=cython.p_float, r=cython.p_float, i=cython.Py_ssize_t, steps_p=cython.Py_ssize_t, steps_q=cython.Py_ssize_t)
    cpdef object run(self, tuple args, dict kwargs)

cdef class ThresholdBackwardLoop(Loop):
    @cython.locals(first=TensorBase, second=TensorBase, p=cython.p_float, q=cython.p_float, r=cython.p_float, i=cython.Py_ssize_t, v=cython.float)
    cpdef object run(self, tuple args, dict kwargs)

cdef class MaskedFillLoop(Loop):
    @cython.locals(first=TensorBase, second=TensorBase, c=cython.p_uchar, p=cython.p_float, r=cython.p_float, i=cython.Py_ssize_t, v=cython.float)
    cpdef object run(self, tuple args, dict kwargs)
