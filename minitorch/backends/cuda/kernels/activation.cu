// Activation functions that take several calls of an array library.  T: storage.
__device__ inline A normal_cdf(A x) { return (A)0.5 * (1 + erf(x * (A)0.70710678118654752440)); }

__device__ inline A tanh_argument(A x) { return (A)0.79788456080286535588 * (x + (A)0.044715 * x * x * x); }

extern "C" __global__ void gelu(const T* x, T* y, i64 count) {
  EACH(i, count) { const A v = get(x + i); put(y + i, v * normal_cdf(v)); }
}

extern "C" __global__ void gelu_tanh(const T* x, T* y, i64 count) {
  EACH(i, count) { const A v = get(x + i); put(y + i, (A)0.5 * v * (1 + tanh(tanh_argument(v)))); }
}

extern "C" __global__ void gelu_backward(const T* g, const T* x, T* d, i64 count) {
  EACH(i, count) {
    const A v = get(x + i), density = exp((A)-0.5 * v * v) * (A)0.39894228040143267794;
    put(d + i, get(g + i) * (normal_cdf(v) + v * density));
  }
}

extern "C" __global__ void gelu_tanh_backward(const T* g, const T* x, T* d, i64 count) {
  EACH(i, count) {
    const A v = get(x + i), t = tanh(tanh_argument(v));
    const A slope = (A)0.79788456080286535588 * (1 + (A)(3 * 0.044715) * v * v);
    put(d + i, get(g + i) * ((A)0.5 * (1 + t) + (A)0.5 * v * (1 - t * t) * slope));
  }
}

extern "C" __global__ void silu(const T* x, T* y, i64 count) {
  EACH(i, count) { const A v = get(x + i); put(y + i, v / (1 + exp(-v))); }
}

extern "C" __global__ void silu_backward(const T* g, const T* x, T* d, i64 count) {
  EACH(i, count) {
    const A v = get(x + i), s = 1 / (1 + exp(-v));
    put(d + i, get(g + i) * s * (1 + v * (1 - s)));
  }
}
