// Dropout: draws, mask and product in one pass.  T: storage; `scale` has been rounded to it.
extern "C" __global__ void dropout(const T* x, T* y, bool* mask, i64 count, i64 first, unsigned k0, unsigned k1, double kept, double scale) {
  EACH(i, count) {
    const bool stays = uniform(philox((u64)(first + i), k0, k1)) < kept;
    mask[i] = stays;
    put(y + i, get(x + i) * (A)stays * (A)scale);
  }
}
