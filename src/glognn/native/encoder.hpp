// The initial embedding, its gradient, and the update of the weights that make it.
//
// hidden = (1 - alpha) (X W_X + b_X) + alpha (A W_A + b_A)        H0 = dropout(relu(hidden)) W_out + b_out
//
// With D0 the gradient of H0, m the factors of dropout (0 or 1 / (1 - p)) and [hidden > 0] the open units:
//
//     dW_out = (m relu(hidden))^T D0             dhidden = m [hidden > 0] (D0 W_out^T)
//     dW_X   = (1 - alpha) X^T dhidden           dW_A    = alpha A^T dhidden          biases: sums over the rows
//
// dhidden takes the place of hidden. A row of dW_X or dW_A is a sparse sum of rows of dhidden, and is used by Adam at
// once: these gradients, the largest there are, are never stored (but for partial sums where a product runs in blocks).

#pragma once

#include "engine.hpp"

namespace {

// hidden = w_X (X W_X + b_X) + w_A (A W_A + b_A), before the nonlinearity, in P panels.
template <int P>
void Engine::encode(int b, int64_t panel) {
    const float* w = weights(b);
    const double alpha = settings[b].alpha;
    const float share = static_cast<float>(alpha), rest = static_cast<float>(1 - alpha);
    const int64_t step = n * LANES;
    float* target = hidden[b] + panel * step;
    Vector bias[P];
    for (int p = 0; p < P; ++p) {
        bias[p] = splat(0);
        const int64_t place = (panel + p) * LANES;
        if (problem.uses_features) bias[p] += rest * load(w + layout.features_bias + place);
        if (problem.uses_adjacency) bias[p] += share * load(w + layout.adjacency_bias + place);
    }
    bool begun = false;
    const auto add = [&](const Blocks& blocks, const float* source, int64_t rows, float factor) {
        const Vector times = splat(factor);
        source += panel * rows * LANES;
        for (const Matrix& part : blocks.parts) {
            if (begun)
                multiply<P>(part, source, LANES, rows * LANES, [&](int64_t i, const Vector* total) {
                    float* out = target + i * LANES;
                    for (int p = 0; p < P; ++p) store(out + p * step, load(out + p * step) + times * total[p]);
                });
            else
                multiply<P>(part, source, LANES, rows * LANES, [&](int64_t i, const Vector* total) {
                    for (int p = 0; p < P; ++p) store(target + i * LANES + p * step, bias[p] + times * total[p]);
                });
            begun = true;
        }
    };
    if (problem.uses_features) add(features, w + layout.features, problem.features.columns, rest);
    if (problem.uses_adjacency) add(adjacency, w + layout.adjacency, n, share);
}

void Engine::encode(int b) {
    by_panels(width, [&](auto count, int64_t panel) { encode<decltype(count)::value>(b, panel); });
}

// The initial embedding into the slots `training` and `evaluation` (lanes; equal without dropout) of a group's rows.
template <int N>
void Engine::head(int b, float* embedding, int64_t row, int training, int evaluation) {
    constexpr int MOST = N ? N : MAX_CLASSES;
    const int C = N ? N : c;
    const float* w = weights(b) + layout.head;
    const float* bias = weights(b) + layout.head_bias;
    const float* before = hidden[b];
    constexpr bool PAIRS = MOST <= 8;
    if (training == evaluation) {
        const int64_t together = PAIRS ? 2 : 1;
        Vector total[LANES];
        for (int k = 0; k < LANES; ++k) total[k] = splat(0);
        for (int64_t i = 0; i < n; i += together) {
            const int64_t other = PAIRS && i + 1 < n ? i + 1 : i;
            for (int j = 0; j < C; ++j) total[j] = splat(0);
            if (PAIRS)
                for (int j = 0; j < C; ++j) total[(8 + j) % LANES] = splat(0);
            for (int64_t t = 0; t < width; ++t) {
                const Vector x = rectified(load(before + (t * n + i) * LANES));
                const Vector y = rectified(load(before + (t * n + other) * LANES));
                for (int j = 0; j < C; ++j) {
                    const Vector column = load(w + j * stride + t * LANES);
                    total[j] += x * column;
                    if (PAIRS) total[(8 + j) % LANES] += y * column;
                }
            }
            const Vector result = sums(total);
            for (int j = 0; j < C; ++j) embedding[i * row + training + j] = result[j] + bias[j];
            if (PAIRS)
                for (int j = 0; j < C; ++j) embedding[other * row + training + j] = result[(8 + j) % LANES] + bias[j];
        }
        return;
    }
    const uint16_t* kept = masks[b].data();
    const Vector scale = splat(static_cast<float>(1 / (1 - settings[b].dropout)));
    Vector total[LANES], dropped[LANES];
    for (int k = 0; k < LANES; ++k) total[k] = dropped[k] = splat(0);
    for (int64_t i = 0; i < n; ++i) {
        for (int j = 0; j < C; ++j) total[j] = dropped[j] = splat(0);
        for (int64_t t = 0; t < width; ++t) {
            const Vector x = rectified(load(before + (t * n + i) * LANES));
            const Vector y = chosen(kept[i * width + t], x * scale);
            for (int j = 0; j < C; ++j) {
                const Vector column = load(w + j * stride + t * LANES);
                total[j] += x * column;
                dropped[j] += y * column;
            }
        }
        Vector first_result, second_result;
        if (PAIRS) {
            for (int j = 0; j < C; ++j) total[(8 + j) % LANES] = dropped[j];
            first_result = sums(total);
            for (int j = 0; j < C; ++j) {
                embedding[i * row + evaluation + j] = first_result[j] + bias[j];
                embedding[i * row + training + j] = first_result[(8 + j) % LANES] + bias[j];
            }
        } else {
            first_result = sums(total);
            second_result = sums(dropped);
            for (int j = 0; j < C; ++j) {
                embedding[i * row + evaluation + j] = first_result[j] + bias[j];
                embedding[i * row + training + j] = second_result[j] + bias[j];
            }
        }
    }
}

// Replaces the hidden values by their gradients, and leaves the gradients of the head and of the hidden bias.
template <int N>
void Engine::head_backward(int b, const float* gradient, int64_t row, int slot, Scratch& scratch, Vector& bias) {
    constexpr int MOST = N ? N : MAX_CLASSES;
    const int C = N ? N : c;
    const float* w = weights(b) + layout.head;
    const bool dropping = settings[b].dropout > 0;
    const uint16_t* kept = masks[b].data();
    const Vector scale = splat(dropping ? static_cast<float>(1 / (1 - settings[b].dropout)) : 1.0f);
    float* values = hidden[b];
    std::memset(scratch.head, 0, C * stride * sizeof(float));
    std::memset(scratch.columns, 0, stride * sizeof(float));
    double bias_total[MOST] = {};
    for (int64_t begin = 0; begin < n; begin += BLOCK_ROWS) {
        const int64_t end = std::min<int64_t>(begin + BLOCK_ROWS, n);
        for (int64_t t = 0; t < width; ++t) {
            Vector to_hidden[MOST], to_head[MOST], column = splat(0);
            for (int j = 0; j < C; ++j) {
                to_hidden[j] = load(w + j * stride + t * LANES) * scale;
                to_head[j] = splat(0);
            }
            for (int64_t i = begin; i < end; ++i) {
                const float* g = gradient + i * row + slot;
                float* place = values + (t * n + i) * LANES;
                const uint32_t bits = dropping ? kept[i * width + t] : 0xFFFFu;
                const Vector before = load(place);
                const Vector after = gated(before, bits, before);
                Vector total = splat(0);
                for (int j = 0; j < C; ++j) {
                    const Vector each = splat(g[j]);
                    total += each * to_hidden[j];
                    to_head[j] += each * after;
                }
                total = gated(before, bits, total);
                store(place, total);
                column += total;
            }
            for (int j = 0; j < C; ++j) {
                float* out = scratch.head + j * stride + t * LANES;
                store(out, load(out) + to_head[j] * scale);
            }
            store(scratch.columns + t * LANES, load(scratch.columns + t * LANES) + column);
        }
        for (int64_t i = begin; i < end; ++i)
            for (int j = 0; j < C; ++j) bias_total[j] += gradient[i * row + slot + j];
    }
    bias = splat(0);
    for (int j = 0; j < C; ++j) bias[j] = static_cast<float>(bias_total[j]);
}

// Gradient and update of the input weights in P panels, row by row: the gradient never leaves the registers.
template <int P>
void Engine::update_inputs(int b, int64_t panel, const Adam& given, Scratch& scratch) {
    const Adam adam = given;
    const float* gradient = hidden[b] + panel * n * LANES;
    const auto update = [&](const Blocks& blocks, int64_t offset, int64_t rows, double share) {
        const Vector times = splat(static_cast<float>(share));
        const int64_t step = rows * LANES;
        offset += panel * step;
        float *const w = weights(b) + offset, *const m = first(b) + offset, *const v = second(b) + offset;
        float* const sums = scratch.partial;
        const size_t last = blocks.parts.size() - 1;
        for (size_t part = 0; part < last; ++part)
            multiply<P>(blocks.parts[part], gradient, LANES, n * LANES, [&](int64_t i, const Vector* total) {
                float* out = sums + i * LANES;
                for (int p = 0; p < P; ++p) store(out + p * step, part ? load(out + p * step) + total[p] : total[p]);
            });
        multiply<P>(blocks.parts[last], gradient, LANES, n * LANES, [&](int64_t i, const Vector* total) {
            for (int p = 0; p < P; ++p) {
                const int64_t at = i * LANES + p * step;
                const Vector all = last ? load(sums + at) + total[p] : total[p];
                adam.update<true>(w + at, m + at, v + at, all * times);
            }
        });
    };
    if (problem.uses_features)
        update(features_transposed, layout.features, problem.features.columns, 1 - settings[b].alpha);
    if (problem.uses_adjacency) update(adjacency_transposed, layout.adjacency, n, settings[b].alpha);
}

// Some panels at a time: new weights are read again for the next hidden values while they are in the cache.
void Engine::update_inputs(int b, const Adam& adam, Scratch& scratch) {
    by_panels(width, [&](auto count, int64_t panel) {
        update_inputs<decltype(count)::value>(b, panel, adam, scratch);
        encode<decltype(count)::value>(b, panel);
    });
}

}  // namespace
