// Which hidden values a step keeps: bits from generators, each of which begins at the seed, the number of the step and the
// place of its stretch of values. Stretches are drawn in any order, by any thread.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "problem.hpp"
#include "vectors.hpp"

namespace {

constexpr int64_t STRETCH = 4096;  // words of 16 values

// xoshiro128++ in 16 lanes, started anew for each stretch of each step of each member.
struct Stream {
    Words s[4];

    Stream(uint64_t seed, uint64_t step, uint64_t stretch) {
        uint64_t state = mix(mix(seed + 0x9E3779B97F4A7C15u) ^ (step * 0xD1B54A32D192ED03u));
        if (stretch) state = mix(state ^ (stretch * 0x9FB21C651E98DF25u));
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

// One bit per hidden value of a stretch: whether it is kept. A probability counts in steps of 2^-16.
void draw_mask(const Member& s, int64_t step, int64_t stretch, int64_t words, uint16_t* masks) {
    Stream stream(s.seed, static_cast<uint64_t>(step), static_cast<uint64_t>(stretch));
    const Words limit = splat_word(static_cast<uint32_t>(std::lround((1 - s.dropout) * 65536.0)));
    const int64_t count = std::min(words, (stretch + 1) * STRETCH);
    int64_t k = stretch * STRETCH;
    for (; k + 1 < count; k += 2) {
        const Words drawn = stream.next();
        masks[k] = static_cast<uint16_t>(below(drawn & 0xFFFFu, limit));
        masks[k + 1] = static_cast<uint16_t>(below(drawn >> 16, limit));
    }
    if (k < count) masks[k] = static_cast<uint16_t>(below(stream.next() & 0xFFFFu, limit));
}

}  // namespace
