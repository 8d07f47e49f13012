// The closed-form layers, forward. U = H S, b = beta1 + beta2, r = 1 - gamma:
//
//     G  = U^T U                              c x c, summed in float64
//     M  = (b I + r^2 G)^-1                   by Cholesky, in float64
//     B  = r M        Q = U B        T = G B
//     H' = r (H - gamma H0) T + beta2 P Q + gamma H0,        P Q = A (lambda_1 Q + A (lambda_2 Q + ...))
//
// PLAIN has S = I. RELEASED leaves S out of the inverse: U = H, B and T become B S and S T S. Where betas are free of
// scale they are multiplied by t = tr(G) / c (1 where that is 0). With a learnt tau the layer gives H + tau (H' - H).

#pragma once

#include "engine.hpp"

namespace {

// lambda and S of every slot, spread over its lanes.
void Group::read_parameters() {
    if (!engine.problem.layers) return;
    const int c = engine.c;
    const int64_t row = vectors * LANES;
    for (size_t s = 0; s < slots.size(); ++s) {
        const float* w = engine.weights(first + slots[s].member);
        const int64_t lane = engine.lane(static_cast<int>(s));
        for (int j = 0; j < c; ++j) {
            for (int64_t k = 0; k < engine.problem.hops; ++k) lane_hops[k * row + lane + j] = w[engine.layout.hops + k];
            lane_scale[lane + j] = engine.problem.coefficient == PLAIN ? 1.0f : w[engine.layout.scale + j];
            lane_tau[lane + j] = engine.problem.tau ? w[engine.layout.tau] : 1.0f;
        }
    }
}

// From the Gram matrices to B and T of every slot.
void Group::solve(int layer) {
    const int per = engine.lanes.slots, c = engine.c;
    const int64_t coefficient = engine.problem.coefficient;
    for (size_t s = 0; s < slots.size(); ++s) {
        const Member& m = engine.settings[first + slots[s].member];
        const int v = static_cast<int>(s) / per, place = static_cast<int>(s) % per;
        Small& group = small[layer * vectors + v];
        const float* scale = lane_scale + v * LANES + place * c;
        const double rest = 1 - m.gamma;
        double B[MAX_CLASSES * MAX_CLASSES], T[MAX_CLASSES * MAX_CLASSES];
        const double t = factors<MAX_CLASSES>(engine.problem, m, c, scale, group.gram[place].a, group.inverse[place].a, B, T);
        group.scale_free[place] = t;
        for (int j = 0; j < c; ++j)
            lane_beta2[(layer * vectors + v) * LANES + place * c + j] = static_cast<float>(m.beta2 * t);
        for (int i = 0; i < c; ++i)
            for (int j = 0; j < c; ++j) {
                const double si = scale[i], sj = scale[j];
                double x = B[i * c + j], y = T[i * c + j];
                if (coefficient == RELEASED) {
                    x *= sj;
                    y *= si * sj;
                }
                const int lane = place * c;
                group.to_q[i][lane + j] = static_cast<float>(coefficient == EXACT ? si * x : x);
                group.from_q[j][lane + i] = static_cast<float>(x);
                group.to_mixed[i][lane + j] = group.from_mixed[j][lane + i] = static_cast<float>(rest * y);
            }
    }
}

// target += beta2 P Q with P Q = A (lambda_1 Q + A (lambda_2 Q + ...)), from the inside out; of P vectors in a row, from
// a lane on.
template <int P>
void Group::hops_forward(Scratch& scratch, int64_t layer, const float* Q, float* target, int64_t from) {
    const Problem& problem = engine.problem;
    const int hops = static_cast<int>(problem.hops);
    const int64_t row = vectors * LANES;
    const float* source = Q;
    const float* const shares = lane_hops + from;
    Vector factor[P], here[P];
    for (int p = 0; p < P; ++p) factor[p] = load(shares + (hops - 1) * row + p * LANES);
    for (int k = hops - 2; k >= 0; --k) {
        float* out = source == scratch.reach.data ? scratch.reach_other : scratch.reach;
        for (int p = 0; p < P; ++p) here[p] = load(shares + k * row + p * LANES);
        engine.ranges(problem.adjacency, [=, &problem](Range range) {
            multiply<P>(problem.adjacency, range, source, row, LANES, [&](int64_t i, const Vector* total) {
                for (int p = 0; p < P; ++p)
                    store(out + i * row + p * LANES, fused(total[p], factor[p], here[p] * load(Q + i * row + p * LANES)));
            });
        });
        for (int p = 0; p < P; ++p) factor[p] = splat(1);
        source = out;
    }
    for (int p = 0; p < P; ++p)
        factor[p] *= load(lane_beta2 + layer * row + from + p * LANES) * load(lane_tau + from + p * LANES);
    engine.ranges(problem.adjacency, [=, &problem](Range range) {
        multiply<P>(problem.adjacency, range, source, row, LANES, [&](int64_t i, const Vector* total) {
            float* out = target + i * row;
            for (int p = 0; p < P; ++p) store(out + p * LANES, fused(factor[p], total[p], load(out + p * LANES)));
        });
    });
}

// Sums over some rows of x times x with its columns rotated by 0, 1, ...: all entries of the Gram matrices of the slots.
template <int N>
INLINE void gram(const Lanes& lanes, const float* H, int64_t row, Range range, double* out) {
    constexpr int MOST = N ? N : MAX_CLASSES;
    const int half = (N ? N : lanes.c) / 2 + 1;
    Doubles low[MOST / 2 + 1], high[MOST / 2 + 1];
    for (int r = 0; r < half; ++r) low[r] = high[r] = Doubles{};
    for (int64_t i = range.begin; i < range.end; ++i) {
        const Vector x = load(H + i * row);
        Doubles x_low, x_high, y_low, y_high;
        widen(x, x_low, x_high);
        low[0] += x_low * x_low;
        high[0] += x_high * x_high;
        for (int r = 1; r < half; ++r) {
            widen(permute(x, lanes.rotated[r]), y_low, y_high);
            low[r] += x_low * y_low;
            high[r] += x_high * y_high;
        }
    }
    for (int r = 0; r < half; ++r)
        for (int lane = 0; lane < LANES; ++lane)
            out[r * LANES + lane] = entry(lane < 8 ? low[r] : high[r], lane % 8);
}

template <int N>
void Group::layers_forward(Scratch& scratch) {
    if (!engine.lanes.slots) return by_vectors(training_vectors, [&](auto count) { wide_forward<count>(scratch); });
    const int C = N ? N : engine.c;
    const int64_t n = engine.n, row = vectors * LANES;
    const Lanes& lanes = engine.lanes;
    const Problem& problem = engine.problem;
    const int hops = static_cast<int>(problem.hops);
    const int half = C / 2 + 1;
    for (int64_t layer = 0; layer < problem.layers; ++layer) {
        const float *H = embeddings[layer].data, *H0 = embeddings[0].data;
        float *next = embeddings[layer + 1], *Q = reached_from[layer];
        double* const grams = scratch.gram.data();
        engine.by_piece([&](int64_t piece, Range range) {
            for (int v = 0; v < vectors; ++v)
                gram<N>(lanes, H + v * LANES, row, range, grams + (piece * vectors + v) * half * LANES);
        });
        for (int v = 0; v < vectors; ++v)
            for (int s = 0; s < lanes.slots; ++s)
                for (int r = 0; r < half; ++r)
                    for (int j = 0; j < C; ++j) {
                        double total = 0;
                        for (int64_t piece = 0; piece < engine.pieces; ++piece)
                            total += grams[((piece * vectors + v) * half + r) * LANES + s * C + j];
                        double* a = small[layer * vectors + v].gram[s].a;
                        a[j * C + (j + r) % C] = a[(j + r) % C * C + j] = total;
                    }
        solve(static_cast<int>(layer));
        engine.ranges(n, [=, &lanes, &problem](Range range) {
            for (int v = 0; v < vectors; ++v) {
                const Small& group = small[layer * vectors + v];
                const Vector g = load(lane_gamma + v * LANES), tau = load(lane_tau + v * LANES);
                for (int64_t i = range.begin; i < range.end; ++i) {
                    const int64_t at = i * row + v * LANES;
                    const Vector x = load(H + at), x0 = load(H0 + at);
                    const Vector all = fused(g, x0, mixed<N, FORWARD>(lanes, fused(-g, x0, x), group.to_mixed));
                    store(next + at, problem.tau ? fused(tau, all - x, x) : all);
                    if (hops) store(Q + at, mixed<N, FORWARD>(lanes, x, group.to_q));
                }
            }
        });
        if (!hops) continue;
        by_vectors(vectors, [&](auto count) { hops_forward<decltype(count)::value>(scratch, layer, Q, next, 0); });
    }
}

}  // namespace
