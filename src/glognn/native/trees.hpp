// Boosted trees (models/trees.py), read: scores of rows, to which the leaf that a row reaches in each tree adds its value.
//
// A leaf leads to itself, and no way has more steps than a tree has leaves, so that one in a damaged tree ends, too. What
// a row's score is summed up from, and in which order, depends on nothing but its trees.

#pragma once

#include <algorithm>

#include "threads.hpp"

namespace {

struct Trees {
    int64_t rows, columns, rounds, slots, size;  // size: places of a tree; slots: trees of a round
    int64_t classes, threads;                    // the last `slots` of a row's classes have trees
    const float* inputs;                         // rows x columns
    const int32_t *feature, *left, *right;       // rounds x slots x size, as what follows
    const float *threshold, *value;
    const uint8_t* missing_left;
    float* scores;  // rows x classes
};

constexpr int64_t WALKED_ROWS = 64;  // whose inputs stay in the cache from tree to tree

void walk(const Trees& trees, int64_t begin, int64_t end) {
    for (int64_t round = 0; round < trees.rounds; ++round)
        for (int64_t slot = 0; slot < trees.slots; ++slot) {
            const int64_t first = (round * trees.slots + slot) * trees.size, leaves = (trees.size + 1) / 2;
            const int32_t *feature = trees.feature + first, *left = trees.left + first, *right = trees.right + first;
            const float *threshold = trees.threshold + first, *value = trees.value + first;
            const uint8_t* missing_left = trees.missing_left + first;
            float* score = trees.scores + trees.classes - trees.slots + slot;
            for (int64_t i = begin; i < end; ++i) {
                const float* row = trees.inputs + i * trees.columns;
                int32_t place = 0;
                for (int64_t step = 0; step < leaves; ++step) {
                    const float seen = row[feature[place]];
                    const bool goes_left = seen != seen ? missing_left[place] : seen <= threshold[place];
                    const int32_t next = goes_left ? left[place] : right[place];
                    if (next == place) break;
                    place = next;
                }
                score[i * trees.classes] += value[place];
            }
        }
}

void walk(const Trees& trees) {
    const int64_t tasks = (trees.rows + WALKED_ROWS - 1) / WALKED_ROWS;
    Pool pool(static_cast<int>(std::clamp<int64_t>(tasks, 1, std::max<int64_t>(trees.threads, 1))));
    const std::function<void(int, int)> task = [&](int, int k) {
        walk(trees, k * WALKED_ROWS, std::min(trees.rows, (k + 1) * WALKED_ROWS));
    };
    pool.run(static_cast<int>(tasks), task);
}

}  // namespace
