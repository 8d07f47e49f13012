// The initial embedding, its gradient, and the update of the weights that make it.
//
// hidden = sum_i w_i (X_i W_i + b_i)        H0 = dropout(relu(hidden)) W_out + b_out
//
// With D0 the gradient of H0, m the factors of dropout (0 or 1 / (1 - p)) and [hidden > 0] the open units:
//
//     dW_out = (m relu(hidden))^T D0             dhidden = m [hidden > 0] (D0 W_out^T)
//     dW_i   = w_i X_i^T dhidden                 biases: sums over the rows
//
// dhidden takes the place of hidden. A row of dW_i is a sum of rows of dhidden, and is used by Adam at once: these
// gradients, the largest there are, are never stored (but for partial sums where a product runs in blocks). Inputs that
// are branches have hidden values of their own; what is made of several hidden values stands in jumping.hpp. The
// gradient of a learnt factor g_i of w_i is the sum over the entries of dW_i W_i and of db_i b_i, over g_i.

#pragma once

#include "dense.hpp"
#include "engine.hpp"

namespace {

// The values of one head before the nonlinearity, in P panels.
template <int P>
void Engine::encode(int b, int64_t head, int64_t panel) {
    const float* w = weights(b);
    const int64_t step = n * LANES;
    float* target = values(b, head) + panel * step;
    Vector bias[P];
    for (int p = 0; p < P; ++p) bias[p] = splat(0);
    for (int64_t k = 0; k < problem.inputs; ++k) {
        if (layout.head_of[k] != head) continue;
        const float times = inputs[k].branch ? 1.0f : factor(b, k);
        const float* own = w + layout.input_bias[k] + panel * LANES;
        for (int p = 0; p < P; ++p) bias[p] = fused(splat(times), load(own + p * LANES), bias[p]);
    }
    bool begun = false;
    for (int64_t k = 0; k < problem.inputs; ++k) {
        if (layout.head_of[k] != head) continue;
        const int64_t rows = inputs[k].columns;
        const Vector times = splat(inputs[k].branch ? 1.0f : factor(b, k));
        const float* source = w + layout.input[k] + panel * rows * LANES;
        const auto add = [=](int64_t i, const Vector* total) {
            float* out = target + i * LANES;
            for (int p = 0; p < P; ++p) store(out + p * step, fused(times, total[p], load(out + p * step)));
        };
        const auto begin = [=](int64_t i, const Vector* total) {
            for (int p = 0; p < P; ++p) store(target + i * LANES + p * step, fused(times, total[p], bias[p]));
        };
        if (inputs[k].dense) {
            const Rows dense{inputs[k].dense, rows, LANES};
            ranges(n, [=](Range range) {
                if (begun)
                    dense_product<P>(dense, range, rows, source, rows * LANES, add);
                else
                    dense_product<P>(dense, range, rows, source, rows * LANES, begin);
            });
            begun = true;
            continue;
        }
        for (const Matrix& part : read[k].parts) {
            ranges(part, [=](Range range) {
                if (begun)
                    multiply<P>(part, range, source, LANES, rows * LANES, add);
                else
                    multiply<P>(part, range, source, LANES, rows * LANES, begin);
            });
            begun = true;
        }
    }
}

void Engine::encode(int b) {
    for (int64_t head = 0; head < layout.heads; ++head)
        by_panels(width, [&](auto count, int64_t panel) { encode<decltype(count)::value>(b, head, panel); });
}

// The initial embedding into the slots `training` and `evaluation` (lanes; equal where one pass serves both) of a group's
// rows: one(i, t) gives panel t of row i of what the head is applied to, two(i, t, y) the same, and y in training.
template <int N, class One, class Two>
INLINE void Engine::head(int b, float* embedding, int64_t row, int training, int evaluation, One&& one, Two&& two) {
    head<N>(b, embedding, row, training, evaluation, 0, one, two);
    for (int from = LANES; from < c; from += LANES) head<0>(b, embedding, row, training, evaluation, from, one, two);
}

// The same for the classes of one vector, from a class on.
template <int N, class One, class Two>
INLINE void Engine::head(int b, float* embeddings, int64_t row, int training, int evaluation, int from, One&& one,
                         Two&& two) {
    constexpr int MOST = N ? N : MAX_CLASSES;
    const int C = N ? N : std::min(c - from, LANES);
    const float* w = weights(b) + layout.head + from * stride;
    const float* bias = weights(b) + layout.head_bias + from;
    float* const embedding = embeddings + from;
    constexpr bool PAIRS = MOST <= 8;
    if (training == evaluation)
        return ranges(n, [=](Range range) {
            const int64_t together = PAIRS ? 2 : 1;
            Vector total[LANES];
            for (int k = 0; k < LANES; ++k) total[k] = splat(0);
            for (int64_t i = range.begin; i < range.end; i += together) {
                const int64_t other = PAIRS && i + 1 < range.end ? i + 1 : i;
                for (int j = 0; j < C; ++j) total[j] = splat(0);
                if (PAIRS)
                    for (int j = 0; j < C; ++j) total[(8 + j) % LANES] = splat(0);
                for (int64_t t = 0; t < width; ++t) {
                    const Vector x = one(i, t), y = one(other, t);
                    for (int j = 0; j < C; ++j) {
                        const Vector column = load(w + j * stride + t * LANES);
                        total[j] = fused(x, column, total[j]);
                        if (PAIRS) total[(8 + j) % LANES] = fused(y, column, total[(8 + j) % LANES]);
                    }
                }
                const Vector result = sums(total);
                for (int j = 0; j < C; ++j) embedding[i * row + training + j] = result[j] + bias[j];
                if (PAIRS)
                    for (int j = 0; j < C; ++j) embedding[other * row + training + j] = result[(8 + j) % LANES] + bias[j];
            }
        });
    ranges(n, [=](Range range) {
        Vector total[LANES], dropped[LANES];
        for (int k = 0; k < LANES; ++k) total[k] = dropped[k] = splat(0);
        for (int64_t i = range.begin; i < range.end; ++i) {
            for (int j = 0; j < C; ++j) total[j] = dropped[j] = splat(0);
            for (int64_t t = 0; t < width; ++t) {
                Vector y;
                const Vector x = two(i, t, y);
                for (int j = 0; j < C; ++j) {
                    const Vector column = load(w + j * stride + t * LANES);
                    total[j] = fused(x, column, total[j]);
                    dropped[j] = fused(y, column, dropped[j]);
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
    });
}

template <int N>
void Engine::hidden_head(int b, float* embedding, int64_t row, int training, int evaluation) {
    const float* before = values(b, 0);
    const uint16_t* bits = masks[b].data();
    const Vector scale = splat(static_cast<float>(1 / (1 - settings[b].dropout)));
    const auto one = [=](int64_t i, int64_t t) { return rectified(load(before + (t * n + i) * LANES)); };
    const auto two = [=](int64_t i, int64_t t, Vector& y) {
        const Vector x = one(i, t);
        y = chosen(bits[i * width + t], x * scale);
        return x;
    };
    head<N>(b, embedding, row, training, evaluation, one, two);
}

// The sums over n rows of c columns, in float64.
INLINE void column_sums(const float* values, int64_t n, int64_t row, int c, Vector* sums) {
    double total[WIDEST] = {};
    for (int64_t i = 0; i < n; ++i)
        for (int j = 0; j < c; ++j) total[j] += values[i * row + j];
    for (int j = 0; j < c; ++j) sums[j / LANES][j % LANES] = static_cast<float>(total[j]);
}

// Replaces the hidden values by their gradients, and leaves the gradients of the head and of the hidden bias.
template <int N>
void Engine::head_backward(int b, const float* gradient, int64_t row, int slot, Scratch& scratch, Vector* bias) {
    constexpr int MOST = N ? N : WIDEST;
    const int C = N ? N : c;
    const float* w = weights(b) + layout.head;
    const bool dropping = settings[b].dropout > 0;
    const uint16_t* drawn = masks[b].data();
    const Vector scale = splat(dropping ? static_cast<float>(1 / (1 - settings[b].dropout)) : 1.0f);
    float* values = this->values(b, 0);
    std::memset(scratch.head, 0, C * stride * sizeof(float));
    std::memset(scratch.columns, 0, stride * sizeof(float));
    float *const heads = scratch.head, *const columns = scratch.columns;
    ranges(width, [=](Range panels) {
        for (int64_t begin = 0; begin < n; begin += BLOCK_ROWS) {
            const int64_t end = std::min<int64_t>(begin + BLOCK_ROWS, n);
            for (int64_t t = panels.begin; t < panels.end; ++t) {
                Vector to_hidden[MOST], to_head[MOST], column = splat(0);
                for (int j = 0; j < C; ++j) {
                    to_hidden[j] = load(w + j * stride + t * LANES) * scale;
                    to_head[j] = splat(0);
                }
                for (int64_t i = begin; i < end; ++i) {
                    const float* g = gradient + i * row + slot;
                    float* place = values + (t * n + i) * LANES;
                    const uint32_t bits = dropping ? drawn[i * width + t] : 0xFFFFu;
                    const Vector before = load(place);
                    const Vector after = gated(before, bits, before);
                    Vector total = splat(0);
                    for (int j = 0; j < C; ++j) {
                        const Vector each = splat(g[j]);
                        total = fused(each, to_hidden[j], total);
                        to_head[j] = fused(each, after, to_head[j]);
                    }
                    total = gated(before, bits, total);
                    store(place, total);
                    column += total;
                }
                for (int j = 0; j < C; ++j) {
                    float* out = heads + j * stride + t * LANES;
                    store(out, fused(to_head[j], scale, load(out)));
                }
                store(columns + t * LANES, load(columns + t * LANES) + column);
            }
        }
    });
    column_sums(gradient + slot, n, row, C, bias);
}

// sums = all blocks of columns but the last of a transposed input times the gradient, for some rows.
template <int P>
void Engine::sum_parts(const std::vector<Matrix>& parts, size_t count, Range range, const float* gradient, float* sums,
                       int64_t step) {
    for (size_t part = 0; part < count; ++part)
        multiply<P>(parts[part], range, gradient, LANES, n * LANES, [&](int64_t i, const Vector* total) {
            float* out = sums + i * LANES;
            for (int p = 0; p < P; ++p) store(out + p * step, part ? load(out + p * step) + total[p] : total[p]);
        });
}

// sums = the gradient of the weights of an input, before its factor, in P panels.
template <int P>
void Engine::weigh_inputs(const Input& input, const Blocks& blocks, const float* gradient, float* sums) {
    const int64_t step = input.columns * LANES;
    if (input.dense)
        ranges(input.columns, [&](Range range) {
            outer<P>(Rows{input.dense, input.columns, LANES}, n, range, gradient, n * LANES, sums, step);
        });
    else
        ranges(input.transposed, [&](Range range) {
            sum_parts<P>(blocks.parts, blocks.parts.size(), range, gradient, sums, step);
        });
}

// Gradient and update of the input weights of a head in P panels, row by row: of a sparse input the gradient never leaves
// the registers. dots: for each gated input, the sum of gradient times weight.
template <int P>
void Engine::update_inputs(int b, int64_t head, int64_t panel, const Adam& given, Scratch& scratch, double* dots) {
    const Adam adam = given;
    const float* gradient = values(b, head) + panel * n * LANES;
    for (int64_t k = 0; k < problem.inputs; ++k) {
        if (layout.head_of[k] != head) continue;
        const bool branch = inputs[k].branch, dotted = inputs[k].gated && !branch;
        const Vector times = splat(branch ? 1.0f : factor(b, k));
        const int64_t rows = inputs[k].columns, step = rows * LANES;
        const int64_t offset = layout.input[k] + panel * step;
        float *const w = weights(b) + offset, *const m = first(b) + offset, *const v = second(b) + offset;
        float* const sums = scratch.partial;
        if (dotted) {  // the sum of gradient times weight has one order
            weigh_inputs<P>(inputs[k], read_transposed[k], gradient, sums);
            Vector dot = splat(0);
            for (int64_t at = 0; at < P * step; at += LANES) dot = fused(load(sums + at), load(w + at), dot);
            dots[k] += lane_sum(dot);
        }
        const auto finish = [=](int64_t at, Vector all) { adam.update(w + at, m + at, v + at, all * times); };
        if (inputs[k].dense || dotted) {
            if (!dotted) weigh_inputs<P>(inputs[k], read_transposed[k], gradient, sums);
            ranges(P * rows, [=](Range range) {
                for (int64_t at = range.begin * LANES; at < range.end * LANES; at += LANES) finish(at, load(sums + at));
            });
            continue;
        }
        const std::vector<Matrix>& parts = read_transposed[k].parts;
        const size_t last = parts.size() - 1;
        ranges(inputs[k].transposed, [=, &parts](Range range) {
            sum_parts<P>(parts, last, range, gradient, sums, step);
            multiply<P>(parts[last], range, gradient, LANES, n * LANES, [&](int64_t i, const Vector* total) {
                for (int p = 0; p < P; ++p) {
                    const int64_t at = i * LANES + p * step;
                    finish(at, last ? load(sums + at) + total[p] : total[p]);
                }
            });
        });
    }
}

// The biases of inputs by the sums that the backward pass left; dots as in update_inputs.
void Engine::update_biases(int b, const Adam& adam, Scratch& scratch, double* dots) {
    float *w = weights(b), *m = first(b), *v = second(b);
    for (int64_t k = 0; k < problem.inputs; ++k) {
        const float* column = scratch.columns + layout.head_of[k] * stride;
        const Vector times = splat(inputs[k].branch ? 1.0f : factor(b, k));
        const bool dotted = inputs[k].gated && !inputs[k].branch;
        for (int64_t t = 0; t < stride; t += LANES) {
            const int64_t at = layout.input_bias[k] + t;
            if (dotted) dots[k] += lane_sum(load(column + t) * load(w + at));
            adam.update(w + at, m + at, v + at, load(column + t) * times);
        }
    }
}

// All inputs of a member, some panels at a time: new weights are read again for the next hidden values while they are in
// the cache. Where learnt factors stand before inputs, these come before the next hidden values.
void Engine::update_inputs(int b, const Adam& adam, Scratch& scratch, double* dots) {
    const bool gates = gated_inputs();
    for (int64_t head = 0; head < layout.heads; ++head)
        by_panels(width, [&](auto count, int64_t panel) {
            update_inputs<decltype(count)::value>(b, head, panel, adam, scratch, dots);
            if (!gates) encode<decltype(count)::value>(b, head, panel);
        });
    if (!gates) return;
    float *w = weights(b), *m = first(b), *v = second(b);
    for (int64_t k = 0; k < problem.inputs; ++k) {
        if (!inputs[k].gated || inputs[k].branch) continue;
        const int64_t at = layout.gate[k];
        Vector gradient = splat(0);
        if (w[at] > 0) gradient[0] = static_cast<float>(settings[b].shares[k] * dots[k]);
        adam.update(w + at, m + at, v + at, gradient);
    }
    encode(b);
}

}  // namespace
