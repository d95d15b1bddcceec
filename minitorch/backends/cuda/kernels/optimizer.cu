// Whole optimizer steps: one launch a parameter.  T: parameters and state, S: counts of steps.
// `scale` and `found_inf` are null or one float: what gradients are divided by, and whether to do nothing.
#define SKIPPED (found_inf && *found_inf != 0)

extern "C" __global__ void count_up(S* step, const float* found_inf) {
  if (!SKIPPED) put(step, get(step) + 1);
}

extern "C" __global__ void sgd(
    T* p, const T* g, T* buffer, const float* scale, const float* found_inf, i64 count, double weight_decay, double momentum, double lr,
    double dampening, int nesterov, int maximize, int first) {
  if (SKIPPED) return;
  EACH(i, count) {
    A u = get(g + i), v = get(p + i);
    if (scale) u /= *scale;
    if (maximize) u = -u;
    if (weight_decay != 0) u += v * (A)weight_decay;
    if (buffer) {
      const A k = first ? u : get(buffer + i) * (A)momentum + u * (A)(1 - dampening);
      put(buffer + i, k);
      u = nesterov ? u + k * (A)momentum : k;
    }
    put(p + i, v - u * (A)lr);
  }
}

extern "C" __global__ void adam(
    T* p, const T* g, T* mean, T* square, T* largest, const S* step, const float* scale, const float* found_inf, i64 count, double lr,
    double beta1, double beta2, double weight_decay, double eps, int maximize, int decoupled) {
  if (SKIPPED) return;
  // 1 - beta^step without the loss of digits where it is small
  const double n = get(step);
  const A correction = (A)sqrt(-expm1(n * log(beta2)));
  const A factor = (A)lr * correction / (A)-expm1(n * log(beta1));
  EACH(i, count) {
    A u = get(g + i), v = get(p + i);
    if (scale) u /= *scale;
    if (maximize) u = -u;
    if (decoupled) v *= (A)(1 - lr * weight_decay);
    else if (weight_decay != 0) u += v * (A)weight_decay;
    A m = get(mean + i), s = get(square + i);
    m += (u - m) * (A)(1 - beta1);
    s = s * (A)beta2 + u * u * (A)(1 - beta2);
    put(mean + i, m);
    put(square + i, s);
    if (largest) { s = fmax(get(largest + i), s); put(largest + i, s); }
    // p -= lr / c1 * m / (sqrt(s) / c2 + eps), with c2 moved into the numerator
    put(p + i, v - m / (sqrt(s) + (A)eps * correction) * factor);
  }
}
