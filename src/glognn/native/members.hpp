// A step and an evaluation of groups and of all members, and how members are grouped.

#pragma once

#include <functional>

#include "backward.hpp"
#include "encoder.hpp"
#include "jumping.hpp"
#include "layers.hpp"
#include "wide.hpp"

namespace {

Group::Group(Engine& e, int first_member, int members) : engine(e), first(first_member), count(members) {
    const Problem& p = e.problem;
    for (int b = 0; b < count; ++b) slots.push_back({b, true});
    training_vectors = e.vectors(count);
    for (int b = 0; b < count; ++b) {
        evaluation.push_back(b);
        if (e.apart(first + b)) {
            evaluation[b] = static_cast<int>(slots.size());
            slots.push_back({b, false});
        }
    }
    vectors = e.vectors(static_cast<int>(slots.size()));
    const size_t row = static_cast<size_t>(vectors) * LANES;
    for (int64_t l = 0; l <= p.layers; ++l) embeddings.emplace_back(e.n * row);
    for (int64_t l = 0; l < p.layers; ++l) reached_from.emplace_back(p.hops ? e.n * row : 0);
    if (e.lanes.slots) {
        small.resize(p.layers * vectors);
    } else {
        const int64_t all = p.layers * static_cast<int64_t>(slots.size());
        wide_rows.resize(all * KINDS * e.c * Layout::padded(e.c));
        wide_squares.resize(2 * all * e.c * e.c);
        wide_times.resize(all);
    }
    lane_gamma.resize(row);
    lane_beta2.resize(row * p.layers);
    lane_tau.resize(row);
    lane_hops.resize(row * p.hops);
    lane_scale.resize(row);
    lane_share.resize(row);
    train_bits.assign(e.n * training_vectors, 0);
    label_bits.assign(e.n * training_vectors, 0);
    for (size_t s = 0; s < slots.size(); ++s) {
        const Member& m = e.settings[first + slots[s].member];
        const int place = e.lane(static_cast<int>(s)), v = place / LANES, lane = place % LANES;
        for (int j = 0; j < e.c; ++j) {
            lane_gamma[place + j] = static_cast<float>(m.gamma);
            lane_share[place + j] = 1.0f / static_cast<float>(m.train_count);
        }
        if (!slots[s].training) continue;
        for (int64_t k = 0; k < m.train_count; ++k) {
            const int64_t node = m.train_nodes[k];
            const int64_t at = node * training_vectors + v;
            train_bits[at] = static_cast<uint16_t>(train_bits[at] | ((1u << std::min(e.c, LANES)) - 1u) << lane);
            if (e.c > LANES) continue;  // the loss reads the label itself
            label_bits[at] = static_cast<uint16_t>(label_bits[at] | 1u << (lane + p.labels[node]));
        }
    }
}

void Group::encode() {
    for (int b = 0; b < count; ++b) engine.encode(first + b);
}

void Group::forward(Scratch& scratch) {
    const int c = engine.c;
    const int64_t n = engine.n, row = vectors * LANES;
    const int64_t words = engine.mask_words(), stretches = (words + STRETCH - 1) / STRETCH;
    engine.ranges(count * stretches, [&](Range range) {
        for (int64_t k = range.begin; k < range.end; ++k) {
            const int64_t b = first + k / stretches;
            if (engine.settings[b].dropout > 0)
                draw_mask(engine.settings[b], engine.problem.steps[b] + 1, k % stretches, words, engine.masks[b].data());
        }
    });
    for (int b = 0; b < count; ++b) {
        const int training = engine.lane(b), evaluating = engine.lane(evaluation[b]);
        by_classes(c, [&](auto classes) {
            constexpr int N = decltype(classes)::value;
            if (engine.several())
                engine.jumping_head<N>(first + b, embeddings[0], row, training, evaluating, scratch);
            else
                engine.hidden_head<N>(first + b, embeddings[0], row, training, evaluating);
        });
    }
    read_parameters();
    by_classes(c, [&](auto classes) { layers_forward<decltype(classes)::value>(scratch); });
    const float* scores = embeddings.back().data;
    for (int b = 0; b < count; ++b) {
        const float* from = scores + engine.lane(evaluation[b]);
        float* to = engine.problem.logits + (first + b) * n * c;
        engine.ranges(n, [&](Range range) {
            for (int64_t i = range.begin; i < range.end; ++i)
                for (int j = 0; j < c; ++j) to[i * c + j] = from[i * row + j];
        });
    }
}

void Group::step(Scratch& scratch, double* losses) {
    const int c = engine.c;
    const Problem& problem = engine.problem;
    const Layout& layout = engine.layout;
    const int64_t hops = problem.hops;
    by_classes(c, [&](auto classes) { layers_backward<decltype(classes)::value>(scratch, losses); });
    for (int b = 0; b < count; ++b) {
        const int member = first + b;
        const Member& m = engine.settings[member];
        const Adam adam(m, ++problem.steps[member]);
        Vector bias[WIDEST / LANES];
        for (Vector& each : bias) each = splat(0);
        const int slot = engine.lane(b);
        by_classes(c, [&](auto classes) {
            constexpr int N = decltype(classes)::value;
            const float* gradient = scratch.gradient_initial;
            const int64_t row = training_vectors * LANES;
            if (engine.several())
                engine.jumping_backward<N>(member, gradient, row, slot, scratch, bias);
            else
                engine.head_backward<N>(member, gradient, row, slot, scratch, bias);
        });
        float *w = engine.weights(member), *f = engine.first(member), *s = engine.second(member);
        const auto update = [&](int64_t at, Vector gradient) { adam.update(w + at, f + at, s + at, gradient); };
        for (int64_t k = 0; k < c * layout.stride; k += LANES) update(layout.head + k, load(scratch.head + k));
        if (engine.several()) engine.jumping_step(member, adam, scratch);
        for (int k = 0; k < c; k += LANES) update(layout.head_bias + k, bias[k / LANES]);
        double dots[MAX_INPUTS] = {};
        engine.update_biases(member, adam, scratch, dots);
        engine.update_inputs(member, adam, scratch, dots);
        if (m.gamma == 1) continue;  // the layers are the identity: lambda and S have no gradient and no decay
        for (int64_t k = 0; k < hops; k += LANES) {
            Vector gradient = splat(0);
            for (int64_t j = k; j < std::min<int64_t>(k + LANES, hops); ++j)
                gradient[j - k] = static_cast<float>(scratch.hop_gradients[b * hops + j]);
            update(layout.hops + k, gradient);
        }
        for (int k = 0; problem.coefficient != PLAIN && k < c; k += LANES) {
            Vector gradient = splat(0);
            for (int j = k; j < std::min(k + LANES, c); ++j)
                gradient[j - k] = static_cast<float>(scratch.scale_gradients[b * c + j]);
            update(layout.scale + k, gradient);
        }
        if (problem.tau) {
            Vector gradient = splat(0);
            gradient[0] = static_cast<float>(scratch.tau_gradients[b]);
            update(layout.tau, gradient);
        }
    }
}

Engine::Engine(const Problem& given)
    : problem(given),
      layout(given),
      lanes(static_cast<int>(given.classes)),
      settings(given.settings, given.settings + given.members),
      n(given.nodes),
      stride(layout.stride),
      width(layout.stride / LANES),
      c(static_cast<int>(given.classes)),
      inputs(given.input, given.input + given.inputs),
      pool(static_cast<int>(std::max<int64_t>(given.threads, 1))) {
    const int64_t row_bytes = std::min<int64_t>(width, TOGETHER) * LANES * 4, cache = CACHE_BYTES;
    read.resize(inputs.size());
    read_transposed.resize(inputs.size());
    int64_t partial = problem.blocks ? problem.hidden : 0;  // rows of weights whose gradient is summed piece by piece
    for (size_t k = 0; k < inputs.size(); ++k) {
        if (!inputs[k].dense) {
            read[k].build(inputs[k].sparse, row_bytes, cache);
            read_transposed[k].build(inputs[k].transposed, row_bytes, cache);
        }
        const bool dotted = inputs[k].gated && !inputs[k].branch;
        if (inputs[k].dense || dotted || read_transposed[k].parts.size() > 1)
            partial = std::max(partial, inputs[k].columns);
    }
    pieces = std::clamp<int64_t>(n / PIECE_ROWS, 1, MOST_PIECES);
    piece_rows = ((n + pieces - 1) / pieces + BLOCK_ROWS - 1) / BLOCK_ROWS * BLOCK_ROWS;
    pieces = (n + piece_rows - 1) / piece_rows;
    const int members = static_cast<int>(problem.members);
    bool apart_any = false;
    for (int b = 0; b < members; ++b) {
        for (int64_t head = 0; head < layout.heads; ++head) hidden.emplace_back(static_cast<size_t>(n * stride));
        masks.emplace_back(settings[b].dropout > 0 ? mask_words() : 0);
        apart_any = apart_any || apart(b);
    }
    if (problem.blocks) local.resize(members);
    for (Local& each : local) {
        for (int64_t l = 0; l <= problem.blocks; ++l) each.outputs.emplace_back(static_cast<size_t>(n * stride));
        for (int64_t l = 0; problem.jumping && l < problem.blocks; ++l) {
            each.normal.emplace_back(static_cast<size_t>(n * stride));
            each.deviations.emplace_back(static_cast<size_t>(problem.batch ? 2 * stride : n));
        }
    }
    const int threads = static_cast<int>(std::max<int64_t>(given.threads, 1));
    shared = threads > 1 && n * stride * static_cast<int64_t>(sizeof(float)) > SHARED_BYTES;
    int most = std::max(GROUP_VECTORS * lanes.slots, 1);
    if (apart_any) most = std::max(most / 2, 1);
    if (!shared) most = std::min(most, std::max((members + threads - 1) / threads, 1));
    groups.reserve((members + most - 1) / most);
    int widest = 0, training = 0;
    for (int b = 0; b < members; b += most) {
        groups.emplace_back(*this, b, std::min(most, members - b));
        widest = std::max(widest, groups.back().vectors);
        training = std::max(training, groups.back().training_vectors);
    }
    const size_t values = static_cast<size_t>(n) * widest * LANES;
    scratch.resize(shared ? 1 : threads);
    for (Scratch& s : scratch) {
        for (Buffer* buffer : {&s.reach, &s.reach_other, &s.gradient, &s.gradient_initial, &s.gradient_q, &s.spare})
            buffer->resize(values);
        s.head.resize(c * stride);
        s.columns.resize(layout.heads * stride);
        s.partial.resize(partial * TOGETHER * LANES);
        if (problem.blocks) {
            for (Buffer& buffer : s.wide) buffer.resize(static_cast<size_t>(n * stride));
            s.turned.resize((problem.directions + 1) * layout.map + stride);
            s.norms.resize(pieces * 4 * stride);
        }
        const int64_t sources = several() ? layout.heads + problem.blocks : 0;
        s.share_gradients.resize(sources);
        s.shares.resize(sources * width);
        s.scale_free.resize(most);
        s.tau_gradients.resize(most);
        s.tau_parts.resize(pieces * most);
        s.loss.resize(pieces * most);
        if (lanes.slots) {
            s.to_mixed.resize(pieces * most);
            s.to_q.resize(pieces * most);
            s.gram.resize(pieces * widest * (c / 2 + 1) * LANES);
        } else if (problem.layers) {
            s.gram.resize(pieces * widest * LANES * c);
        }
        s.lambda.resize(pieces * problem.hops * training * LANES);
        s.hop_gradients.resize(most * problem.hops);
        const int scales = std::max(training * lanes.slots, 1) * c;
        s.scale_gradients.resize(scales);
        s.scale_parts.resize(pieces * scales);
    }
}

template <class Body> void Engine::by_group(Body&& body) {
    if (shared) {
        FlushTiny flush;
        for (Group& group : groups) body(group, scratch[0]);
        return;
    }
    const std::function<void(int, int)> task = [&](int worker, int g) { body(groups[g], scratch[worker]); };
    pool.run(static_cast<int>(groups.size()), task);
}

void Engine::forward() {
    by_group([](Group& group, Scratch& own) {
        group.encode();
        group.forward(own);
    });
}

// What the class scores of a member are worth on one of the pieces that each set of nodes is cut into.
Measured Engine::measured(int b, int64_t piece) const {
    const Member& m = settings[b];
    const float* scores = problem.logits + static_cast<int64_t>(b) * n * c;
    const int64_t* nodes[] = {m.train_nodes, m.val_nodes, m.test_nodes};
    const int64_t counts[] = {m.train_count, m.val_count, m.test_count};
    Measured found{};
    for (int set = 0; set < 3; ++set) {
        for (int64_t k = counts[set] * piece / pieces; k < counts[set] * (piece + 1) / pieces; ++k) {
            const float* row = scores + nodes[set][k] * c;
            int largest = 0;
            for (int j = 1; j < c; ++j) largest = row[j] > row[largest] ? j : largest;
            found.right[set] += largest == problem.labels[nodes[set][k]];
        }
    }
    for (int64_t k = m.val_count * piece / pieces; k < m.val_count * (piece + 1) / pieces; ++k) {
        const float* row = scores + m.val_nodes[k] * c;
        float largest = row[0], total = 0;
        for (int j = 1; j < c; ++j) largest = std::max(largest, row[j]);
        for (int j = 0; j < c; ++j) total += std::exp(row[j] - largest);
        found.loss += std::log(total) + (largest - row[problem.labels[m.val_nodes[k]]]);
    }
    return found;
}

// Validation loss, then the accuracies on train, val and test nodes.
void Engine::measure(int b, double* out) {
    Measured parts[MOST_PIECES], sum{};
    const std::function<void(int, int)> task = [&](int, int piece) { parts[piece] = measured(b, piece); };
    if (shared)
        pool.run(static_cast<int>(pieces), task);
    else
        for (int piece = 0; piece < pieces; ++piece) task(0, piece);
    for (int64_t piece = 0; piece < pieces; ++piece) {
        sum.loss += parts[piece].loss;
        for (int set = 0; set < 3; ++set) sum.right[set] += parts[piece].right[set];
    }
    const Member& m = settings[b];
    const int64_t counts[] = {m.train_count, m.val_count, m.test_count};
    out[b] = sum.loss / static_cast<double>(m.val_count);
    for (int set = 0; set < 3; ++set)
        out[(1 + set) * problem.members + b] = static_cast<double>(sum.right[set]) / static_cast<double>(counts[set]);
}

void Engine::measure(double* out) {
    const std::function<void(int, int)> task = [this, out](int, int b) { measure(b, out); };
    if (shared)
        for (int b = 0; b < problem.members; ++b) task(0, b);
    else
        pool.run(static_cast<int>(problem.members), task);
}

void Engine::step(double* losses) {
    by_group([losses](Group& group, Scratch& own) {
        group.step(own, losses);
        group.forward(own);
    });
}

}  // namespace
