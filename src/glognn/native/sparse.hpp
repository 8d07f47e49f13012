// Sparse matrices times dense ones, in vectors.

#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "memory.hpp"
#include "problem.hpp"
#include "vectors.hpp"

namespace {

// A matrix cut into blocks of columns, so that the rows of the dense factor that a block reads stay in the cache.
struct Blocks {
    std::vector<Matrix> parts;
    std::vector<Array<int32_t>> starts, indices;
    std::vector<Array<float>> values;

    void build(const Matrix& m, int64_t row_bytes, int64_t cache_bytes) {
        const int64_t entries = m.starts[m.rows];
        const int64_t width = std::max<int64_t>(cache_bytes / row_bytes, 1);
        const int64_t count = (m.columns + width - 1) / width;
        if (count <= 1 || entries < 6 * m.rows * count) {
            parts.push_back(m);
            return;
        }
        const int64_t even = (m.columns + count - 1) / count;
        starts.resize(count);
        indices.resize(count);
        values.resize(count);
        std::vector<size_t> sizes(count, 0);
        for (int64_t e = 0; e < entries; ++e) ++sizes[m.indices[e] / even];
        for (int64_t b = 0; b < count; ++b) {
            starts[b].reserve(m.rows + 1);
            indices[b].reserve(sizes[b]);
            values[b].reserve(sizes[b]);
            starts[b].push_back(0);
        }
        for (int64_t i = 0; i < m.rows; ++i) {
            for (int32_t e = m.starts[i]; e < m.starts[i + 1]; ++e) {
                const int64_t b = m.indices[e] / even;
                indices[b].push_back(m.indices[e]);
                values[b].push_back(m.values[e]);
            }
            for (int64_t b = 0; b < count; ++b) starts[b].push_back(static_cast<int32_t>(indices[b].size()));
        }
        for (int64_t b = 0; b < count; ++b)
            parts.push_back({m.rows, m.columns, starts[b].data(), indices[b].data(), values[b].data()});
    }
};

// Some rows of a matrix.
struct Range {
    int64_t begin, end;
};

// Calls row(i, sum over entries (i, j) of value * source[j]) for a range of rows i, with P vectors per row: rows of the
// source are `stride` floats apart, the vectors of a row `step`. Entries at even and odd places are summed apart, whatever
// P is.
template <int P, class Row>
INLINE void multiply(const Matrix& m, Range range, const float* source, int64_t stride, int64_t step, Row&& row) {
    const int32_t *const starts = m.starts, *const indices = m.indices;
    const float* const values = m.values;
    int32_t e = starts[range.begin];
    for (int64_t i = range.begin; i < range.end; ++i) {
        Vector even[P], odd[P];
        for (int p = 0; p < P; ++p) even[p] = odd[p] = splat(0);
        const int32_t end = starts[i + 1];
        for (; e + 1 < end; e += 2) {
            const float* a = source + indices[e] * stride;
            const float* b = source + indices[e + 1] * stride;
            const Vector x = splat(values[e]), y = splat(values[e + 1]);
            for (int p = 0; p < P; ++p) {
                even[p] = fused(x, load(a + p * step), even[p]);
                odd[p] = fused(y, load(b + p * step), odd[p]);
            }
        }
        if (e < end) {
            const float* a = source + indices[e] * stride;
            const Vector x = splat(values[e]);
            for (int p = 0; p < P; ++p) even[p] = fused(x, load(a + p * step), even[p]);
            ++e;
        }
        for (int p = 0; p < P; ++p) even[p] += odd[p];
        row(i, even);
    }
}

template <int P>
using Count = std::integral_constant<int, P>;

constexpr int TOGETHER = 4;  // panels in one pass over the entries of a matrix

// Calls body(integral constant P, first panel) for all panels, up to four at a time.
template <class Body>
INLINE void by_panels(int64_t panels, Body&& body) {
    int64_t done = 0;
    for (; panels - done >= TOGETHER; done += TOGETHER) body(Count<TOGETHER>(), done);
    for (; panels - done >= 2; done += 2) body(Count<2>(), done);
    for (; panels - done >= 1; ++done) body(Count<1>(), done);
}

}  // namespace
