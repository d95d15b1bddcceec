// Sums and maxima over the threads of a block, whose number is a multiple of 32.  All threads get the result.
__device__ inline A block_sum(A v) {
  __shared__ A parts[32];
  const int warps = blockDim.x >> 5;
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  __syncthreads();  // the last result may still be read
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = v;
  __syncthreads();
  v = parts[0];
  for (int w = 1; w < warps; w++) v += parts[w];
  return v;
}

__device__ inline A block_max(A v) {
  __shared__ A parts[32];
  const int warps = blockDim.x >> 5;
  for (int o = 16; o; o >>= 1) v = fmax(v, __shfl_xor_sync(0xffffffffu, v, o));
  __syncthreads();
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = v;
  __syncthreads();
  v = parts[0];
  for (int w = 1; w < warps; w++) v = fmax(v, parts[w]);
  return v;
}

// A row that is walked by a block (stride 1 in memory is read together), or by one thread of many that stand side by side.
struct ByBlock {
  __device__ static i64 first() { return threadIdx.x; }
  __device__ static i64 step() { return blockDim.x; }
  __device__ static A sum(A v) { return block_sum(v); }
  __device__ static A max(A v) { return block_max(v); }
};
struct ByThread {
  __device__ static i64 first() { return 0; }
  __device__ static i64 step() { return 1; }
  __device__ static A sum(A v) { return v; }
  __device__ static A max(A v) { return v; }
};
