// Philox4x32-10 (Salmon et al. 2011): the counter is the number of the element, the key the seed.
struct Words { unsigned v[4]; };

__device__ inline Words philox(u64 counter, unsigned k0, unsigned k1) {
  unsigned c0 = (unsigned)counter, c1 = (unsigned)(counter >> 32), c2 = 0, c3 = 0;
  for (int r = 0; r < 10; r++) {
    const u64 p0 = (u64)0xD2511F53u * c0, p1 = (u64)0xCD9E8D57u * c2;
    const unsigned n0 = (unsigned)(p1 >> 32) ^ c1 ^ k0, n2 = (unsigned)(p0 >> 32) ^ c3 ^ k1;
    c0 = n0; c1 = (unsigned)p1; c2 = n2; c3 = (unsigned)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return Words{{c0, c1, c2, c3}};
}

__device__ inline double uniform(Words w) { return (double)(((u64)w.v[0] | (u64)w.v[1] << 32) >> 11) * 0x1p-53; }
