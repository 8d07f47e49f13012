// The gradient of the loss with respect to H0, lambda and S, written by hand.
//
// The loss is the mean cross entropy over the t training nodes: the gradient of the class scores is
// (softmax - one-hot) / t in their rows, and 0 elsewhere.
//
// One layer (its forward pass stands in layers.hpp), from D, the gradient of H', to those of what went in. dX is the
// gradient of X, r = 1 - gamma, and c x c matrices are in float64:
//
//     1  H' = r (H - gamma H0) T + gamma H0 + ...   dH  = r D T^T
//                                                   dH0 = gamma (D - r D T^T), added up over the layers
//                                                   dT  = r (H - gamma H0)^T D
//     2  ... + beta2 P Q, P = sum_k lambda_k A^k    dQ  = beta2 sum_k lambda_k (A^T)^k D
//                                                   dlambda_k = beta2 <(A^T)^k D, Q>, one product with A^T at a time
//     3  Q = U B                                    dU  = dQ B^T            dB = U^T dQ
//     4  T = G B                                    dG  = dT B^T            dB = dB + G dT
//     5  B = r M, M = (b I + r^2 G)^-1              dG  = dG - r^2 M (r dB) M, because dM = -M d(M^-1) M
//     6  G = U^T U                                  dU  = dU + U (dG + dG^T)
//     7  U = H S                                    dH  = dH + dU S         ds_j = sum_i H_ij dU_ij
//
// PLAIN: S = I, and 7 is dH = dH + dU. RELEASED: U = H, and the products above use B S and S T S in place of B and T.
// Between 3 and 4 then stand, with B' = B S and T' = S T S:
//
//     ds_j = sum_i (dB'_ij B_ij + dT'_ij s_i T_ij) + sum_i dT'_ji s_i T_ji            dB = dB' S        dT = S dT' S
//
// With betas free of scale, b = (beta1 + beta2) t and beta2 t in place of beta2, t = tr(G) / c:
//
//     dt = beta2 <D, P Q> - (beta1 + beta2) tr(M (r dB) M)                            dG = dG + dt / c I
//
// With a learnt tau the result is H + tau (H' - H): dtau = <D, H' - H>, and the gradient of H' is tau D; all of the above
// is linear in it. Sums over rows are taken with D, and multiplied by tau where they are used.
//
// The first layer's H is H0: at the end dH is added to dH0. encoder.hpp goes on from there.

#pragma once

#include "engine.hpp"

namespace {

// The mean cross entropy of each member, and its gradient with respect to the class scores.
template <int N>
void Group::loss(Scratch& scratch, double* losses) {
    const int C = N ? N : engine.c;
    if (C > LANES) return wide_loss(scratch, losses);
    const int64_t row = vectors * LANES, out_row = training_vectors * LANES;
    const Lanes& lanes = engine.lanes;
    const float* scores = embeddings.back().data;
    const int per = lanes.slots;
    engine.by_piece([&](int64_t piece, Range range) {
        for (int v = 0; v < training_vectors; ++v) {
            const Vector share = load(lane_share + v * LANES);
            double logs[LANES] = {}, gaps[LANES] = {}, products[LANES];
            for (double& x : products) x = 1;
            int waiting = 0;
            for (int64_t i = range.begin; i < range.end; ++i) {
                const uint32_t train = train_bits[i * training_vectors + v], label = label_bits[i * training_vectors + v];
                float* target = scratch.gradient + i * out_row + v * LANES;
                if (!train) {
                    store(target, splat(0));
                    continue;
                }
                const Vector x = load(scores + i * row + v * LANES);
                Vector most = x, total = splat(0);
                for (int r = 1; r < C; ++r) most = larger(most, permute(x, lanes.rotated[r]));
                const Vector gap = most - x, e = exponential(-gap);
                for (int j = 0; j < C; ++j) total += permute(e, lanes.column[j]);
                const Vector ones = chosen(label, splat(1));
                store(target, chosen(train, (e / total - ones) * share));
                const Vector at_label = gap * ones;
                for (int s = 0; s < per; ++s)
                    if (train >> (s * C) & 1) {
                        products[s] *= static_cast<double>(total[s * C]);
                        float found = 0;
                        for (int j = 0; j < C; ++j) found += at_label[s * C + j];
                        gaps[s] += static_cast<double>(found);
                    }
                if (++waiting == 128) {  // 16^128 is within float64
                    for (int s = 0; s < per; ++s) logs[s] += std::log(products[s]), products[s] = 1;
                    waiting = 0;
                }
            }
            for (int s = 0; s < per && v * per + s < count; ++s)
                scratch.loss[piece * count + v * per + s] = logs[s] + std::log(products[s]) + gaps[s];
        }
    });
    for (int b = 0; b < count; ++b) {
        double all = 0;
        for (int64_t piece = 0; piece < engine.pieces; ++piece) all += scratch.loss[piece * count + b];
        losses[first + b] = all / static_cast<double>(engine.settings[first + b].train_count);
    }
}

// The same where classes fill more than a vector: the group is one member.
void Group::wide_loss(Scratch& scratch, double* losses) {
    const int c = engine.c;
    const int64_t row = vectors * LANES, out_row = training_vectors * LANES;
    const float* scores = embeddings.back().data;
    const double train_count = static_cast<double>(engine.settings[first].train_count);
    const float share = static_cast<float>(1 / train_count);
    engine.by_piece([&](int64_t piece, Range range) {
        double all = 0;
        for (int64_t i = range.begin; i < range.end; ++i) {
            const float* x = scores + i * row;
            float* target = scratch.gradient + i * out_row;
            std::memset(target, 0, out_row * sizeof(float));
            if (!train_bits[i * training_vectors]) continue;
            const int64_t label = engine.problem.labels[i];
            const float most = *std::max_element(x, x + c);
            float total = 0;
            for (int j = 0; j < c; ++j) total += target[j] = std::exp(x[j] - most);
            for (int j = 0; j < c; ++j) target[j] = (target[j] / total - (j == label ? 1.0f : 0.0f)) * share;
            all += std::log(static_cast<double>(total)) + static_cast<double>(most - x[label]);
        }
        scratch.loss[piece] = all;
    });
    double all = 0;
    for (int64_t piece = 0; piece < engine.pieces; ++piece) all += scratch.loss[piece];
    losses[first] = all / train_count;
}

// The gradient of Q, beta2 sum_k lambda_k (A^T)^k D, and for each hop and lane the sum over rows of ((A^T)^k D) * Q.
template <int P>
void Group::hops_backward(Scratch& scratch, int64_t layer, const float* Q, double* lambda) {
    const Problem& problem = engine.problem;
    const int64_t row = vectors * LANES;
    constexpr int64_t SHORT = P * LANES;
    const float* source = scratch.gradient;
    float* DQ = scratch.gradient_q;
    for (int64_t k = 0; k < problem.hops; ++k) {
        float* target = source == scratch.reach.data ? scratch.reach_other : scratch.reach;
        Vector factor[P];
        for (int p = 0; p < P; ++p) {
            factor[p] = load(lane_beta2 + layer * row + p * LANES) * load(lane_hops + k * row + p * LANES);
            factor[p] *= load(lane_tau + p * LANES);
        }
        engine.by_piece([=, &problem](int64_t piece, Range range) {
            double* const sums = lambda + (piece * problem.hops + k) * SHORT;
            Vector part[P];
            for (int p = 0; p < P; ++p) part[p] = splat(0);
            const auto flush = [&] {
                for (int p = 0; p < P; ++p) {
                    for (int lane = 0; lane < LANES; ++lane)
                        sums[p * LANES + lane] += static_cast<double>(part[p][lane]);
                    part[p] = splat(0);
                }
            };
            multiply<P>(problem.adjacency_transposed, range, source, SHORT, LANES, [&](int64_t i, const Vector* total) {
                float *out = target + i * SHORT, *sum = DQ + i * SHORT;
                for (int p = 0; p < P; ++p) {
                    store(out + p * LANES, total[p]);
                    const Vector before = k ? load(sum + p * LANES) : splat(0);
                    store(sum + p * LANES, fused(factor[p], total[p], before));
                    part[p] = fused(total[p], load(Q + i * row + p * LANES), part[p]);
                }
                if (i % BLOCK_ROWS == BLOCK_ROWS - 1) flush();
            });
            flush();
        });
        source = target;
    }
}

// What the betas of a member are multiplied by in a layer.
inline double Group::scale_free(int64_t layer, int b) const {
    const int per = engine.lanes.slots;
    if (!per) return wide_times[layer * static_cast<int64_t>(slots.size())];
    return small[layer * vectors + b / per].scale_free[b % per];
}

// From these sums, added up in the first piece's, to the gradients of lambda, of tau and of what betas are multiplied by.
void Group::hops_learn(Scratch& scratch, int64_t layer) {
    const int64_t hops = engine.problem.hops, row = vectors * LANES, short_row = training_vectors * LANES;
    const double* lambda = scratch.lambda.data();
    for (int b = 0; b < count; ++b) {
        const int lane = engine.lane(b);
        const double tau = lane_tau[lane], beta2 = engine.settings[first + b].beta2;
        const double scaled = beta2 * scale_free(layer, b);
        double reached = 0;  // <D, P Q>
        for (int64_t k = 0; k < hops; ++k) {
            double total = 0;
            for (int j = 0; j < engine.c; ++j) total += lambda[k * short_row + lane + j];
            scratch.hop_gradients[b * hops + k] += scaled * tau * total;
            reached += static_cast<double>(lane_hops[k * row + lane]) * total;
        }
        scratch.scale_free[b] = beta2 * tau * reached;
        scratch.tau_gradients[b] += scaled * reached;
    }
}

// From the gradients of B and T to those of the Gram matrices and of S.
template <int N>
void Group::solve_backward(Scratch& scratch, int layer) {
    constexpr int MOST = N ? N : MAX_CLASSES;
    const int C = N ? N : engine.c, per = engine.lanes.slots;
    for (int b = 0; b < count; ++b) {
        const Member& m = engine.settings[first + b];
        const int v = b / per, place = b % per;
        Small& group = small[layer * vectors + v];
        const float* scale = lane_scale + v * LANES + place * C;
        double dG[MOST * MOST];
        factors_backward<MOST>(engine.problem, m, C, scale, lane_tau[v * LANES + place * C], scratch.scale_free[b],
                               group.gram[place].a, group.inverse[place].a, scratch.to_mixed[b].a, scratch.to_q[b].a,
                               scratch.scale_gradients.data() + b * C, dG);
        for (int i = 0; i < C; ++i)
            for (int j = 0; j < C; ++j) {
                const double both = dG[i * C + j] + dG[j * C + i];
                const double si = engine.problem.coefficient == EXACT ? static_cast<double>(scale[i]) : 1.0;
                group.from_gram[i][place * C + j] = static_cast<float>(si * both);
            }
    }
}

// From the gradient of the class scores to that of the initial embedding, of lambda and of S.
template <int N>
void Group::layers_backward(Scratch& scratch, double* losses) {
    constexpr int MOST = N ? N : MAX_CLASSES;
    const int C = N ? N : engine.c;
    loss<N>(scratch, losses);
    if (!engine.lanes.slots) return by_vectors(training_vectors, [&](auto count) { wide_backward<count>(scratch); });
    const int64_t row = vectors * LANES, short_row = training_vectors * LANES;
    const Lanes& lanes = engine.lanes;
    const Problem& problem = engine.problem;
    const int hops = static_cast<int>(problem.hops), per = lanes.slots;
    float *D = scratch.gradient, *D0 = scratch.gradient_initial, *DQ = scratch.gradient_q;
    Array<Square>&to_mixed = scratch.to_mixed, &to_q = scratch.to_q;
    const auto squares = [this](int64_t piece) { return piece * count; };
    const auto add_pieces = [&](Array<Square>& of) {
        for (int64_t piece = 1; piece < engine.pieces; ++piece)
            for (int b = 0; b < count; ++b)
                for (int k = 0; k < C * C; ++k) of[b].a[k] += of[squares(piece) + b].a[k];
    };
    double* scale_gradients = scratch.scale_gradients.data();
    std::fill(scratch.hop_gradients.begin(), scratch.hop_gradients.end(), 0.0);
    std::fill(scratch.scale_gradients.begin(), scratch.scale_gradients.end(), 0.0);
    double* tau_gradients = scratch.tau_gradients.data();
    std::fill(scratch.tau_gradients.begin(), scratch.tau_gradients.end(), 0.0);
    for (int64_t layer = problem.layers - 1; layer >= 0; --layer) {
        const float *H = embeddings[layer].data, *H0 = embeddings[0].data, *Q = reached_from[layer].data;
        float* next = scratch.spare;  // gradient of H
        const bool last = layer == problem.layers - 1;
        // Sums over rows of a (c values) times b (c values) for each slot, in blocks.
        const auto gather = [=](const Vector* total, int v, Square* into) {
            for (int s = 0; s < per && v * per + s < count; ++s)
                for (int r = 0; r < C; ++r)
                    for (int j = 0; j < C; ++j)
                        into[v * per + s].a[j * C + (j + r) % C] += static_cast<double>(total[r][s * C + j]);
        };
        for (auto& square : to_mixed) square = Square{};
        for (auto& square : to_q) square = Square{};
        std::fill(scratch.scale_free.begin(), scratch.scale_free.end(), 0.0);
        std::fill(scratch.tau_parts.begin(), scratch.tau_parts.end(), 0.0);
        std::fill(scratch.scale_parts.begin(), scratch.scale_parts.end(), 0.0);
        engine.by_piece([=, &scratch, &lanes, &problem, &to_mixed](int64_t piece, Range range) {
            for (int v = 0; v < training_vectors; ++v) {
                const Small& group = small[layer * vectors + v];
                const Vector g = load(lane_gamma + v * LANES), tau = load(lane_tau + v * LANES);
                for (int64_t begin = range.begin; begin < range.end; begin += BLOCK_ROWS) {
                    Vector total[MOST], moved = splat(0);
                    for (int r = 0; r < C; ++r) total[r] = splat(0);
                    for (int64_t i = begin; i < std::min<int64_t>(begin + BLOCK_ROWS, range.end); ++i) {
                        const int64_t at = i * row + v * LANES, here = i * short_row + v * LANES;
                        const Vector d = load(D + here);
                        const Vector e = fused(-g, load(H0 + at), load(H + at));
                        const Vector before = last ? splat(0) : load(D0 + here);
                        for (int r = 0; r < C; ++r) total[r] = fused(e, permute(d, lanes.rotated[r]), total[r]);
                        Vector back = mixed<N, BACKWARD>(lanes, d, group.from_mixed);
                        if (problem.tau) {
                            moved = fused(back - d, e, moved);  // D (H' - H) without the hops
                            store(D0 + here, fused(g * tau, d - back, before));
                            store(next + here, fused(tau, back - d, d));
                            continue;
                        }
                        store(next + here, back);
                        store(D0 + here, fused(g, d - back, before));
                    }
                    gather(total, v, to_mixed.data() + squares(piece));
                    if (problem.tau)
                        for (int s = 0; s < per && v * per + s < count; ++s)
                            for (int j = 0; j < C; ++j)
                                scratch.tau_parts[piece * count + v * per + s] += static_cast<double>(moved[s * C + j]);
                }
            }
        });
        add_pieces(to_mixed);
        for (int64_t k = 0; k < engine.pieces * count; ++k) tau_gradients[k % count] += scratch.tau_parts[k];
        if (hops) {
            double* lambda = scratch.lambda.data();
            const int64_t sums = hops * short_row;
            std::fill(scratch.lambda.begin(), scratch.lambda.end(), 0.0);
            by_vectors(training_vectors,
                       [&](auto size) { hops_backward<decltype(size)::value>(scratch, layer, Q, lambda); });
            for (int64_t k = sums; k < engine.pieces * sums; ++k) lambda[k % sums] += lambda[k];
            hops_learn(scratch, layer);
            engine.by_piece([=, &lanes, &to_q](int64_t piece, Range range) {
                for (int v = 0; v < training_vectors; ++v)
                    for (int64_t begin = range.begin; begin < range.end; begin += BLOCK_ROWS) {
                        Vector total[MOST];
                        for (int r = 0; r < C; ++r) total[r] = splat(0);
                        for (int64_t i = begin; i < std::min<int64_t>(begin + BLOCK_ROWS, range.end); ++i) {
                            const Vector x = load(H + i * row + v * LANES), q = load(DQ + i * short_row + v * LANES);
                            for (int r = 0; r < C; ++r) total[r] = fused(x, permute(q, lanes.rotated[r]), total[r]);
                        }
                        gather(total, v, to_q.data() + squares(piece));
                    }
            });
            add_pieces(to_q);
        }
        solve_backward<N>(scratch, static_cast<int>(layer));
        const int64_t scales = training_vectors * per * C;
        engine.by_piece([=, &scratch, &lanes, &problem](int64_t piece, Range range) {
            double* const parts = scratch.scale_parts.data() + piece * scales;
            for (int v = 0; v < training_vectors; ++v) {
                const Small& group = small[layer * vectors + v];
                const Vector s = problem.coefficient == EXACT ? load(lane_scale + v * LANES) : splat(1);
                for (int64_t begin = range.begin; begin < range.end; begin += BLOCK_ROWS) {
                    Vector total = splat(0);
                    for (int64_t i = begin; i < std::min<int64_t>(begin + BLOCK_ROWS, range.end); ++i) {
                        const int64_t here = i * short_row + v * LANES;
                        const Vector x = load(H + i * row + v * LANES);
                        Vector back = mixed<N, BACKWARD>(lanes, x, group.from_gram);
                        if (hops) back += mixed<N, BACKWARD>(lanes, load(DQ + here), group.from_q);
                        total = fused(back, x, total);
                        const Vector both = fused(s, back, load(next + here));
                        store(next + here, layer ? both : load(D0 + here) + both);
                    }
                    if (problem.coefficient == EXACT)
                        for (int k = 0; k < per * C && v * per + k / C < count; ++k)
                            parts[(v * per) * C + k] += static_cast<double>(total[k]);
                }
            }
        });
        for (int64_t k = 0; k < engine.pieces * scales; ++k) scale_gradients[k % scales] += scratch.scale_parts[k];
        std::swap(scratch.gradient.data, scratch.spare.data);
        D = scratch.gradient;
    }
    std::swap(scratch.gradient.data, scratch.gradient_initial.data);
}

}  // namespace
