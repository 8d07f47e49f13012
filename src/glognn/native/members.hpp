// A step and an evaluation of groups and of all members, and how members are grouped.

#pragma once

#include <functional>

#include "backward.hpp"
#include "encoder.hpp"
#include "jumping.hpp"
#include "layers.hpp"

namespace {

Group::Group(Engine& e, int first_member, int members) : engine(e), first(first_member), count(members) {
    const Problem& p = e.problem;
    const int per = e.lanes.slots;
    for (int b = 0; b < count; ++b) slots.push_back({b, true});
    training_vectors = (count + per - 1) / per;
    for (int b = 0; b < count; ++b) {
        evaluation.push_back(b);
        if (e.settings[first + b].dropout > 0) {
            evaluation[b] = static_cast<int>(slots.size());
            slots.push_back({b, false});
        }
    }
    vectors = (static_cast<int>(slots.size()) + per - 1) / per;
    const size_t row = static_cast<size_t>(vectors) * LANES;
    for (int64_t l = 0; l <= p.layers; ++l) embeddings.emplace_back(e.n * row);
    for (int64_t l = 0; l < p.layers; ++l) reached_from.emplace_back(p.hops ? e.n * row : 0);
    small.resize(p.layers * vectors);
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
        const int v = static_cast<int>(s) / per, lane = static_cast<int>(s) % per * e.c;
        for (int j = 0; j < e.c; ++j) {
            lane_gamma[v * LANES + lane + j] = static_cast<float>(m.gamma);
            lane_share[v * LANES + lane + j] = 1.0f / static_cast<float>(m.train_count);
        }
        if (!slots[s].training) continue;
        for (int64_t k = 0; k < m.train_count; ++k) {
            const int64_t node = m.train_nodes[k];
            const int64_t at = node * training_vectors + v;
            train_bits[at] = static_cast<uint16_t>(train_bits[at] | ((1u << e.c) - 1u) << lane);
            label_bits[at] = static_cast<uint16_t>(label_bits[at] | 1u << (lane + p.labels[node]));
        }
    }
}

void Group::encode() {
    for (int b = 0; b < count; ++b) engine.encode(first + b);
}

void Group::forward(Scratch& scratch) {
    const int per = engine.lanes.slots, c = engine.c;
    const int64_t n = engine.n, row = vectors * LANES;
    for (int b = 0; b < count; ++b) {
        const Member& m = engine.settings[first + b];
        if (m.dropout > 0)
            draw_masks(m, engine.problem.steps[first + b] + 1, engine.mask_words(), engine.masks[first + b].data());
        const int training = b / per * LANES + b % per * c;
        const int evaluating = evaluation[b] / per * LANES + evaluation[b] % per * c;
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
        const float* from = scores + evaluation[b] / per * LANES + evaluation[b] % per * c;
        float* to = engine.problem.logits + (first + b) * n * c;
        for (int64_t i = 0; i < n; ++i)
            for (int j = 0; j < c; ++j) to[i * c + j] = from[i * row + j];
    }
}

// A step of all but, where they are taken apart, of the weights of inputs.
void Group::step(Scratch& scratch, double* losses, bool apart) {
    const int per = engine.lanes.slots, c = engine.c;
    const Problem& problem = engine.problem;
    const Layout& layout = engine.layout;
    const int64_t hops = problem.hops;
    by_classes(c, [&](auto classes) { layers_backward<decltype(classes)::value>(scratch, losses); });
    for (int b = 0; b < count; ++b) {
        const int member = first + b;
        const Member& m = engine.settings[member];
        const Adam adam(m, ++problem.steps[member]);
        Vector bias = splat(0);
        const int slot = b / per * LANES + b % per * c;
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
        update(layout.head_bias, bias);
        double dots[MAX_INPUTS] = {};
        engine.update_biases(member, adam, scratch, dots);
        if (!apart) engine.update_inputs(member, adam, scratch, dots);
        if (m.gamma == 1) continue;  // the layers are the identity: lambda and S have no gradient and no decay
        for (int64_t k = 0; k < hops; k += LANES) {
            Vector gradient = splat(0);
            for (int64_t j = k; j < std::min<int64_t>(k + LANES, hops); ++j)
                gradient[j - k] = static_cast<float>(scratch.hop_gradients[b * hops + j]);
            update(layout.hops + k, gradient);
        }
        if (problem.coefficient != PLAIN) {
            Vector gradient = splat(0);
            for (int j = 0; j < c; ++j) gradient[j] = static_cast<float>(scratch.scale_gradients[b * c + j]);
            update(layout.scale, gradient);
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
        if (inputs[k].dense || read_transposed[k].parts.size() > 1) partial = std::max(partial, inputs[k].columns);
    }
    const int members = static_cast<int>(problem.members);
    bool dropping = false;
    for (int b = 0; b < members; ++b) {
        for (int64_t head = 0; head < layout.heads; ++head) hidden.emplace_back(static_cast<size_t>(n * stride));
        masks.emplace_back(settings[b].dropout > 0 ? mask_words() : 0);
        dropping = dropping || settings[b].dropout > 0;
    }
    if (problem.blocks) local.resize(members);
    for (Local& each : local) {
        for (int64_t l = 0; l <= problem.blocks; ++l) each.outputs.emplace_back(static_cast<size_t>(n * stride));
        for (int64_t l = 0; problem.jumping && l < problem.blocks; ++l) {
            each.normal.emplace_back(static_cast<size_t>(n * stride));
            each.deviations.emplace_back(static_cast<size_t>(n));
        }
    }
    const int threads = static_cast<int>(std::max<int64_t>(given.threads, 1));
    int most = GROUP_VECTORS * lanes.slots;
    if (dropping) most = std::max(most / 2, 1);
    most = std::min(most, std::max((members + threads - 1) / threads, 1));
    groups.reserve((members + most - 1) / most);
    int widest = 0, training = 0;
    for (int b = 0; b < members; b += most) {
        groups.emplace_back(*this, b, std::min(most, members - b));
        widest = std::max(widest, groups.back().vectors);
        training = std::max(training, groups.back().training_vectors);
    }
    const size_t values = static_cast<size_t>(n) * widest * LANES;
    scratch.resize(threads);
    for (Scratch& s : scratch) {
        for (Buffer* buffer : {&s.reach, &s.reach_other, &s.gradient, &s.gradient_initial, &s.gradient_q, &s.spare})
            buffer->resize(values);
        s.head.resize(c * stride);
        s.columns.resize(layout.heads * stride);
        s.partial.resize(partial * TOGETHER * LANES);
        if (problem.blocks) {
            for (Buffer& buffer : s.wide) buffer.resize(static_cast<size_t>(n * stride));
            s.turned.resize((problem.directions + 1) * layout.map + stride);
            s.norms.resize(4 * stride);
        }
        s.share_gradients.resize(several() ? layout.heads + problem.blocks : 0);
        s.scale_free.resize(most);
        s.tau_gradients.resize(most);
        s.to_mixed.resize(most);
        s.to_q.resize(most);
        s.lambda.resize(problem.hops * training * LANES);
        s.hop_gradients.resize(most * problem.hops);
        s.scale_gradients.resize(training * lanes.slots * c);
    }
}

void Engine::forward() {
    const std::function<void(int, int)> task = [this](int worker, int g) {
        groups[g].encode();
        groups[g].forward(scratch[worker]);
    };
    pool.run(static_cast<int>(groups.size()), task);
}

// What a member's class scores are worth: validation loss, then the accuracies on train, val and test nodes.
void Engine::measure(int b, double* out) const {
    const Member& m = settings[b];
    const float* scores = problem.logits + static_cast<int64_t>(b) * n * c;
    const int64_t members = problem.members;
    const int64_t* nodes[] = {m.train_nodes, m.val_nodes, m.test_nodes};
    const int64_t counts[] = {m.train_count, m.val_count, m.test_count};
    for (int set = 0; set < 3; ++set) {
        int64_t right = 0;
        for (int64_t k = 0; k < counts[set]; ++k) {
            const float* row = scores + nodes[set][k] * c;
            int largest = 0;
            for (int j = 1; j < c; ++j) largest = row[j] > row[largest] ? j : largest;
            right += largest == problem.labels[nodes[set][k]];
        }
        out[(1 + set) * members + b] = static_cast<double>(right) / static_cast<double>(counts[set]);
    }
    double loss = 0;
    for (int64_t k = 0; k < m.val_count; ++k) {
        const float* row = scores + m.val_nodes[k] * c;
        float largest = row[0], total = 0;
        for (int j = 1; j < c; ++j) largest = std::max(largest, row[j]);
        for (int j = 0; j < c; ++j) total += std::exp(row[j] - largest);
        loss += std::log(total) + (largest - row[problem.labels[m.val_nodes[k]]]);
    }
    out[b] = loss / static_cast<double>(m.val_count);
}

void Engine::measure(double* out) {
    const std::function<void(int, int)> task = [this, out](int, int b) { measure(b, out); };
    pool.run(static_cast<int>(problem.members), task);
}

// On large graphs several threads share the inputs of a member, some panels each: members need not be many.
void Engine::step(double* losses) {
    const int64_t threads = static_cast<int64_t>(scratch.size()), members = problem.members;
    const bool apart = threads > 1 && !gated_inputs() && n * stride * static_cast<int64_t>(sizeof(float)) > APART_BYTES;
    const std::function<void(int, int)> whole = [this, losses, apart](int worker, int g) {
        groups[g].step(scratch[worker], losses, apart);
        if (!apart) groups[g].forward(scratch[worker]);
    };
    pool.run(static_cast<int>(groups.size()), whole);
    if (!apart) return;
    int64_t share = std::min<int64_t>(TOGETHER, width);
    while (share > 1 && members * layout.heads * ((width + share - 1) / share) < 2 * threads) share /= 2;
    const int64_t pieces = (width + share - 1) / share;
    const std::function<void(int, int)> update = [this, share, pieces](int worker, int task) {
        const int b = static_cast<int>(task / (layout.heads * pieces));
        const int64_t head = task / pieces % layout.heads, panel = task % pieces * share;
        const Adam adam(settings[b], problem.steps[b]);
        update_panels(b, head, panel, std::min(share, width - panel), adam, scratch[worker]);
    };
    pool.run(static_cast<int>(members * layout.heads * pieces), update);
    const std::function<void(int, int)> onward = [this](int worker, int g) { groups[g].forward(scratch[worker]); };
    pool.run(static_cast<int>(groups.size()), onward);
}

}  // namespace
