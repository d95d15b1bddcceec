// What all sources stand on: storage types, and their conversion to the types that are computed in.
typedef long long i64;
typedef unsigned long long u64;

struct half_t { unsigned short bits; };
struct bfloat16_t { unsigned short bits; };

#ifdef __CUDA_ARCH__
__device__ inline float half_to_float(unsigned short h) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h)); return f; }
__device__ inline unsigned short float_to_half(float f) { unsigned short h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h; }
#else
__device__ inline float half_to_float(unsigned short h) { _Float16 v; memcpy(&v, &h, 2); return (float)v; }
__device__ inline unsigned short float_to_half(float f) { _Float16 v = (_Float16)f; unsigned short h; memcpy(&h, &v, 2); return h; }
#endif

__device__ inline float get(const float* p) { return *p; }
__device__ inline double get(const double* p) { return *p; }
__device__ inline float get(const half_t* p) { return half_to_float(p->bits); }
__device__ inline float get(const bfloat16_t* p) { return __uint_as_float((unsigned)p->bits << 16); }

__device__ inline void put(float* p, float v) { *p = v; }
__device__ inline void put(double* p, double v) { *p = v; }
__device__ inline void put(half_t* p, float v) { p->bits = float_to_half(v); }
// To the nearest, ties to even; NaN stays NaN.
__device__ inline void put(bfloat16_t* p, float v) {
  const unsigned u = __float_as_uint(v);
  p->bits = v != v ? (unsigned short)((u >> 16) | 0x40) : (unsigned short)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

// The elements of a thread, where there are more than threads.
#define EACH(i, count) for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < (count); i += (i64)gridDim.x * blockDim.x)

// NVRTC has no <math.h> to name them.
#define POSITIVE_INFINITY __uint_as_float(0x7f800000u)
#define NOT_A_NUMBER __uint_as_float(0x7fc00000u)
