// What may go wrong here, and how a test makes it go wrong.

#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

namespace {

// A thread that the system does not start.
struct NoThread : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Places where a test may ask for a failure: an allocation, the start of a thread, the work of a thread.
enum Place : int64_t { ALLOCATION = 0, START = 1, WORK = 2, PLACES = 3 };

// How often each place is still passed before it fails once; below 0: it does not fail.
std::atomic<int64_t> passes_left[PLACES] = {{-1}, {-1}, {-1}};

inline void may_fail(Place place) {
    std::atomic<int64_t>& left = passes_left[place];
    if (left.load(std::memory_order_relaxed) < 0 || left-- != 0) return;
    if (place == ALLOCATION) throw std::bad_alloc();
    if (place == START) throw std::system_error(EAGAIN, std::generic_category());
    throw std::runtime_error("a failure that was asked for");
}

}  // namespace
