// The words of counters (philox.cuh).
// Plane p of `out` has word p of each element.
extern "C" __global__ void philox_words(unsigned* out, i64 count, i64 first, unsigned k0, unsigned k1, i64 planes) {
  EACH(i, count) {
    const Words w = philox((u64)(first + i), k0, k1);
    for (i64 p = 0; p < planes; p++) out[p * count + i] = w.v[p];
  }
}
