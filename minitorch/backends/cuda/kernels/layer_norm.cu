// Layer normalization of rows of n elements: a block a row.  T: storage; means and inverse deviations are A's.
extern "C" __global__ void layer_norm(const T* x, const T* weight, const T* bias, T* y, A* mean, A* rstd, i64 rows, i64 n, double eps) {
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    const T* a = x + r * n;
    A s = 0, q = 0;
    for (i64 k = threadIdx.x; k < n; k += blockDim.x) s += get(a + k);
    const A m = block_sum(s) / (A)n;
    for (i64 k = threadIdx.x; k < n; k += blockDim.x) { const A d = get(a + k) - m; q += d * d; }
    const A scale = 1 / sqrt(block_sum(q) / (A)n + (A)eps);
    for (i64 k = threadIdx.x; k < n; k += blockDim.x) {
      A v = (get(a + k) - m) * scale;
      if (weight) v *= get(weight + k);
      if (bias) v += get(bias + k);
      put(y + r * n + k, v);
    }
    if (threadIdx.x == 0) { mean[r] = m; rstd[r] = scale; }
  }
}

extern "C" __global__ void layer_norm_backward(const T* g, const T* x, const A* mean, const A* rstd, const T* weight, T* d, i64 rows, i64 n) {
  for (i64 r = blockIdx.x; r < rows; r += gridDim.x) {
    const A m = mean[r], scale = rstd[r];
    A s = 0, q = 0;
    for (i64 k = threadIdx.x; k < n; k += blockDim.x) {
      const A v = get(g + r * n + k) * (weight ? get(weight + k) : (A)1);
      s += v;
      q += v * (get(x + r * n + k) - m) * scale;
    }
    s = block_sum(s) / (A)n;
    q = block_sum(q) / (A)n;
    for (i64 k = threadIdx.x; k < n; k += blockDim.x) {
      const A v = get(g + r * n + k) * (weight ? get(weight + k) : (A)1);
      put(d + r * n + k, (v - s - (get(x + r * n + k) - m) * scale * q) * scale);
    }
  }
}

// Gradients of weight and bias: 32 columns a block, whose 8 warps take every eighth row.  Either may be null.
extern "C" __global__ void layer_norm_parameters(const T* g, const T* x, const A* mean, const A* rstd, A* gw, A* gb, i64 rows, i64 n) {
  __shared__ A weights[8][33];
  __shared__ A biases[8][33];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const i64 k = (i64)blockIdx.x * 32 + lane;
  A w = 0, b = 0;
  if (k < n)
    for (i64 r = warp; r < rows; r += 8) {
      const A v = get(g + r * n + k);
      w += v * (get(x + r * n + k) - mean[r]) * rstd[r];
      b += v;
    }
  weights[warp][lane] = w;
  biases[warp][lane] = b;
  __syncthreads();
  if (warp == 0 && k < n) {
    for (int i = 1; i < 8; i++) { w += weights[i][lane]; b += biases[i][lane]; }
    if (gw) gw[k] = w;
    if (gb) gb[k] = b;
  }
}
