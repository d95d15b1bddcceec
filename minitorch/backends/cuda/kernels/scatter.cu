// Sums at places: out (outer, n, inner), positions of type I along the middle dimension.  T: float, double, int or i64.
// wrong[0] becomes 1 for a position that does not exist, and wrong[1] which.
__device__ inline void add_to(float* p, float v) { atomicAdd(p, v); }
__device__ inline void add_to(double* p, double v) { atomicAdd(p, v); }
__device__ inline void add_to(int* p, int v) { atomicAdd(p, v); }
__device__ inline void add_to(i64* p, i64 v) { atomicAdd((u64*)p, (u64)v); }  // two's complement

// A position for each element of the source (outer, m, inner).
extern "C" __global__ void scatter_add(T* out, const I* index, const T* source, i64* wrong, i64 outer, i64 n, i64 m, i64 inner) {
  EACH(i, outer * m * inner) {
    const i64 t = index[i];
    if (t < 0 || t >= n) { wrong[0] = 1; wrong[1] = t; }
    else add_to(out + (i / (m * inner) * n + t) * inner + i % inner, source[i]);
  }
}

// A position for each slice of the source.
extern "C" __global__ void index_add(T* out, const I* index, const T* source, i64* wrong, i64 outer, i64 n, i64 m, i64 inner, T alpha) {
  EACH(i, outer * m * inner) {
    const i64 t = index[i / inner % m];
    if (t < 0 || t >= n) { wrong[0] = 1; wrong[1] = t; continue; }
    add_to(out + (i / (m * inner) * n + t) * inner + i % inner, source[i] * alpha);
  }
}
