from minitorch.dispatch.operator cimport Entry, Kernel, Operator

cdef class BackendSelectKernel(Kernel):
    cdef unsigned long long cpu_bits
    cpdef object run(self, Operator op, Entry entry, tuple args, dict kwargs)
