cimport cython

cdef extern from "math.h":
    double c_sqrt "sqrt"(double) nogil

cdef bint COMPILED
cdef double _SQRT_HALF, _P0, _P1, _P2, _P3, _P4, _P5, _P6, _P7, _P8, _LN2_LOW, _LN2_HIGH
cdef double _FOUR_OVER_PI, _QUARTER_PI_0, _QUARTER_PI_1, _QUARTER_PI_2
cdef double _COS_0, _COS_1, _COS_2, _SIN_0, _SIN_1, _SIN_2, _TWO_PI

@cython.locals(y=cython.float)
cdef double narrow(double x) noexcept

cdef double square_root(double x) noexcept

@cython.locals(y=cython.double, z=cython.double)
cdef double log_float32(double x, double e) noexcept

@cython.locals(
    row=cython.Py_ssize_t, column=cython.Py_ssize_t, plain=cython.bint, octant=cython.long, turns=cython.double,
    radius=cython.double, x=cython.double, z=cython.double, c=cython.double, s=cython.double,
)
cpdef fill_blocks(float[:, ::1] blocks, float[:, ::1] mantissas, int[:, ::1] exponents, double mean, double std)
