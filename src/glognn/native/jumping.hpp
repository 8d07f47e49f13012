// The initial embedding from several hidden values, and its gradient.
//
//     z_0 = dropout(relu(hidden_0)), what local blocks make of it (blocks.hpp), z_j = dropout(relu(hidden_j)) of branches
//     J   = sum_l a_l z_l + sum_j a_j w_j z_j        a = softmax(s)        H0 = J W_out + b_out
//
// With dJ = D0 W_out^T and d_l the sum over the entries of dJ z_l:
//
//     da_l = d_l, or w_j d_j of a branch        ds_l = a_l (da_l - sum_m a_m da_m)        dz_l = a_l dJ, a_j w_j dJ
//
// and the gradient of a learnt factor of w_j is that of w_j.

#pragma once

#include "blocks.hpp"
#include "encoder.hpp"

namespace {

constexpr int MAX_SOURCES = 1 + 64 + MAX_INPUTS;

// a, in float64 from the largest on; without jumping knowledge all of the last block's.
void Engine::read_shares(int b, float* shares) {
    const int64_t count = layout.heads + problem.blocks;
    if (!problem.jumping) {
        std::fill(shares, shares + count, 0.0f);
        shares[problem.blocks] = 1;
        return;
    }
    const float* s = weights(b) + layout.shares;
    double powers[MAX_SOURCES], total = 0;
    const float most = *std::max_element(s, s + count);
    for (int64_t k = 0; k < count; ++k) total += powers[k] = std::exp(static_cast<double>(s[k]) - most);
    for (int64_t k = 0; k < count; ++k) shares[k] = static_cast<float>(powers[k] / total);
}

// What is summed in training, in the order of the shares.
int64_t Engine::sources(int b, const float* shares, Source* found) {
    int64_t count = 0;
    if (!problem.jumping)
        found[count++] = {local[b].outputs.back().data, nullptr, 1};
    else if (problem.blocks)
        for (const Buffer& output : local[b].outputs) {
            found[count] = {output.data, nullptr, shares[count]};
            ++count;
        }
    else
        found[count++] = {values(b, 0), kept(b, 0), shares[0]};
    for (int64_t k = 0; k < problem.inputs; ++k) {
        if (!inputs[k].branch) continue;
        const int64_t head = layout.head_of[k];
        found[count] = {values(b, head), kept(b, head), shares[count] * factor(b, k)};
        ++count;
    }
    return count;
}

template <int N>
void Engine::jumping_head(int b, float* embedding, int64_t row, int training, int evaluation, Scratch& scratch) {
    float shares[MAX_SOURCES];
    read_shares(b, shares);
    Source found[MAX_SOURCES];
    const Vector scale = splat(static_cast<float>(1 / (1 - settings[b].dropout)));
    if (problem.blocks) blocks_forward(b, true, shares, scratch);
    const int64_t count = sources(b, shares, found);
    const auto plain = [&](int64_t i, int64_t t) {
        Vector x = splat(0);
        for (int64_t k = 0; k < count; ++k)
            x = fused(rectified(load(found[k].values + (t * n + i) * LANES)), splat(found[k].share), x);
        return x;
    };
    const auto both = [&](int64_t i, int64_t t, Vector& y) {
        Vector x = y = splat(0);
        for (int64_t k = 0; k < count; ++k) {
            const Vector each = rectified(load(found[k].values + (t * n + i) * LANES)), share = splat(found[k].share);
            x = fused(each, share, x);
            y = fused(chosen(found[k].kept[i * width + t], each * scale), share, y);
        }
        return x;
    };
    if (training == evaluation || !problem.blocks) {
        head<N>(b, embedding, row, training, evaluation, plain, both);
        return;
    }
    const auto dropped = [&](int64_t i, int64_t t) {
        Vector x = splat(0);
        for (int64_t k = 0; k < count; ++k) {
            const Vector each = rectified(load(found[k].values + (t * n + i) * LANES));
            const Vector left = found[k].kept ? chosen(found[k].kept[i * width + t], each * scale) : each;
            x = fused(left, splat(found[k].share), x);
        }
        return x;
    };
    head<N>(b, embedding, row, training, training, dropped, both);
    blocks_forward(b, false, shares, scratch);
    const float* total = scratch.wide[3];
    const auto evaluated = [&](int64_t i, int64_t t) {
        Vector x = load(total + (t * n + i) * LANES);
        for (int64_t k = problem.blocks + 1; k < count; ++k)
            x = fused(rectified(load(found[k].values + (t * n + i) * LANES)), splat(found[k].share), x);
        return x;
    };
    head<N>(b, embedding, row, evaluation, evaluation, evaluated, both);
}

// Replaces hidden values by their gradients, those of z_0 behind blocks excepted: then dJ is left for these. Leaves the
// gradients of the head, of the biases of hidden values, and every d_l.
template <int N>
void Engine::jumping_backward(int b, const float* gradient, int64_t row, int slot, Scratch& scratch, Vector* bias) {
    constexpr int MOST = N ? N : WIDEST;
    const int C = N ? N : c;
    const float* w = weights(b) + layout.head;
    const Vector scale = splat(static_cast<float>(1 / (1 - settings[b].dropout)));
    float shares[MAX_SOURCES];
    read_shares(b, shares);
    Source found[MAX_SOURCES];
    const int64_t count = sources(b, shares, found), behind = problem.blocks ? problem.blocks + 1 : 0;
    float* total = scratch.wide[3];
    double *const dots = scratch.share_gradients.data(), *const parts = scratch.shares.data();
    std::fill(dots, dots + count, 0.0);
    std::fill(parts, parts + width * count, 0.0);
    std::memset(scratch.head, 0, C * stride * sizeof(float));
    std::memset(scratch.columns, 0, layout.heads * stride * sizeof(float));
    ranges(width, [&](Range panels) {
        for (int64_t begin = 0; begin < n; begin += BLOCK_ROWS) {
            const int64_t end = std::min<int64_t>(begin + BLOCK_ROWS, n);
            for (int64_t t = panels.begin; t < panels.end; ++t) {
                Vector to_total[MOST], to_head[MOST], dot[MAX_SOURCES], column[1 + MAX_INPUTS];
                for (int j = 0; j < C; ++j) {
                    to_total[j] = load(w + j * stride + t * LANES);
                    to_head[j] = splat(0);
                }
                for (int64_t k = 0; k < count; ++k) dot[k] = splat(0);
                for (int64_t k = 0; k < layout.heads; ++k) column[k] = splat(0);
                for (int64_t i = begin; i < end; ++i) {
                    const float* g = gradient + i * row + slot;
                    Vector back = splat(0), joined = splat(0);
                    for (int j = 0; j < C; ++j) back = fused(splat(g[j]), to_total[j], back);
                    if (behind) store(total + (t * n + i) * LANES, back);
                    for (int64_t k = 0; k < count; ++k) {
                        float* place = const_cast<float*>(found[k].values) + (t * n + i) * LANES;
                        const Vector before = load(place), share = splat(found[k].share);
                        Vector value = rectified(before);
                        if (k >= behind) {
                            const uint32_t bits = found[k].kept ? found[k].kept[i * width + t] : 0xFFFFu;
                            value = found[k].kept ? chosen(bits, value * scale) : value;
                            const Vector times = found[k].kept ? share * scale : share;
                            const Vector passed = gated(before, bits, back * times);
                            store(place, passed);
                            column[k - (behind ? problem.blocks : 0)] += passed;
                        }
                        joined = fused(value, share, joined);
                        dot[k] = fused(value, back, dot[k]);
                    }
                    for (int j = 0; j < C; ++j) to_head[j] = fused(splat(g[j]), joined, to_head[j]);
                }
                for (int j = 0; j < C; ++j) {
                    float* out = scratch.head + j * stride + t * LANES;
                    store(out, load(out) + to_head[j]);
                }
                for (int64_t k = 0; k < count; ++k) parts[t * count + k] += lane_sum(dot[k]);
                for (int64_t k = behind ? 1 : 0; k < layout.heads; ++k) {
                    float* out = scratch.columns + k * stride + t * LANES;
                    store(out, load(out) + column[k]);
                }
            }
        }
    });
    for (int64_t k = 0; k < width * count; ++k) dots[k % count] += parts[k];
    column_sums(gradient + slot, n, row, C, bias);
}

// The gradient of z_0, behind blocks, takes the place of hidden_0.
void Engine::open_backward(int b, const float* gradient, float* columns) {
    const uint16_t* bits = kept(b, 0);
    const Vector scale = splat(static_cast<float>(1 / (1 - settings[b].dropout)));
    float* place = values(b, 0);
    ranges(width, [&](Range panels) {
        for (int64_t t = panels.begin; t < panels.end; ++t)
            for (int64_t begin = 0; begin < n; begin += BLOCK_ROWS) {
                Vector column = splat(0);
                for (int64_t i = begin; i < std::min<int64_t>(begin + BLOCK_ROWS, n); ++i) {
                    const int64_t at = (t * n + i) * LANES;
                    const Vector back = bits ? load(gradient + at) * scale : load(gradient + at);
                    const Vector passed = gated(load(place + at), bits ? bits[i * width + t] : 0xFFFFu, back);
                    store(place + at, passed);
                    column += passed;
                }
                store(columns + t * LANES, load(columns + t * LANES) + column);
            }
    });
}

// The shares, and the learnt factors of branches, by the d_l that jumping_backward left.
void Engine::update_shares(int b, const Adam& adam, Scratch& scratch) {
    const int64_t count = layout.heads + problem.blocks;
    float shares[MAX_SOURCES];
    read_shares(b, shares);
    double own[MAX_SOURCES], mean = 0;
    float *w = weights(b), *m = first(b), *v = second(b);
    for (int64_t k = 0; k < count; ++k) own[k] = scratch.share_gradients[k];
    for (int64_t k = 0; k < problem.inputs; ++k) {
        if (!inputs[k].branch) continue;
        const int64_t place = problem.blocks + layout.head_of[k], at = layout.gate[k];
        const double found = own[place];
        own[place] *= static_cast<double>(factor(b, k));
        if (!inputs[k].gated) continue;
        Vector gradient = splat(0);
        if (w[at] > 0) gradient[0] = static_cast<float>(shares[place] * settings[b].shares[k] * found);
        adam.update(w + at, m + at, v + at, gradient);
    }
    for (int64_t k = 0; k < count; ++k) mean += shares[k] * own[k];
    for (int64_t k = 0; k < count; k += LANES) {
        Vector gradient = splat(0);
        for (int64_t j = k; j < std::min<int64_t>(k + LANES, count); ++j)
            gradient[j - k] = static_cast<float>(shares[j] * (own[j] - mean));
        const int64_t at = layout.shares + k;
        adam.update(w + at, m + at, v + at, gradient);
    }
}

// The update of blocks, shares and learnt factors, behind jumping_backward; hidden_0 becomes its gradient.
void Engine::jumping_step(int b, const Adam& adam, Scratch& scratch) {
    if (problem.blocks) {
        float shares[MAX_SOURCES];
        read_shares(b, shares);
        const Vector last = splat(shares[problem.blocks]);
        float *gradient = scratch.wide[0], *total = scratch.wide[3];
        ranges(n * width, [&](Range range) {
            for (int64_t k = range.begin * LANES; k < range.end * LANES; k += LANES)
                store(gradient + k, load(total + k) * last);
        });
        for (int64_t block = problem.blocks - 1; block >= 0; --block)
            block_backward(b, block, adam, shares[block], scratch);
        open_backward(b, gradient, scratch.columns);
    }
    if (problem.jumping) update_shares(b, adam, scratch);
}

}  // namespace
