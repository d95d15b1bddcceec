// Scaled dot-product attention by tiles (Dao et al., FlashAttention, 2022): scores are never stored.
// A block has TILE rows, and LANES threads for each; its arrays lie in 48 KiB for all types.
// Head h of `heads` starts at h * length * size, or, by position, its rows lie heads * size apart.
constexpr int TILE = sizeof(A) == 8 ? 8 : 16, LANES = 8, WIDEST = 128, EACH_LANE = WIDEST / LANES;
constexpr int PITCH = WIDEST + 1, ACROSS = TILE + 1;  // odd: rows of a tile start in different banks

#define Q_BY_POSITION 1
#define K_BY_POSITION 2
#define V_BY_POSITION 4
#define O_BY_POSITION 8
#define G_BY_POSITION 16

// The rows of one head.
struct Head {
  i64 start, step, length;
  int size;
  __device__ Head(i64 head, i64 heads, i64 length, i64 size, bool by_position)
      : start(by_position ? (head / heads * length * heads + head % heads) * size : head * length * size),
        step(by_position ? heads * size : size), length(length), size((int)size) {}
  __device__ i64 at(i64 row) const { return start + row * step; }
  __device__ void load(A* tile, const T* from, i64 first, A factor) const {
    for (int i = threadIdx.x; i < TILE * size; i += blockDim.x) {
      const int r = i / size, d = i % size;
      tile[r * PITCH + d] = first + r < length ? get(from + at(first + r) + d) * factor : (A)0;
    }
  }
};

// What is added to the scores of one head, or takes them out.
struct Mask {
  const bool* allowed;
  const A* bias;
  i64 by_query, by_key, queries, keys;
  bool causal;
  __device__ Mask(const bool* allowed, const A* bias, i64 start, i64 by_query, i64 by_key, i64 queries, i64 keys, bool causal)
      : allowed(allowed ? allowed + start : allowed), bias(bias ? bias + start : bias),
        by_query(by_query), by_key(by_key), queries(queries), keys(keys), causal(causal) {}
  __device__ A operator()(A score, i64 query, i64 key) const {
    if (query >= queries || key >= keys || (causal && key > query)) return -(A)POSITIVE_INFINITY;
    const i64 place = query * by_query + key * by_key;
    if (allowed && !allowed[place]) return -(A)POSITIVE_INFINITY;
    return bias ? score + bias[place] : score;
  }
};

__device__ inline A dot(const A* a, const A* b, int size) {
  A s = 0;
  for (int d = 0; d < size; d++) s += a[d] * b[d];
  return s;
}

// Over the threads of a row.
__device__ inline A lanes_sum(A v) {
  for (int o = LANES / 2; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}
__device__ inline A lanes_max(A v) {
  for (int o = LANES / 2; o; o >>= 1) v = fmax(v, __shfl_xor_sync(0xffffffffu, v, o));
  return v;
}

// sums[i] = sums[i] * keep + weights @ column (lane + LANES * i) of a tile
__device__ inline void accumulate(A* sums, A keep, const A* weights, const A* tile, int lane, int size) {
#pragma unroll
  for (int i = 0; i < EACH_LANE; i++) {
    const int d = lane + LANES * i;
    if (d >= size) continue;
    A s = 0;
    for (int k = 0; k < TILE; k++) s += weights[k] * tile[k * PITCH + d];
    sums[i] = sums[i] * keep + s;
  }
}

__device__ inline void store(T* to, const A* sums, A factor, int lane, int size) {
#pragma unroll
  for (int i = 0; i < EACH_LANE; i++) {
    const int d = lane + LANES * i;
    if (d < size) put(to + d, sums[i] * factor);
  }
}

#define MASK(h) Mask(allowed, bias, (h) / heads * by_batch + (h) % heads * by_head, by_query, by_key, queries, keys, causal)

extern "C" __global__ void attention(
    const T* q, const T* k, const T* v, const bool* allowed, const A* bias, T* out, A* logsumexp, i64 count, i64 heads,
    i64 queries, i64 keys, i64 size, i64 value_size, i64 by_batch, i64 by_head, i64 by_query, i64 by_key, double scale,
    int causal, int layout) {
  __shared__ A Q[TILE * PITCH], K[TILE * PITCH], V[TILE * PITCH], P[TILE * ACROSS];
  const int r = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const i64 tiles = (queries + TILE - 1) / TILE;
  for (i64 item = blockIdx.x; item < count * tiles; item += gridDim.x) {
    const i64 h = item / tiles, first = item % tiles * TILE, row = first + r;
    const Head hq(h, heads, queries, size, layout & Q_BY_POSITION), hk(h, heads, keys, size, layout & K_BY_POSITION);
    const Head hv(h, heads, keys, value_size, layout & V_BY_POSITION), ho(h, heads, queries, value_size, layout & O_BY_POSITION);
    const Mask mask = MASK(h);
    A top = -(A)POSITIVE_INFINITY, total = 0, sums[EACH_LANE] = {};
    hq.load(Q, q, first, (A)scale);
    const i64 end = causal && first + TILE < keys ? first + TILE : keys;
    for (i64 begin = 0; begin < end; begin += TILE) {
      __syncthreads();  // the last tile may still be read
      hk.load(K, k, begin, 1);
      hv.load(V, v, begin, 1);
      __syncthreads();
      A scores[TILE / LANES], higher = top, part = 0;
      for (int i = 0; i < TILE / LANES; i++) {
        const int j = lane + LANES * i;
        scores[i] = mask(dot(Q + r * PITCH, K + j * PITCH, hq.size), row, begin + j);
        higher = fmax(higher, scores[i]);
      }
      higher = lanes_max(higher);
      const A shift = higher == -(A)POSITIVE_INFINITY ? (A)0 : higher;  // no key yet: 0, not NaN
      for (int i = 0; i < TILE / LANES; i++) {
        const A p = exp(scores[i] - shift);
        P[r * ACROSS + lane + LANES * i] = p;
        part += p;
      }
      const A keep = exp(top - shift);
      total = total * keep + lanes_sum(part);
      top = higher;
      __syncwarp();  // a row is of one warp, whose shuffles do not order memory
      accumulate(sums, keep, P + r * ACROSS, V, lane, hv.size);
    }
    if (row < queries) {
      // A row without any key gives 0; its infinite sum makes its probabilities 0 in the derivative.
      store(out + ho.at(row), sums, total == 0 ? (A)0 : 1 / total, lane, ho.size);
      if (lane == 0) logsumexp[h * queries + row] = total == 0 ? (A)POSITIVE_INFINITY : top + log(total);
    }
    __syncthreads();  // Q may still be read
  }
}

// The gradient of the queries, and delta, the dot products of gradients and results, which the next kernel needs.
extern "C" __global__ void attention_backward_query(
    const T* g, const T* q, const T* k, const T* v, const T* out, const A* logsumexp, const bool* allowed, const A* bias,
    T* dq, A* delta, i64 count, i64 heads, i64 queries, i64 keys, i64 size, i64 value_size, i64 by_batch, i64 by_head,
    i64 by_query, i64 by_key, double scale, int causal, int layout) {
  __shared__ A Q[TILE * PITCH], G[TILE * PITCH], K[TILE * PITCH], V[TILE * PITCH], S[TILE * ACROSS];
  const int r = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const i64 tiles = (queries + TILE - 1) / TILE;
  for (i64 item = blockIdx.x; item < count * tiles; item += gridDim.x) {
    const i64 h = item / tiles, first = item % tiles * TILE, row = first + r;
    const Head hq(h, heads, queries, size, layout & Q_BY_POSITION), hk(h, heads, keys, size, layout & K_BY_POSITION);
    const Head hv(h, heads, keys, value_size, layout & V_BY_POSITION), ho(h, heads, queries, value_size, layout & O_BY_POSITION);
    const Head hg(h, heads, queries, value_size, layout & G_BY_POSITION), hd(h, heads, queries, size, true);
    const Mask mask = MASK(h);
    A sums[EACH_LANE] = {}, product = 0;
    hq.load(Q, q, first, (A)scale);
    hg.load(G, g, first, 1);
    __syncthreads();
    if (row < queries)
      for (int d = lane; d < ho.size; d += LANES) product += G[r * PITCH + d] * get(out + ho.at(row) + d);
    product = lanes_sum(product);
    const A log_total = row < queries ? logsumexp[h * queries + row] : (A)0;
    const i64 end = causal && first + TILE < keys ? first + TILE : keys;
    for (i64 begin = 0; begin < end; begin += TILE) {
      __syncthreads();
      hk.load(K, k, begin, 1);
      hv.load(V, v, begin, 1);
      __syncthreads();
      for (int i = 0; i < TILE / LANES; i++) {
        const int j = lane + LANES * i;
        const A p = exp(mask(dot(Q + r * PITCH, K + j * PITCH, hq.size), row, begin + j) - log_total);
        S[r * ACROSS + j] = p * (dot(G + r * PITCH, V + j * PITCH, hv.size) - product);
      }
      __syncwarp();
      accumulate(sums, 1, S + r * ACROSS, K, lane, hk.size);
    }
    if (row < queries) {
      store(dq + hd.at(row), sums, (A)scale, lane, hd.size);
      if (lane == 0) delta[h * queries + row] = product;
    }
    __syncthreads();
  }
}

// The gradients of keys and values: here a block has rows of keys, and goes over the queries.
extern "C" __global__ void attention_backward_key_value(
    const T* g, const T* q, const T* k, const T* v, const A* logsumexp, const A* delta, const bool* allowed, const A* bias,
    T* dk, T* dv, i64 count, i64 heads, i64 queries, i64 keys, i64 size, i64 value_size, i64 by_batch, i64 by_head,
    i64 by_query, i64 by_key, double scale, int causal, int layout) {
  __shared__ A Q[TILE * PITCH], G[TILE * PITCH], K[TILE * PITCH], V[TILE * PITCH], P[TILE * ACROSS], S[TILE * ACROSS];
  const int r = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const i64 tiles = (keys + TILE - 1) / TILE;
  for (i64 item = blockIdx.x; item < count * tiles; item += gridDim.x) {
    const i64 h = item / tiles, first = item % tiles * TILE, row = first + r;
    const Head hq(h, heads, queries, size, layout & Q_BY_POSITION), hk(h, heads, keys, size, layout & K_BY_POSITION);
    const Head hv(h, heads, keys, value_size, layout & V_BY_POSITION), hg(h, heads, queries, value_size, layout & G_BY_POSITION);
    const Head hdk(h, heads, keys, size, true), hdv(h, heads, keys, value_size, true);
    const Mask mask = MASK(h);
    A key_sums[EACH_LANE] = {}, value_sums[EACH_LANE] = {};
    hk.load(K, k, first, 1);
    hv.load(V, v, first, 1);
    for (i64 begin = causal ? first : 0; begin < queries; begin += TILE) {
      __syncthreads();
      hq.load(Q, q, begin, (A)scale);
      hg.load(G, g, begin, 1);
      __syncthreads();
      for (int i = 0; i < TILE / LANES; i++) {
        const int j = lane + LANES * i;
        const i64 query = begin + j, place = h * queries + query;
        const bool inside = query < queries;
        const A score = mask(dot(Q + j * PITCH, K + r * PITCH, hq.size), query, row);
        const A p = exp(score - (inside ? logsumexp[place] : (A)0));
        P[r * ACROSS + j] = p;
        S[r * ACROSS + j] = p * (dot(G + j * PITCH, V + r * PITCH, hv.size) - (inside ? delta[place] : (A)0));
      }
      __syncwarp();
      accumulate(value_sums, 1, P + r * ACROSS, G, lane, hv.size);
      accumulate(key_sums, 1, S + r * ACROSS, Q, lane, hk.size);  // Q has the scale in it
    }
    if (row < keys) {
      store(dk + hdk.at(row), key_sums, 1, lane, hdk.size);
      store(dv + hdv.at(row), value_sums, 1, lane, hdv.size);
    }
    __syncthreads();
  }
}
