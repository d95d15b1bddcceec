// Softmax, its logarithm, and their derivatives.  T: input, O: output.
// Element k of row r is at (r / inner * n + k) * inner + r % inner.
template <class By, bool LOG> __device__ void forward_row(const T* x, O* y, i64 n, i64 inner) {
  A m = -(A)POSITIVE_INFINITY, s = 0;
  for (i64 k = By::first(); k < n; k += By::step()) m = fmax(m, get(x + k * inner));
  m = By::max(m);
  for (i64 k = By::first(); k < n; k += By::step()) s += exp(get(x + k * inner) - m);
  s = By::sum(s);
  const A scale = LOG ? log(s) : 1 / s;
  for (i64 k = By::first(); k < n; k += By::step()) {
    const A d = get(x + k * inner) - m;
    put(y + k * inner, LOG ? d - scale : exp(d) * scale);
  }
}

template <class By, bool LOG> __device__ void backward_row(const T* g, const T* y, O* d, i64 n, i64 inner) {
  A s = 0;
  for (i64 k = By::first(); k < n; k += By::step()) s += LOG ? get(g + k * inner) : get(g + k * inner) * get(y + k * inner);
  s = By::sum(s);
  for (i64 k = By::first(); k < n; k += By::step()) {
    const A gk = get(g + k * inner), yk = get(y + k * inner);
    put(d + k * inner, LOG ? gk - exp(yk) * s : (gk - s) * yk);
  }
}

#define START(r) ((r) / inner * n * inner + (r) % inner)

#define FORWARD(name, LOG) \
  extern "C" __global__ void name(const T* x, O* y, i64 rows, i64 n, i64 inner) { \
    for (i64 r = blockIdx.x; r < rows; r += gridDim.x) forward_row<ByBlock, LOG>(x + START(r), y + START(r), n, inner); \
  }
#define FORWARD_COLUMNS(name, LOG) \
  extern "C" __global__ void name(const T* x, O* y, i64 rows, i64 n, i64 inner) { \
    EACH(r, rows) forward_row<ByThread, LOG>(x + START(r), y + START(r), n, inner); \
  }
#define BACKWARD(name, LOG) \
  extern "C" __global__ void name(const T* g, const T* y, O* d, i64 rows, i64 n, i64 inner) { \
    for (i64 r = blockIdx.x; r < rows; r += gridDim.x) backward_row<ByBlock, LOG>(g + START(r), y + START(r), d + START(r), n, inner); \
  }
#define BACKWARD_COLUMNS(name, LOG) \
  extern "C" __global__ void name(const T* g, const T* y, O* d, i64 rows, i64 n, i64 inner) { \
    EACH(r, rows) backward_row<ByThread, LOG>(g + START(r), y + START(r), d + START(r), n, inner); \
  }

FORWARD(softmax, false)
FORWARD(log_softmax, true)
FORWARD_COLUMNS(softmax_columns, false)
FORWARD_COLUMNS(log_softmax_columns, true)
BACKWARD(softmax_backward, false)
BACKWARD(log_softmax_backward, true)
BACKWARD_COLUMNS(softmax_backward_columns, false)
BACKWARD_COLUMNS(log_softmax_backward_columns, true)
