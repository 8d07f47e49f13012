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

// A constant matrix that the encoder reads: sparse with its transpose, or dense, row by row.
struct Input {
    Matrix sparse, transposed;
    const float* dense;  // nullptr where it is sparse
    int64_t columns;
    int64_t branch;  // whether local blocks do not see it: it has hidden values of its own
    int64_t gated;   // whether its weight is multiplied by a learnt number, where that is positive
};

struct Member {
    double learning_rate, weight_decay, beta1, beta2, gamma, dropout;
    const double* shares;  // weight of each input
    int64_t decoupled;     // weight decay apart from the gradient (AdamW)
    uint64_t seed;
    int64_t train_count, val_count, test_count;
    const int64_t *train_nodes, *val_nodes, *test_nodes;
};

enum Coefficient : int64_t { PLAIN = 0, EXACT = 1, RELEASED = 2 };

constexpr int MAX_CLASSES = LANES;  // that fit one vector
constexpr int WIDEST = 4 * LANES;
constexpr int MAX_INPUTS = 8;
constexpr int MAX_DIRECTIONS = 2;

struct Problem {
    int64_t nodes, classes, hidden, layers, hops, members, threads, coefficient;
    int64_t scale_free;            // betas are multiples of the mean squared norm of the embedding's columns
    int64_t tau;                   // a layer goes a learnt share of the way
    int64_t jumping;               // hidden values are summed with learnt shares (jumping.hpp)
    int64_t batch;                 // local blocks normalise columns over all rows, not rows over their columns
    int64_t blocks;                // local blocks; without jumping, further layers of the encoder
    int64_t directions, matrices;  // maps of neighbours in a block, and operators: one may serve two maps
    int64_t inputs;
    const Input* input;
    Matrix adjacency, adjacency_transposed;  // of the hops
    Matrix along[MAX_DIRECTIONS], along_transposed[MAX_DIRECTIONS];
    const int64_t* labels;
    const Member* settings;
    float *weights, *first, *second;  // members x parameters
    int64_t* steps;                   // steps taken, for each member
    float* logits;                    // members x nodes x classes
};

// Where a member's parameters lie. Weights of the inputs and of the maps of blocks are stored in panels of 16 columns,
// rows of the head (transposed) one after the other; all are padded with zeros, which stay zero.
struct Layout {
    int64_t stride, heads;  // heads: matrices of hidden values before the nonlinearity
    int64_t input[MAX_INPUTS], input_bias[MAX_INPUTS], gate[MAX_INPUTS], head_of[MAX_INPUTS];
    int64_t map, maps, map_bias, map_biases;  // of the first block; those of others lie a step further
    int64_t norm, norm_bias, mean, variance;  // mean and variance are no weights: what columns had in steps before
    int64_t head, head_bias, hops, scale, shares, tau, total;

    explicit Layout(const Problem& p) {
        stride = padded(p.hidden);
        heads = 1;
        map = p.hidden * stride;
        maps = map_bias = 0;
        map_biases = (p.directions + 1) * stride;
        int64_t place = 0;
        const auto take = [&](int64_t count) { return (place += count) - count; };
        for (int64_t i = 0; i < p.inputs; ++i) {
            input[i] = take(p.input[i].columns * stride);
            head_of[i] = p.input[i].branch ? heads++ : 0;
        }
        maps = take(p.blocks * (p.directions + 1) * map);
        head = take(p.classes * stride);
        for (int64_t i = 0; i < p.inputs; ++i) input_bias[i] = take(stride);
        head_bias = take(padded(p.classes));
        hops = take(padded(p.hops));
        scale = take(p.coefficient == PLAIN ? 0 : padded(p.classes));
        map_bias = take(p.blocks * map_biases);
        norm = take(p.jumping ? p.blocks * stride : 0);
        norm_bias = take(p.jumping ? p.blocks * stride : 0);
        mean = take(p.batch ? p.blocks * stride : 0);
        variance = take(p.batch ? p.blocks * stride : 0);
        shares = take(p.jumping ? padded(heads + p.blocks) : 0);
        for (int64_t i = 0; i < p.inputs; ++i) gate[i] = take(p.input[i].gated ? LANES : 0);
        tau = take(p.tau ? LANES : 0);
        total = place;
    }

    static int64_t padded(int64_t count) { return (count + LANES - 1) / LANES * LANES; }
};

}  // namespace
