// Training of many GloGNN models at once on a CPU: forward, backward written by hand, and Adam. And the scores of boosted
// trees (trees.hpp).
//
// The mathematics is that of nn/encoder.py, nn/blocks.py, nn/hops.py, nn/global_homophily.py, models/glognn.py with
// inputs that are fused at the hidden layer, and models/glognn2.py. The interface is plain C and uses no header of Python
// or torch; all parameters and moments belong to the caller. One translation unit, compiled once for each level of vector
// instructions.
//
// No exception leaves: every function that may fail returns a status, and glognn_failure says more.

#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>

#include "failures.hpp"
#include "members.hpp"
#include "memory.hpp"
#include "problem.hpp"
#include "trees.hpp"

#define API extern "C" __attribute__((visibility("default")))

namespace {

enum Status : int { DONE = 0, NO_MEMORY = 1, NO_THREADS = 2, FAILED = 3 };

thread_local char failure[200] = "";

int failed(Status status, const char* what) {
    std::snprintf(failure, sizeof failure, "%s", what);
    return status;
}

template <class Body> int guarded(Body&& body) noexcept {
    try {
        body();
        return DONE;
    } catch (const std::bad_alloc& error) {
        return failed(NO_MEMORY, error.what());
    } catch (const NoThread& error) {
        return failed(NO_THREADS, error.what());
    } catch (const std::exception& error) {
        return failed(FAILED, error.what());
    } catch (...) {
        return failed(FAILED, "an unknown exception");
    }
}

Engine& engine_of(void* handle) {
    if (!handle) throw std::invalid_argument("there are no members");
    return *static_cast<Engine*>(handle);
}

}  // namespace

// Which instructions this machine has: 2 AVX-512, 1 AVX2 with FMA, 0 neither or not x86.
API int glognn_level() noexcept {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 1;
#endif
    return 0;
}

#ifndef GLOGNN_SOURCE
#define GLOGNN_SOURCE ""
#endif

// What this library was built from.
API const char* glognn_source() noexcept { return GLOGNN_SOURCE; }

// What the last function that did not return DONE in this thread ran into.
API const char* glognn_failure() noexcept { return failure; }

API int glognn_parameters(const Problem* problem, int64_t* count) {
    return guarded([&] { *count = Layout(*problem).total; });
}

// The members of a problem, with their forward pass done. The caller keeps every array of the problem alive and in
// place until glognn_free. Where it fails nothing is left behind.
API int glognn_create(const Problem* problem, void** engine) {
    return guarded([&] {
        auto made = std::make_unique<Engine>(*problem);
        made->forward();
        *engine = made.release();
    });
}

API int glognn_free(void* engine) {
    return guarded([&] { delete static_cast<Engine*>(engine); });
}

// The forward pass anew, after the caller changed weights.
API int glognn_forward(void* engine) {
    return guarded([&] { engine_of(engine).forward(); });
}

// One step of every member and the forward pass after it; losses are those before the step.
API int glognn_step(void* engine, double* losses) {
    return guarded([&] { engine_of(engine).step(losses); });
}

// Validation losses, then accuracies on the train, val and test nodes: 4 x members.
API int glognn_measure(void* engine, double* out) {
    return guarded([&] { engine_of(engine).measure(out); });
}

// Which hidden values the next step of a member keeps, one byte each: those of heads, then of blocks, each nodes x padded
// hidden width.
API int glognn_mask(void* handle, int64_t member, uint8_t* out) {
    return guarded([&] {
        Engine& engine = engine_of(handle);
        const auto& masks = engine.masks.at(member);
        for (int64_t k = 0; k < engine.mask_words(); ++k)
            for (int lane = 0; lane < LANES; ++lane)
                out[k * LANES + lane] = masks.empty() ? 1 : static_cast<uint8_t>(masks[k] >> lane & 1);
    });
}

// Adds to the scores of rows what trees say of them.
API int glognn_walk(const Trees* trees) {
    return guarded([&] { walk(*trees); });
}

// Bytes held by all engines of this process for their values, now and at most since the last call.
API int glognn_memory(int64_t* held, int64_t* peak) {
    return guarded([&] {
        *held = held_bytes;
        *peak = peak_bytes.exchange(*held);
    });
}

// For tests: one of the places (failures.hpp) fails once, after it was passed so many times; below 0 it does not.
API int glognn_fail(int64_t place, int64_t passes) {
    return guarded([&] {
        if (place < 0 || place >= PLACES) throw std::out_of_range("there is no such place");
        passes_left[place] = passes;
    });
}
