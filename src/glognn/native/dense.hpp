// Dense matrices times weights in panels of 16 columns, and the gradients of such weights.
//
// Each sum has one order, that of the inner index (of blocks of rows for gradients), whatever the size of a tile.

#pragma once

#include <algorithm>

#include "sparse.hpp"
#include "vectors.hpp"

namespace {

constexpr int OUTER_ROWS = 128;  // of both factors, which stay in the cache while all of a gradient is summed

// A dense matrix of which 16 columns lie side by side: row by row (panel = 16), or in panels of 16 columns.
struct Rows {
    const float* data;
    int64_t row, panel;  // floats between rows, and between the beginnings of panels
};

template <int R, int P, class Row>
INLINE void tile(const Rows& source, int64_t i, int64_t inner, const float* w, int64_t step, Row&& row) {
    Vector total[R][P];
    for (int r = 0; r < R; ++r)
        for (int p = 0; p < P; ++p) total[r][p] = splat(0);
    const float* x = source.data + i * source.row;
    for (int64_t begin = 0; begin < inner; begin += LANES, x += source.panel) {
        const int count = static_cast<int>(std::min<int64_t>(LANES, inner - begin));
        for (int k = 0; k < count; ++k) {
            Vector column[P];
            for (int p = 0; p < P; ++p) column[p] = load(w + (begin + k) * LANES + p * step);
            for (int r = 0; r < R; ++r) {
                const Vector each = splat(x[r * source.row + k]);
                for (int p = 0; p < P; ++p) total[r][p] = fused(each, column[p], total[r][p]);
            }
        }
    }
    for (int r = 0; r < R; ++r) row(i + r, total[r]);
}

// Calls row(i, row i of the source times weights) for a range of rows, P panels of it; panels of the weights lie `step`
// floats apart.
template <int P, class Row>
INLINE void dense_product(const Rows& source, Range range, int64_t inner, const float* w, int64_t step, Row&& row) {
    constexpr int TILE = ONE_REGISTER ? 6 : 4 / P;
    int64_t i = range.begin;
    for (; i + TILE <= range.end; i += TILE) tile<TILE, P>(source, i, inner, w, step, row);
    for (; i < range.end; ++i) tile<1, P>(source, i, inner, w, step, row);
}

template <int T, int P>
INLINE void outer_tile(const Rows& source, int64_t begin, int64_t end, int64_t k, const float* g, int64_t step,
                       float* sums, int64_t sums_step) {
    Vector total[T][P];
    for (int r = 0; r < T; ++r)
        for (int p = 0; p < P; ++p) total[r][p] = splat(0);
    const float* x = source.data + k / LANES * source.panel + k % LANES;
    for (int64_t i = begin; i < end; ++i) {
        Vector row[P];
        for (int p = 0; p < P; ++p) row[p] = load(g + i * LANES + p * step);
        for (int r = 0; r < T; ++r) {
            const Vector each = splat(x[i * source.row + r]);
            for (int p = 0; p < P; ++p) total[r][p] = fused(each, row[p], total[r][p]);
        }
    }
    for (int r = 0; r < T; ++r)
        for (int p = 0; p < P; ++p) {
            float* out = sums + p * sums_step + (k + r) * LANES;
            store(out, begin ? load(out) + total[r][p] : total[r][p]);
        }
}

// A range of rows of sums = source^T g, P panels that lie `sums_step` floats apart; panels of g lie `step` floats apart.
// Not inlined: constants of what stands around it would take its registers.
template <int P>
__attribute__((noinline)) void outer(const Rows& source, int64_t rows, Range range, const float* g, int64_t step,
                                     float* sums, int64_t sums_step) {
    constexpr int TILE = ONE_REGISTER ? 4 : 1;
    for (int64_t begin = 0; begin < rows; begin += OUTER_ROWS) {
        const int64_t end = std::min<int64_t>(begin + OUTER_ROWS, rows);
        int64_t k = range.begin;
        for (; k + TILE <= range.end; k += TILE)
            outer_tile<TILE, P>(source, begin, end, k, g, step, sums, sums_step);
        for (; k < range.end; ++k) outer_tile<1, P>(source, begin, end, k, g, step, sums, sums_step);
    }
}

}  // namespace
