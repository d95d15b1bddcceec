// Rows of a table by their numbers, of type I, and their gradients.  T: storage.
// wrong[0] becomes 1 for a row that does not exist, and wrong[1] which.
extern "C" __global__ void embedding(const T* table, const I* index, T* y, i64* wrong, i64 count, i64 columns, i64 rows) {
  EACH(i, count * columns) {
    const i64 row = index[i / columns];
    if (row < 0 || row >= rows) { wrong[0] = 1; wrong[1] = row; }
    else y[i] = table[row * columns + i % columns];
  }
}

// `counts`, or null: how often each row is named.
extern "C" __global__ void embedding_backward(
    const T* g, const I* index, const i64* counts, A* sums, i64* wrong, i64 count, i64 columns, i64 rows, i64 padding) {
  EACH(i, count * columns) {
    const i64 row = index[i / columns];
    if (row == padding && padding >= 0) continue;
    if (row < 0 || row >= rows) { wrong[0] = 1; wrong[1] = row; continue; }
    const A v = get(g + i);
    atomicAdd(sums + row * columns + i % columns, counts ? v / (A)counts[row] : v);
  }
}

extern "C" __global__ void embedding_round(const A* sums, T* y, i64 count) {
  EACH(i, count) put(y + i, sums[i]);
}
