// Adam and AdamW, on 16 parameters at a time.

#pragma once

#include <cmath>

#include "problem.hpp"
#include "vectors.hpp"

namespace {

struct Adam {
    static constexpr double BETA1 = 0.9, BETA2 = 0.999;
    Vector l2, shrink, step, root_scale, eps;

    Adam(const Member& s, int64_t number) {
        const double rate = s.learning_rate / (1 - std::pow(BETA1, number));
        l2 = splat(s.decoupled ? 0.0f : static_cast<float>(s.weight_decay));
        shrink = splat(s.decoupled ? static_cast<float>(1 - s.learning_rate * s.weight_decay) : 1.0f);
        step = splat(static_cast<float>(-rate));
        root_scale = splat(static_cast<float>(1 / std::sqrt(1 - std::pow(BETA2, number))));
        eps = splat(1e-8f);
    }

    // Updates 16 parameters. Products are fused by hand: where the compiler chooses, copies of this code may round apart.
    INLINE void update(float* weight, float* first, float* second, Vector gradient) const {
        Vector w = load(weight);
        const Vector g = fused(l2, w, gradient);
        const Vector m = fused(load(first), splat(static_cast<float>(BETA1)), g * static_cast<float>(1 - BETA1));
        const Vector v = fused(load(second), splat(static_cast<float>(BETA2)), g * g * static_cast<float>(1 - BETA2));
        const Vector direction = normalized(m, v, root_scale, eps);
        w = fused(step, direction, w * shrink);
        store(first, m);
        store(second, v);
        store(weight, w);
    }
};

}  // namespace
