// The closed-form layers of a member whose classes fill several vectors, forward and backward, by the formulas of
// layers.hpp and backward.hpp. The group is this member: slot 0 trains, and slot 1, if there is one, evaluates. Matrices
// are c rows of V vectors, and in float64 c x c.

#pragma once

#include "engine.hpp"

namespace {

inline float* Group::rows(int64_t layer, int64_t slot, Kind kind) {
    const int64_t place = (layer * static_cast<int64_t>(slots.size()) + slot) * KINDS + kind;
    return wide_rows + place * engine.c * Layout::padded(engine.c);
}

// The Gram matrix, or the inverse that is made of it.
inline double* Group::square(int64_t layer, int64_t slot, bool inverse) {
    const int64_t place = 2 * (layer * static_cast<int64_t>(slots.size()) + slot) + inverse;
    return wide_squares.data() + place * engine.c * engine.c;
}

constexpr int STRIP = 4;  // rows of a sum of outer products that are kept in registers

// out (c x 16 V) = the sum over some rows of a^T b, in float64.
template <int V>
INLINE void outer_sums(const float* a, int64_t a_row, const float* b, int64_t b_row, Range range, int c, double* out) {
    for (int j = 0; j < c; j += STRIP) {
        const int count = std::min(STRIP, c - j);
        Doubles low[STRIP][V], high[STRIP][V];
        for (int k = 0; k < STRIP; ++k)
            for (int v = 0; v < V; ++v) low[k][v] = high[k][v] = Doubles{};
        for (int64_t i = range.begin; i < range.end; ++i) {
            Doubles y_low[V], y_high[V];
            for (int v = 0; v < V; ++v) widen(load(b + i * b_row + v * LANES), y_low[v], y_high[v]);
            for (int k = 0; k < STRIP; ++k) {
                Doubles x, same;
                widen(splat(a[i * a_row + std::min(j + k, c - 1)]), x, same);
                for (int v = 0; v < V; ++v) {
                    low[k][v] += x * y_low[v];
                    high[k][v] += x * y_high[v];
                }
            }
        }
        for (int k = 0; k < count; ++k)
            for (int v = 0; v < V; ++v)
                for (int lane = 0; lane < LANES; ++lane)
                    out[(j + k) * V * LANES + v * LANES + lane] = entry(lane < 8 ? low[k][v] : high[k][v], lane % 8);
    }
}

// What these sums come to over all pieces, c x c; those of a piece lie `step` apart.
INLINE void add_pieces(const double* sums, int64_t pieces, int64_t step, int c, int width, double* out) {
    for (int i = 0; i < c; ++i)
        for (int j = 0; j < c; ++j) {
            double total = 0;
            for (int64_t piece = 0; piece < pieces; ++piece) total += sums[piece * step + i * width + j];
            out[i * c + j] = total;
        }
}

// out = before + x times c rows.
template <int V>
INLINE void wide_mixed(const float* x, int c, const float* rows, const Vector* before, Vector* out) {
    for (int v = 0; v < V; ++v) out[v] = before[v];
    for (int j = 0; j < c; ++j) {
        const Vector each = splat(x[j]);
        for (int v = 0; v < V; ++v) out[v] = fused(each, load(rows + (j * V + v) * LANES), out[v]);
    }
}

// From the Gram matrix of a slot to what its rows are multiplied with, forward and backward.
void Group::wide_solve(int64_t layer, int slot) {
    const int c = engine.c, width = static_cast<int>(Layout::padded(c));
    const Member& m = engine.settings[first];
    const int64_t coefficient = engine.problem.coefficient;
    const int lane = engine.lane(slot);
    const float* scale = lane_scale + lane;
    double B[WIDEST * WIDEST], T[WIDEST * WIDEST];
    const double t = factors<WIDEST>(engine.problem, m, c, scale, square(layer, slot, false), square(layer, slot, true), B, T);
    wide_times[layer * static_cast<int64_t>(slots.size()) + slot] = t;
    float* beta2 = lane_beta2 + layer * vectors * LANES + lane;
    for (int j = 0; j < c; ++j) beta2[j] = static_cast<float>(m.beta2 * t);
    float *to_q = rows(layer, slot, TO_Q), *to_mixed = rows(layer, slot, TO_MIXED);
    float *from_q = rows(layer, slot, FROM_Q), *from_mixed = rows(layer, slot, FROM_MIXED);
    for (int i = 0; i < c; ++i)
        for (int j = 0; j < c; ++j) {
            const double si = scale[i], sj = scale[j];
            double x = B[i * c + j], y = T[i * c + j];
            if (coefficient == RELEASED) {
                x *= sj;
                y *= si * sj;
            }
            to_q[i * width + j] = static_cast<float>(coefficient == EXACT ? si * x : x);
            from_q[j * width + i] = static_cast<float>(x);
            to_mixed[i * width + j] = from_mixed[j * width + i] = static_cast<float>((1 - m.gamma) * y);
        }
}

template <int V>
void Group::wide_forward(Scratch& scratch) {
    constexpr int WIDTH = V * LANES;
    const int c = engine.c, hops = static_cast<int>(engine.problem.hops);
    const int64_t row = vectors * LANES, count = static_cast<int64_t>(slots.size());
    double* const grams = scratch.gram.data();
    for (int64_t layer = 0; layer < engine.problem.layers; ++layer) {
        const float *H = embeddings[layer].data, *H0 = embeddings[0].data;
        float *next = embeddings[layer + 1], *Q = reached_from[layer];
        engine.by_piece([=](int64_t piece, Range range) {
            for (int64_t s = 0; s < count; ++s)
                outer_sums<V>(H + s * WIDTH, row, H + s * WIDTH, row, range, c, grams + (piece * count + s) * c * WIDTH);
        });
        for (int64_t s = 0; s < count; ++s) {
            add_pieces(grams + s * c * WIDTH, engine.pieces, count * c * WIDTH, c, WIDTH, square(layer, s, false));
            wide_solve(layer, static_cast<int>(s));
        }
        engine.ranges(engine.n, [=](Range range) {
            const float g = lane_gamma[0], tau = lane_tau[0];
            const bool partly = engine.problem.tau;
            for (int64_t s = 0; s < count; ++s) {
                const float *to_mixed = rows(layer, s, TO_MIXED), *to_q = rows(layer, s, TO_Q);
                for (int64_t i = range.begin; i < range.end; ++i) {
                    const int64_t at = i * row + s * WIDTH;
                    alignas(64) float e[WIDTH];
                    Vector x[V], base[V], all[V];
                    for (int v = 0; v < V; ++v) {
                        const Vector x0 = load(H0 + at + v * LANES);
                        x[v] = load(H + at + v * LANES);
                        store(e + v * LANES, fused(splat(-g), x0, x[v]));
                        base[v] = splat(g) * x0;
                    }
                    wide_mixed<V>(e, c, to_mixed, base, all);
                    for (int v = 0; v < V; ++v)
                        store(next + at + v * LANES, partly ? fused(splat(tau), all[v] - x[v], x[v]) : all[v]);
                    if (!hops) continue;
                    for (int v = 0; v < V; ++v) base[v] = splat(0);
                    wide_mixed<V>(H + at, c, to_q, base, all);
                    for (int v = 0; v < V; ++v) store(Q + at + v * LANES, all[v]);
                }
            }
        });
        for (int64_t s = 0; hops && s < count; ++s)
            hops_forward<V>(scratch, layer, Q + s * WIDTH, next + s * WIDTH, s * WIDTH);
    }
}

template <int V>
void Group::wide_backward(Scratch& scratch) {
    constexpr int WIDTH = V * LANES;
    const int c = engine.c;
    const Problem& problem = engine.problem;
    const int64_t row = vectors * LANES, hops = problem.hops, pieces = engine.pieces;
    const Member& m = engine.settings[first];
    double *const sums = scratch.gram.data(), *const moved_parts = scratch.tau_parts.data();
    float *D = scratch.gradient, *D0 = scratch.gradient_initial, *DQ = scratch.gradient_q, *const E = scratch.reach;
    double* const scale_gradients = scratch.scale_gradients.data();
    std::fill(scratch.hop_gradients.begin(), scratch.hop_gradients.end(), 0.0);
    std::fill(scratch.scale_gradients.begin(), scratch.scale_gradients.end(), 0.0);
    std::fill(scratch.tau_gradients.begin(), scratch.tau_gradients.end(), 0.0);
    for (int64_t layer = problem.layers - 1; layer >= 0; --layer) {
        const float *H = embeddings[layer].data, *H0 = embeddings[0].data, *Q = reached_from[layer].data;
        float* next = scratch.spare;  // gradient of H
        const bool last = layer == problem.layers - 1, partly = problem.tau;
        const float g = lane_gamma[0], tau = lane_tau[0];
        const float *from_mixed = rows(layer, 0, FROM_MIXED), *from_q = rows(layer, 0, FROM_Q);
        float* const from_gram = rows(layer, 0, FROM_GRAM);
        std::fill(scratch.scale_free.begin(), scratch.scale_free.end(), 0.0);
        std::fill(scratch.tau_parts.begin(), scratch.tau_parts.end(), 0.0);
        std::fill(scratch.scale_parts.begin(), scratch.scale_parts.end(), 0.0);
        engine.by_piece([=](int64_t piece, Range range) {
            const Vector gamma = splat(g), share = splat(tau);
            for (int64_t begin = range.begin; begin < range.end; begin += BLOCK_ROWS) {
                Vector moved = splat(0);
                for (int64_t i = begin; i < std::min<int64_t>(begin + BLOCK_ROWS, range.end); ++i) {
                    const int64_t at = i * row, here = i * WIDTH;
                    Vector back[V], nothing[V];
                    for (int v = 0; v < V; ++v) nothing[v] = splat(0);
                    wide_mixed<V>(D + here, c, from_mixed, nothing, back);
                    for (int v = 0; v < V; ++v) {
                        const int64_t k = v * LANES;
                        const Vector d = load(D + here + k), e = fused(-gamma, load(H0 + at + k), load(H + at + k));
                        const Vector before = last ? splat(0) : load(D0 + here + k);
                        store(E + here + k, e);
                        moved = fused(back[v] - d, e, moved);  // D (H' - H) without the hops
                        store(D0 + here + k, fused(partly ? gamma * share : gamma, d - back[v], before));
                        store(next + here + k, partly ? fused(share, back[v] - d, d) : back[v]);
                    }
                }
                if (partly) moved_parts[piece] += lane_sum(moved);
            }
            outer_sums<V>(E, WIDTH, D, WIDTH, range, c, sums + piece * c * WIDTH);
        });
        double dT[WIDEST * WIDEST], dB[WIDEST * WIDEST] = {}, dG[WIDEST * WIDEST];
        add_pieces(sums, pieces, c * WIDTH, c, WIDTH, dT);
        for (int64_t piece = 0; piece < pieces; ++piece) scratch.tau_gradients[0] += moved_parts[piece];
        if (hops) {
            double* lambda = scratch.lambda.data();
            std::fill(scratch.lambda.begin(), scratch.lambda.end(), 0.0);
            hops_backward<V>(scratch, layer, Q, lambda);
            for (int64_t k = hops * WIDTH; k < pieces * hops * WIDTH; ++k) lambda[k % (hops * WIDTH)] += lambda[k];
            hops_learn(scratch, layer);
            engine.by_piece([=](int64_t piece, Range range) {
                outer_sums<V>(H, row, DQ, WIDTH, range, c, sums + piece * c * WIDTH);
            });
            add_pieces(sums, pieces, c * WIDTH, c, WIDTH, dB);
        }
        const float* scale = lane_scale;
        factors_backward<WIDEST>(problem, m, c, scale, tau, scratch.scale_free[0], square(layer, 0, false),
                                 square(layer, 0, true), dT, dB, scale_gradients, dG);
        const bool exact = problem.coefficient == EXACT;
        for (int i = 0; i < c; ++i)
            for (int j = 0; j < c; ++j) {
                const double both = dG[i * c + j] + dG[j * c + i], si = exact ? static_cast<double>(scale[i]) : 1.0;
                from_gram[i * WIDTH + j] = static_cast<float>(si * both);
            }
        double* const scale_parts = scratch.scale_parts.data();
        engine.by_piece([=](int64_t piece, Range range) {
            double* const parts = scale_parts + piece * c;
            for (int64_t begin = range.begin; begin < range.end; begin += BLOCK_ROWS) {
                Vector total[V];
                for (int v = 0; v < V; ++v) total[v] = splat(0);
                for (int64_t i = begin; i < std::min<int64_t>(begin + BLOCK_ROWS, range.end); ++i) {
                    const int64_t here = i * WIDTH;
                    Vector back[V], nothing[V];
                    for (int v = 0; v < V; ++v) nothing[v] = splat(0);
                    wide_mixed<V>(H + i * row, c, from_gram, nothing, back);
                    if (hops) wide_mixed<V>(DQ + here, c, from_q, back, back);
                    for (int v = 0; v < V; ++v) {
                        const int64_t k = here + v * LANES;
                        total[v] = fused(back[v], load(H + i * row + v * LANES), total[v]);
                        const Vector s = exact ? load(scale + v * LANES) : splat(1);
                        const Vector both = fused(s, back[v], load(next + k));
                        store(next + k, layer ? both : load(D0 + k) + both);
                    }
                }
                for (int j = 0; exact && j < c; ++j) parts[j] += static_cast<double>(total[j / LANES][j % LANES]);
            }
        });
        for (int64_t k = 0; k < pieces * c; ++k) scale_gradients[k % c] += scale_parts[k];
        std::swap(scratch.gradient.data, scratch.spare.data);
        D = scratch.gradient;
    }
    std::swap(scratch.gradient.data, scratch.gradient_initial.data);
}

}  // namespace
