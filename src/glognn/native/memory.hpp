// Memory for values: aligned, counted (native/memory.py predicts the count), and in huge pages where they pay.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "failures.hpp"

namespace {

constexpr size_t LINE = 64, PAGE = 4096, HUGE_PAGE = 2 << 20;

std::atomic<int64_t> held_bytes{0}, peak_bytes{0};

inline size_t rounded(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

inline void* take(size_t bytes, size_t boundary) {
    may_fail(ALLOCATION);
    void* found = std::aligned_alloc(boundary, rounded(bytes, boundary));
    if (!found) throw std::bad_alloc();
    const int64_t held = held_bytes += static_cast<int64_t>(bytes);
    int64_t peak = peak_bytes;
    while (peak < held && !peak_bytes.compare_exchange_weak(peak, held)) {
    }
    return found;
}

inline void give_back(void* memory, size_t bytes) {
    if (memory) held_bytes -= static_cast<int64_t>(bytes);
    std::free(memory);
}

template <class T> struct Counted {
    using value_type = T;
    Counted() = default;
    template <class S> Counted(const Counted<S>&) {}
    T* allocate(size_t count) { return static_cast<T*>(take(count * sizeof(T), LINE)); }
    void deallocate(T* memory, size_t count) { give_back(memory, count * sizeof(T)); }
    template <class S> bool operator==(const Counted<S>&) const { return true; }
    template <class S> bool operator!=(const Counted<S>&) const { return false; }
};

template <class T> using Array = std::vector<T, Counted<T>>;

// Zeroed floats on a 64-byte boundary, in huge pages where there are enough of them.
struct Buffer {
    float* data = nullptr;
    size_t bytes = 0;
    Buffer() = default;
    explicit Buffer(size_t count) { resize(count); }
    Buffer(Buffer&& other) noexcept : data(other.data), bytes(other.bytes) { other.data = nullptr; }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { give_back(data, bytes); }
    void resize(size_t count) {
        give_back(data, bytes);
        data = nullptr;
        const size_t page = count * sizeof(float) < HUGE_PAGE ? PAGE : HUGE_PAGE;
        bytes = rounded(count * sizeof(float), page) + (page == PAGE ? page : 0);
        data = static_cast<float*>(take(bytes, page));
#if defined(__linux__)
        if (page == HUGE_PAGE) madvise(data, bytes, MADV_HUGEPAGE);
#endif
        std::memset(data, 0, bytes);
    }
    operator float*() { return data; }
};

}  // namespace
