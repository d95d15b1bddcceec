// Batch normalization of arrays (batch, channels, elements).  T: input, P: weight and bias, R: running statistics.
extern "C" __global__ void batch_norm_statistics(
    const T* x, A* mean, A* invstd, R* running_mean, R* running_var, i64 batch, i64 channels, i64 elements, double momentum, double eps) {
  const i64 c = blockIdx.x, count = batch * elements;
  A s = 0, q = 0;
  for (i64 k = threadIdx.x; k < count; k += blockDim.x) s += get(x + (k / elements * channels + c) * elements + k % elements);
  const A m = block_sum(s) / (A)count;
  for (i64 k = threadIdx.x; k < count; k += blockDim.x) {
    const A d = get(x + (k / elements * channels + c) * elements + k % elements) - m;
    q += d * d;
  }
  const A var = block_sum(q) / (A)count;
  if (threadIdx.x == 0) {
    mean[c] = m;
    invstd[c] = 1 / sqrt(var + (A)eps);
    const A kept = (A)(1 - momentum), moved = (A)momentum;
    if (running_mean) put(running_mean + c, get(running_mean + c) * kept + m * moved);
    if (running_var) {
      const A unbiased = count > 1 ? var * ((A)count / (A)(count - 1)) : (A)NOT_A_NUMBER;
      put(running_var + c, get(running_var + c) * kept + unbiased * moved);
    }
  }
}

// What inference normalizes with.
extern "C" __global__ void batch_norm_running(const R* running_mean, const R* running_var, A* mean, A* invstd, i64 channels, double eps) {
  EACH(c, channels) {
    mean[c] = get(running_mean + c);
    invstd[c] = 1 / sqrt((A)get(running_var + c) + (A)eps);
  }
}

extern "C" __global__ void batch_norm_apply(
    const T* x, const A* mean, const A* invstd, const P* weight, const P* bias, T* y, i64 count, i64 channels, i64 elements) {
  EACH(i, count) {
    const i64 c = i / elements % channels;
    A v = (get(x + i) - mean[c]) * invstd[c];
    if (weight) v *= get(weight + c);
    if (bias) v += get(bias + c);
    put(y + i, v);
  }
}

// Sums of the gradient, and of its products with the normalized input.
extern "C" __global__ void batch_norm_sums(
    const T* g, const T* x, const A* mean, const A* invstd, A* total, A* dot, i64 batch, i64 channels, i64 elements) {
  const i64 c = blockIdx.x, count = batch * elements;
  const A m = mean[c], scale = invstd[c];
  A s = 0, q = 0;
  for (i64 k = threadIdx.x; k < count; k += blockDim.x) {
    const i64 i = (k / elements * channels + c) * elements + k % elements;
    const A v = get(g + i);
    s += v;
    q += v * (get(x + i) - m) * scale;
  }
  s = block_sum(s);
  q = block_sum(q);
  if (threadIdx.x == 0) { total[c] = s; dot[c] = q; }
}

extern "C" __global__ void batch_norm_backward(
    const T* g, const T* x, const A* mean, const A* invstd, const P* weight, const A* total, const A* dot, T* d, i64 count,
    i64 channels, i64 elements, int train) {
  const A n = (A)(count / channels);
  EACH(i, count) {
    const i64 c = i / elements % channels;
    A v = get(g + i);
    if (train) v -= (total[c] + (get(x + i) - mean[c]) * invstd[c] * dot[c]) / n;
    v *= invstd[c];
    if (weight) v *= get(weight + c);
    put(d + i, v);
  }
}
