// What the caller hands over, and where a member's parameters lie. Python's side of it is native/library.py.

#pragma once

#include <cstdint>

#include "vectors.hpp"

namespace {

struct Matrix {  // compressed rows, as torch stores them
    int64_t rows, columns;
    const int32_t* starts;
    const int32_t* indices;
    const float* values;
};

struct Member {
    double learning_rate, weight_decay, alpha, beta1, beta2, gamma, dropout;
    int64_t decoupled;  // weight decay apart from the gradient (AdamW)
    uint64_t seed;
    int64_t train_count, val_count, test_count;
    const int64_t *train_nodes, *val_nodes, *test_nodes;
};

enum Coefficient : int64_t { PLAIN = 0, EXACT = 1, RELEASED = 2 };

struct Problem {
    int64_t nodes, classes, hidden, layers, hops, members, threads, coefficient, uses_features, uses_adjacency;
    Matrix features, features_transposed, adjacency, adjacency_transposed;
    const int64_t* labels;
    const Member* settings;
    float *weights, *first, *second;  // members x parameters
    int64_t* steps;                   // steps taken, for each member
    float* logits;                    // members x nodes x classes
};

constexpr int MAX_CLASSES = LANES;

// Where a member's parameters lie. Input weights are stored in panels of 16 columns, rows of the head (transposed) one
// after the other; both are padded with zeros, which stay zero.
struct Layout {
    int64_t stride, features, adjacency, head, features_bias, adjacency_bias, head_bias, hops, scale, total;
    explicit Layout(const Problem& p) {
        stride = (p.hidden + LANES - 1) / LANES * LANES;
        features = 0;
        adjacency = features + (p.uses_features ? p.features.columns * stride : 0);
        head = adjacency + (p.uses_adjacency ? p.nodes * stride : 0);
        features_bias = head + p.classes * stride;
        adjacency_bias = features_bias + (p.uses_features ? stride : 0);
        head_bias = adjacency_bias + (p.uses_adjacency ? stride : 0);
        hops = head_bias + LANES;
        scale = hops + (p.hops + LANES - 1) / LANES * LANES;
        total = scale + (p.coefficient == PLAIN ? 0 : LANES);
    }
};

}  // namespace
