// Which hidden values a step keeps: bits from a generator whose whole state is the seed and the number of the step.

#pragma once

#include <cmath>
#include <cstring>

#include "problem.hpp"
#include "vectors.hpp"

namespace {

// xoshiro128++ in 16 lanes, started anew for each step of each member: (seed, step) is its whole state.
struct Stream {
    Words s[4];

    Stream(uint64_t seed, uint64_t step) {
        uint64_t state = mix(mix(seed + 0x9E3779B97F4A7C15u) ^ (step * 0xD1B54A32D192ED03u));
        for (auto& words : s) {
            uint32_t drawn[LANES];
            for (int k = 0; k < LANES; k += 2) {
                state += 0x9E3779B97F4A7C15u;
                const uint64_t z = mix(state);
                drawn[k] = static_cast<uint32_t>(z);
                drawn[k + 1] = static_cast<uint32_t>(z >> 32) | 1u;
            }
            std::memcpy(&words, drawn, sizeof words);
        }
    }

    static uint64_t mix(uint64_t z) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }

    static INLINE Words turned(Words x, int by) { return (x << by) | (x >> (32 - by)); }

    INLINE Words next() {
        const Words result = turned(s[0] + s[3], 7) + s[0];
        const Words t = s[1] << 9;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = turned(s[3], 11);
        return result;
    }
};

// One bit per hidden value: whether it is kept. A probability counts in steps of 2^-16.
void draw_masks(const Member& s, int64_t step, int64_t count, uint16_t* masks) {
    Stream stream(s.seed, static_cast<uint64_t>(step));
    const Words limit = splat_word(static_cast<uint32_t>(std::lround((1 - s.dropout) * 65536.0)));
    int64_t k = 0;
    for (; k + 1 < count; k += 2) {
        const Words words = stream.next();
        masks[k] = static_cast<uint16_t>(below(words & 0xFFFFu, limit));
        masks[k + 1] = static_cast<uint16_t>(below(words >> 16, limit));
    }
    if (k < count) masks[k] = static_cast<uint16_t>(below(stream.next() & 0xFFFFu, limit));
}

}  // namespace
