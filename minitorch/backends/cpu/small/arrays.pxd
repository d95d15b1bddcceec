# NumPy's C interface, as far as the loops need it: elements of plain arrays, and new arrays.
cdef extern from *:
    """
    #ifndef MINITORCH_SMALL_LOOPS_ARRAYS
    #define MINITORCH_SMALL_LOOPS_ARRAYS
    #define NPY_NO_DEPRECATED_API NPY_1_19_API_VERSION
    #include <numpy/arrayobject.h>

    static int loops_import(void) { import_array1(-1); return 0; }

    /* Elements of an array of the given type, at most `limit` of them, aligned and in row-major
       order without gaps; NULL for anything else. */
    static CYTHON_INLINE void* loops_elements(PyObject* object, int type, Py_ssize_t limit) {
        const int wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
        PyArrayObject* array = (PyArrayObject*)object;
        if (!PyArray_CheckExact(object)) return NULL;
        if (PyArray_TYPE(array) != type || (PyArray_FLAGS(array) & wanted) != wanted) return NULL;
        if (!PyArray_ISNOTSWAPPED(array) || PyArray_SIZE(array) > limit) return NULL;
        return PyArray_DATA(array);
    }
    static CYTHON_INLINE float* loops_float(PyObject* array, Py_ssize_t limit) {
        return (float*)loops_elements(array, NPY_FLOAT, limit);
    }
    static CYTHON_INLINE double* loops_double(PyObject* array, Py_ssize_t limit) {
        return (double*)loops_elements(array, NPY_DOUBLE, limit);
    }
    static CYTHON_INLINE double* loops_double_of(PyObject* array) { return (double*)PyArray_DATA((PyArrayObject*)array); }
    static CYTHON_INLINE npy_bool* loops_bool(PyObject* array, Py_ssize_t limit) {
        return (npy_bool*)loops_elements(array, NPY_BOOL, limit);
    }
    static CYTHON_INLINE long long* loops_int64(PyObject* array, Py_ssize_t limit) {
        return (long long*)loops_elements(array, NPY_INT64, limit);
    }
    static CYTHON_INLINE float* loops_float_of(PyObject* array) { return (float*)PyArray_DATA((PyArrayObject*)array); }
    static CYTHON_INLINE npy_bool* loops_bool_of(PyObject* array) { return (npy_bool*)PyArray_DATA((PyArrayObject*)array); }
    static CYTHON_INLINE long long* loops_int64_of(PyObject* array) { return (long long*)PyArray_DATA((PyArrayObject*)array); }

    static CYTHON_INLINE int loops_writable(PyObject* array) { return PyArray_ISWRITEABLE((PyArrayObject*)array); }
    static CYTHON_INLINE Py_ssize_t loops_size(PyObject* array) { return PyArray_SIZE((PyArrayObject*)array); }
    static CYTHON_INLINE int loops_ndim(PyObject* array) { return PyArray_NDIM((PyArrayObject*)array); }
    static CYTHON_INLINE Py_ssize_t loops_dim(PyObject* array, int d) { return PyArray_DIM((PyArrayObject*)array, d); }
    static CYTHON_INLINE int loops_same_shape(PyObject* a, PyObject* b) {
        return PyArray_SAMESHAPE((PyArrayObject*)a, (PyArrayObject*)b);
    }
    /* Whether the shape of `b` is the end of the shape of `a`. */
    static CYTHON_INLINE int loops_is_tail(PyObject* a, PyObject* b) {
        int n = PyArray_NDIM((PyArrayObject*)b), shift = PyArray_NDIM((PyArrayObject*)a) - n, d;
        if (shift < 0) return 0;
        for (d = 0; d < n; ++d)
            if (PyArray_DIM((PyArrayObject*)a, d + shift) != PyArray_DIM((PyArrayObject*)b, d)) return 0;
        return 1;
    }
    /* New row-major arrays: of the shape of another, of its shape but for the last dimension
       (1, or left out), of no dimension, of any shape. */
    static CYTHON_INLINE PyObject* loops_new_like(PyObject* a, int type) {
        return PyArray_SimpleNew(PyArray_NDIM((PyArrayObject*)a), PyArray_DIMS((PyArrayObject*)a), type);
    }
    static CYTHON_INLINE PyObject* loops_new_float(PyObject* a) { return loops_new_like(a, NPY_FLOAT); }
    static CYTHON_INLINE PyObject* loops_new_double(PyObject* a) { return loops_new_like(a, NPY_DOUBLE); }
    static CYTHON_INLINE PyObject* loops_new_bool(PyObject* a) { return loops_new_like(a, NPY_BOOL); }
    static CYTHON_INLINE PyObject* loops_new_reduced(PyObject* a, int keep, int type) {
        npy_intp dims[NPY_MAXDIMS];
        int n = PyArray_NDIM((PyArrayObject*)a), d;
        for (d = 0; d < n - 1; ++d) dims[d] = PyArray_DIM((PyArrayObject*)a, d);
        if (keep) dims[n - 1] = 1;
        return PyArray_SimpleNew(keep ? n : n - 1, dims, type);
    }
    static CYTHON_INLINE PyObject* loops_new_reduced_float(PyObject* a, int keep) { return loops_new_reduced(a, keep, NPY_FLOAT); }
    static CYTHON_INLINE PyObject* loops_new_reduced_int64(PyObject* a, int keep) { return loops_new_reduced(a, keep, NPY_INT64); }
    static CYTHON_INLINE PyObject* loops_new_scalar(void) { return PyArray_SimpleNew(0, NULL, NPY_FLOAT); }
    static CYTHON_INLINE PyObject* loops_new_matrix(Py_ssize_t rows, Py_ssize_t columns) {
        npy_intp dims[2];
        dims[0] = rows; dims[1] = columns;
        return PyArray_SimpleNew(2, dims, NPY_FLOAT);
    }
    /* Whether all dimensions but the first are the same. */
    static CYTHON_INLINE int loops_same_rows(PyObject* a, PyObject* b) {
        int n = PyArray_NDIM((PyArrayObject*)a), d;
        if (PyArray_NDIM((PyArrayObject*)b) != n) return 0;
        for (d = 1; d < n; ++d)
            if (PyArray_DIM((PyArrayObject*)a, d) != PyArray_DIM((PyArrayObject*)b, d)) return 0;
        return 1;
    }
    /* `count` arrays like `a` in a new first dimension, or that many rows of it. */
    static CYTHON_INLINE PyObject* loops_new_joined(PyObject* a, Py_ssize_t count, int stacks) {
        npy_intp dims[NPY_MAXDIMS + 1];
        int n = PyArray_NDIM((PyArrayObject*)a), d;
        for (d = stacks ? 0 : 1; d < n; ++d) dims[d + (stacks ? 1 : 0)] = PyArray_DIM((PyArrayObject*)a, d);
        dims[0] = count;
        return PyArray_SimpleNew(stacks ? n + 1 : n, dims, NPY_FLOAT);
    }
    /* An array of the sizes in a list; None if they are no such sizes, or too many elements. */
    static CYTHON_INLINE PyObject* loops_new_sized(PyObject* sizes, Py_ssize_t limit) {
        npy_intp dims[NPY_MAXDIMS];
        Py_ssize_t n = PyList_GET_SIZE(sizes), d, total = 1;
        if (n > NPY_MAXDIMS) Py_RETURN_NONE;
        for (d = 0; d < n; ++d) {
            int overflow = 0;
            long long size;
            if (!PyLong_CheckExact(PyList_GET_ITEM(sizes, d))) Py_RETURN_NONE;
            size = PyLong_AsLongLongAndOverflow(PyList_GET_ITEM(sizes, d), &overflow);
            if (overflow || size < 0 || size > limit) Py_RETURN_NONE;
            dims[d] = (npy_intp)size;
            total *= size;
            if (total > limit) Py_RETURN_NONE;
        }
        return PyArray_SimpleNew((int)n, dims, NPY_FLOAT);
    }
    #endif
    """
    int loops_import() except -1
    float* loops_float(object array, Py_ssize_t limit)
    double* loops_double(object array, Py_ssize_t limit)
    double* loops_double_of(object array)
    unsigned char* loops_bool(object array, Py_ssize_t limit)
    long long* loops_int64(object array, Py_ssize_t limit)
    float* loops_float_of(object array)
    unsigned char* loops_bool_of(object array)
    long long* loops_int64_of(object array)
    bint loops_writable(object array)
    Py_ssize_t loops_size(object array)
    int loops_ndim(object array)
    Py_ssize_t loops_dim(object array, int d)
    bint loops_same_shape(object a, object b)
    bint loops_is_tail(object a, object b)
    object loops_new_float(object like)
    object loops_new_double(object like)
    object loops_new_sized(object sizes, Py_ssize_t limit)
    object loops_new_bool(object like)
    object loops_new_reduced_float(object like, bint keep)
    object loops_new_reduced_int64(object like, bint keep)
    object loops_new_scalar()
    bint loops_same_rows(object a, object b)
    object loops_new_joined(object like, Py_ssize_t count, bint stacks)
    object loops_new_matrix(Py_ssize_t rows, Py_ssize_t columns)

cdef extern from "math.h":
    float logf(float)
    float tanhf(float)
    float sqrtf(float)
    float sinf(float)
    float cosf(float)
    float erff(float)
    float fabsf(float)
    double sqrt(double)
