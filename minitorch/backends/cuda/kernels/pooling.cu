// Pooling of images (planes, height, width) into (planes, rows, columns).  T: storage.
// The size of a window, its stride, padding and dilation: kh kw, sh sw, ph pw, dh dw.
#define WINDOW i64 planes, i64 h, i64 w, i64 oh, i64 ow, i64 kh, i64 kw, i64 sh, i64 sw, i64 ph, i64 pw, i64 dh, i64 dw

// `index`, or null: where in its plane the maximum stands; the first of equal ones, and NaN wins.
extern "C" __global__ void max_pool(const T* x, T* y, i64* index, WINDOW) {
  EACH(i, planes * oh * ow) {
    const i64 r0 = i / ow % oh * sh - ph, c0 = i % ow * sw - pw;
    const T* plane = x + i / (oh * ow) * h * w;
    A best = -(A)POSITIVE_INFINITY;
    i64 at = -1;
    for (i64 a = 0; a < kh; a++) {
      const i64 r = r0 + a * dh;
      if (r < 0 || r >= h) continue;
      for (i64 b = 0; b < kw; b++) {
        const i64 c = c0 + b * dw;
        if (c < 0 || c >= w) continue;
        const A v = get(plane + r * w + c);
        if (at < 0 || v > best || v != v) { best = v; at = r * w + c; }
      }
    }
    put(y + i, best);
    if (index) index[i] = at;
  }
}

// Each element gathers from the windows that it is the maximum of: no atomics, the same sums each time.
extern "C" __global__ void max_pool_backward(const T* g, const i64* index, T* d, WINDOW) {
  EACH(i, planes * h * w) {
    const i64 r = i / w % h, c = i % w, plane = i / (h * w);
    A s = 0;
    for (i64 a = 0; a < kh; a++) {
      const i64 top = r + ph - a * dh;
      if (top < 0 || top % sh || top / sh >= oh) continue;
      for (i64 b = 0; b < kw; b++) {
        const i64 left = c + pw - b * dw;
        if (left < 0 || left % sw || left / sw >= ow) continue;
        const i64 k = (plane * oh + top / sh) * ow + left / sw;
        if (index[k] == r * w + c) s += get(g + k);
      }
    }
    put(d + i, s);
  }
}

// What a window's sum is divided by.
__device__ inline A divisor(i64 r0, i64 c0, i64 h, i64 w, i64 kh, i64 kw, i64 ph, i64 pw, int with_padding, i64 given) {
  i64 r1 = min(r0 + kh, h + ph), c1 = min(c0 + kw, w + pw);
  if (given) return (A)given;
  if (with_padding) return (A)((r1 - r0) * (c1 - c0));
  return (A)((min(r1, h) - max(r0, (i64)0)) * (min(c1, w) - max(c0, (i64)0)));
}

extern "C" __global__ void avg_pool(const T* x, T* y, WINDOW, int with_padding, i64 given) {
  EACH(i, planes * oh * ow) {
    const i64 r0 = i / ow % oh * sh - ph, c0 = i % ow * sw - pw;
    const T* plane = x + i / (oh * ow) * h * w;
    A s = 0;
    for (i64 r = max(r0, (i64)0); r < min(r0 + kh, h); r++)
      for (i64 c = max(c0, (i64)0); c < min(c0 + kw, w); c++) s += get(plane + r * w + c);
    put(y + i, s / divisor(r0, c0, h, w, kh, kw, ph, pw, with_padding, given));
  }
}

extern "C" __global__ void avg_pool_backward(const T* g, T* d, WINDOW, int with_padding, i64 given) {
  EACH(i, planes * h * w) {
    const i64 r = i / w % h, c = i % w, plane = i / (h * w);
    A s = 0;
    for (i64 a = 0; a < kh; a++) {
      const i64 top = r + ph - a;
      if (top < 0 || top % sh || top / sh >= oh) continue;
      for (i64 b = 0; b < kw; b++) {
        const i64 left = c + pw - b;
        if (left < 0 || left % sw || left / sw >= ow) continue;
        const i64 k = (plane * oh + top / sh) * ow + left / sw;
        s += get(g + k) / divisor(top - ph, left - pw, h, w, kh, kw, ph, pw, with_padding, given);
      }
    }
    put(d + i, s);
  }
}
