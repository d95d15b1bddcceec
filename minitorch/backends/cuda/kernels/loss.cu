// The negative log likelihood of classes: input (batch, classes, rest), targets (batch, rest) of type I.  T: storage.
// wrong[0] becomes 1 for a class that does not exist, and wrong[1] which.
__device__ inline i64 place_of(i64 k, i64 t, i64 classes, i64 rest) { return (k / rest * classes + t) * rest + k % rest; }

// reduction: 0 none, 1 mean, 2 sum.  One block: its sums are the same each time.
extern "C" __global__ void nll_forward(
    const T* x, const I* target, const T* weight, T* loss, T* total_weight, i64* wrong, i64 count, i64 classes, i64 rest,
    i64 ignore_index, int reduction) {
  A s = 0, q = 0;
  for (i64 k = threadIdx.x; k < count; k += blockDim.x) {
    const i64 t = target[k];
    A l = 0, w = 0;
    if (t != ignore_index) {
      if (t < 0 || t >= classes) { wrong[0] = 1; wrong[1] = t; continue; }
      w = weight ? get(weight + t) : (A)1;
      l = w == 0 ? (A)0 : -get(x + place_of(k, t, classes, rest)) * w;
    }
    if (reduction == 0) put(loss + k, l);
    s += l;
    q += w;
  }
  if (reduction == 0) { if (threadIdx.x == 0) put(total_weight, 0); return; }
  s = block_sum(s);
  q = block_sum(q);
  if (threadIdx.x == 0) { put(loss, reduction == 1 ? s / q : s); put(total_weight, q); }
}

extern "C" __global__ void nll_backward(
    const T* grad, const I* target, const T* weight, const T* total_weight, T* d, i64 count, i64 classes, i64 rest,
    i64 ignore_index, int reduction) {
  EACH(k, count) {
    const i64 t = target[k];
    if (t != ignore_index && t >= 0 && t < classes) {
      const A w = weight ? get(weight + t) : (A)1;
      A v = -get(grad + (reduction == 0 ? k : 0));
      if (reduction == 1) v /= get(total_weight);
      if (w != 0) put(d + place_of(k, t, classes, rest), v * w);
    }
  }
}
