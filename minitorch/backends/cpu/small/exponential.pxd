# Rows of float32 through exp, written so that a C compiler vectorizes them.
#
# exp follows Cephes (Moshier): x = n ln 2 + r with |r| <= ln 2 / 2, a polynomial of degree 6 in
# r, and 2^n put into the exponent in two steps, so that results below the normal numbers and
# above the largest come out right.  Relative error below 1.2e-7; NaN stays NaN.  n is read off
# the bits of a sum with 1.5 * 2^23, which rounds to an integer without a conversion.
cdef extern from *:
    """
    #ifndef MINITORCH_SMALL_LOOPS_EXPONENTIAL
    #define MINITORCH_SMALL_LOOPS_EXPONENTIAL
    #include <math.h>
    #include <stdint.h>

    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
    #define LOOPS_CLONES __attribute__((target_clones("avx2", "default")))
    #else
    #define LOOPS_CLONES
    #endif
    #if defined(__GNUC__)
    #define LOOPS_INLINE static inline __attribute__((always_inline))  /* else it is called, not vectorized */
    #else
    #define LOOPS_INLINE static CYTHON_INLINE
    #endif
    #define LOOPS_LANES 16

    typedef union { float number; int32_t bits; } loops_float32;  /* GCC vectorizes no memcpy */

    LOOPS_INLINE float loops_power_of_two(int32_t n) {
        loops_float32 power;
        power.bits = (n + 127) << 23;
        return power.number;
    }
    LOOPS_INLINE float loops_exp(float x) {
        const float shift = 12582912.0f;
        loops_float32 sum;
        float n, r, p;
        int32_t whole, half;
        x = x < -104.0f ? -104.0f : x;
        x = x > 89.0f ? 89.0f : x;
        sum.number = x * 1.44269504088896341f + shift;
        whole = sum.bits - 0x4B400000;
        n = sum.number - shift;
        r = x - n * 0.693359375f;
        r = r - n * -2.12194440e-4f;
        p = 1.9875691500e-4f;
        p = p * r + 1.3981999507e-3f;
        p = p * r + 8.3334519073e-3f;
        p = p * r + 4.1665795894e-2f;
        p = p * r + 1.6666665459e-1f;
        p = p * r + 5.0000001201e-1f;
        p = p * (r * r) + r + 1.0f;
        half = whole >> 1;
        return p * loops_power_of_two(half) * loops_power_of_two(whole - half);
    }

    /* out = exp(x - shift); x and out may be the same */
    LOOPS_CLONES static void loops_exp_row(const float* x, float shift, float* out, Py_ssize_t n) {
        Py_ssize_t i;
        for (i = 0; i < n; ++i) out[i] = loops_exp(x[i] - shift);
    }
    LOOPS_CLONES static void loops_sigmoid_row(const float* x, float* out, Py_ssize_t n) {
        Py_ssize_t i;
        for (i = 0; i < n; ++i) out[i] = 1.0f / (1.0f + loops_exp(-x[i]));
    }
    LOOPS_CLONES static void loops_silu_row(const float* x, float* out, Py_ssize_t n) {
        Py_ssize_t i;
        for (i = 0; i < n; ++i) out[i] = x[i] / (1.0f + loops_exp(-x[i]));
    }
    LOOPS_CLONES static float loops_row_max(const float* x, Py_ssize_t n) {
        float most[LOOPS_LANES], result = -INFINITY;
        Py_ssize_t i = 0;
        int j;
        if (n >= LOOPS_LANES) {
            for (j = 0; j < LOOPS_LANES; ++j) most[j] = x[j];
            for (; i + LOOPS_LANES <= n; i += LOOPS_LANES)
                for (j = 0; j < LOOPS_LANES; ++j) most[j] = x[i + j] > most[j] ? x[i + j] : most[j];
            for (j = 0; j < LOOPS_LANES; ++j) result = most[j] > result ? most[j] : result;
        }
        for (; i < n; ++i) result = x[i] > result ? x[i] : result;
        return result;
    }
    LOOPS_CLONES static double loops_row_sum(const float* x, Py_ssize_t n) {
        float lanes[LOOPS_LANES];
        double total = 0;
        Py_ssize_t i = 0;
        int j;
        if (n >= 2 * LOOPS_LANES) {
            for (j = 0; j < LOOPS_LANES; ++j) lanes[j] = 0;
            for (; i + LOOPS_LANES <= n; i += LOOPS_LANES)
                for (j = 0; j < LOOPS_LANES; ++j) lanes[j] += x[i + j];
            for (j = 0; j < LOOPS_LANES; ++j) total += lanes[j];
        }
        for (; i < n; ++i) total += x[i];
        return total;
    }
    LOOPS_CLONES static double loops_row_dot(const float* x, const float* y, Py_ssize_t n) {
        float lanes[LOOPS_LANES];
        double total = 0;
        Py_ssize_t i = 0;
        int j;
        if (n >= 2 * LOOPS_LANES) {
            for (j = 0; j < LOOPS_LANES; ++j) lanes[j] = 0;
            for (; i + LOOPS_LANES <= n; i += LOOPS_LANES)
                for (j = 0; j < LOOPS_LANES; ++j) lanes[j] += x[i + j] * y[i + j];
            for (j = 0; j < LOOPS_LANES; ++j) total += lanes[j];
        }
        for (; i < n; ++i) total += (double)x[i] * y[i];
        return total;
    }
    LOOPS_CLONES static void loops_softmax_row(const float* x, float* out, Py_ssize_t n) {
        float inverse;
        Py_ssize_t i;
        loops_exp_row(x, loops_row_max(x, n), out, n);
        inverse = (float)(1.0 / loops_row_sum(out, n));
        for (i = 0; i < n; ++i) out[i] *= inverse;
    }
    LOOPS_CLONES static void loops_log_softmax_row(const float* x, float* out, Py_ssize_t n) {
        const float most = loops_row_max(x, n);
        float shift;
        Py_ssize_t i;
        loops_exp_row(x, most, out, n);
        shift = (float)log(loops_row_sum(out, n));
        for (i = 0; i < n; ++i) out[i] = (x[i] - most) - shift;
    }
    LOOPS_CLONES static void loops_softmax_backward_row(const float* g, const float* y, float* out, Py_ssize_t n) {
        const float along = (float)loops_row_dot(g, y, n);
        Py_ssize_t i;
        for (i = 0; i < n; ++i) out[i] = (g[i] - along) * y[i];
    }
    LOOPS_CLONES static void loops_log_softmax_backward_row(const float* g, const float* y, float* out, Py_ssize_t n) {
        const float total = (float)loops_row_sum(g, n);
        Py_ssize_t i;
        for (i = 0; i < n; ++i) out[i] = g[i] - loops_exp(y[i]) * total;
    }
    #endif
    """
    void loops_exp_row(float* x, float shift, float* out, Py_ssize_t n) noexcept
    void loops_sigmoid_row(float* x, float* out, Py_ssize_t n) noexcept
    void loops_silu_row(float* x, float* out, Py_ssize_t n) noexcept
    double loops_row_sum(float* x, Py_ssize_t n) noexcept
    void loops_softmax_row(float* x, float* out, Py_ssize_t n) noexcept
    void loops_log_softmax_row(float* x, float* out, Py_ssize_t n) noexcept
    void loops_softmax_backward_row(float* g, float* y, float* out, Py_ssize_t n) noexcept
    void loops_log_softmax_backward_row(float* g, float* y, float* out, Py_ssize_t n) noexcept
