// The places of many ids among known ones, which are whole numbers or text.
//
// A table in open addressing; whole numbers that lie close together have a place for each number instead. Values are
// looked up by batches: the memory that a batch needs is asked for before it is read.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#define API extern "C" __attribute__((visibility("default")))

namespace {

constexpr int BATCH = 64;
constexpr int64_t SPARSEST = 8;  // numbers for each id, at which a place for every number no longer pays
constexpr uint64_t FACTOR = 0x9E3779B97F4A7C15ull;
constexpr size_t HUGE_PAGE = size_t{1} << 21;

// Memory that is read in any order: in huge pages, where the system has them, it is found faster.
template <class T> struct Store {
    T* data;
    explicit Store(size_t count) {
        const size_t size = (count * sizeof(T) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        data = static_cast<T*>(std::aligned_alloc(HUGE_PAGE, size));
        if (!data) throw std::bad_alloc();
#if defined(__linux__)
        madvise(data, size, MADV_HUGEPAGE);
#endif
    }
    ~Store() { std::free(data); }
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
};

inline uint64_t mixed(uint64_t x) {
    x *= FACTOR;
    return x ^ x >> 32;
}

struct Numbers {
    const int64_t* values;
    struct Slot {
        int64_t value;
        int64_t place;  // -1: empty
    };
    uint64_t hash(int64_t k) const { return mixed(mixed(static_cast<uint64_t>(values[k]))); }
    Slot slot(int64_t k, uint64_t) const { return {values[k], k}; }
    bool same(const Slot& slot, const Numbers& wanted, int64_t k, uint64_t) const {
        return slot.value == wanted.values[k];
    }
    void ask(const Slot&) const {}
};

struct Text {
    const int32_t* offsets;
    const char* bytes;
    struct Slot {
        uint32_t tag;
        int32_t place, offset, length;
    };
    static uint64_t word(const char* at) {
        uint64_t found;
        std::memcpy(&found, at, 8);
        return found;
    }
    uint64_t hash(int64_t k) const {
        const char* at = bytes + offsets[k];
        const int64_t length = offsets[k + 1] - offsets[k];
        uint64_t h = static_cast<uint64_t>(length) * FACTOR, last = 0;
        if (length >= 8) {
            for (int64_t start = 0; start + 8 < length; start += 8) h = mixed(h ^ word(at + start));
            last = word(at + length - 8);
        } else {
            for (int64_t j = 0; j < length; ++j) last = last << 8 | static_cast<unsigned char>(at[j]);
        }
        return mixed(mixed(h ^ last));
    }
    Slot slot(int64_t k, uint64_t h) const {
        return {static_cast<uint32_t>(h >> 32), static_cast<int32_t>(k), offsets[k], offsets[k + 1] - offsets[k]};
    }
    bool same(const Slot& slot, const Text& wanted, int64_t k, uint64_t h) const {
        return slot.tag == static_cast<uint32_t>(h >> 32) &&
               slot.length == wanted.offsets[k + 1] - wanted.offsets[k] &&
               std::memcmp(bytes + slot.offset, wanted.bytes + wanted.offsets[k], static_cast<size_t>(slot.length)) == 0;
    }
    void ask(const Slot& slot) const { __builtin_prefetch(bytes + slot.offset); }
};

template <class Keys> struct Table {
    using Slot = typename Keys::Slot;
    Keys known;
    uint64_t mask;
    Store<Slot> slots;

    static uint64_t size(int64_t count) {
        uint64_t found = 16;
        while (found < 2 * static_cast<uint64_t>(count)) found *= 2;
        return found;
    }

    Table(const Keys& keys, int64_t count) : known(keys), mask(size(count) - 1), slots(mask + 1) {
        std::memset(slots.data, 0xFF, (mask + 1) * sizeof(Slot));  // every place is -1
        for (int64_t k = 0; k < count; ++k) {
            const uint64_t h = keys.hash(k);
            uint64_t at = h & mask;
            while (slots.data[at].place >= 0) at = (at + 1) & mask;
            slots.data[at] = keys.slot(k, h);
        }
    }

    void find(const Keys& wanted, int64_t count, int64_t* out) const {
        uint64_t hashes[BATCH];
        for (int64_t start = 0; start < count; start += BATCH) {
            const int64_t some = std::min<int64_t>(BATCH, count - start);
            for (int64_t k = 0; k < some; ++k) {
                hashes[k] = wanted.hash(start + k);
                __builtin_prefetch(slots.data + (hashes[k] & mask));
            }
            for (int64_t k = 0; k < some; ++k) known.ask(slots.data[hashes[k] & mask]);
            for (int64_t k = 0; k < some; ++k) {
                const Slot* at = slots.data + (hashes[k] & mask);
                while (at->place >= 0 && !known.same(*at, wanted, start + k, hashes[k]))
                    at = at == slots.data + mask ? slots.data : at + 1;
                out[start + k] = at->place;
            }
        }
    }
};

// A place for every number from the least to the largest.
struct Range {
    int64_t low;
    uint64_t size;
    Store<int32_t> places;

    Range(const int64_t* values, int64_t count, int64_t least, uint64_t numbers)
        : low(least), size(numbers), places(numbers) {
        std::fill_n(places.data, size, -1);
        for (int64_t k = 0; k < count; ++k) places.data[values[k] - low] = static_cast<int32_t>(k);
    }
    void find(const int64_t* values, int64_t count, int64_t* out) const {
        for (int64_t k = 0; k < count; ++k) {
            const uint64_t offset = static_cast<uint64_t>(values[k]) - static_cast<uint64_t>(low);
            out[k] = offset < size ? places.data[offset] : -1;
        }
    }
};

struct Ids {
    Range* range = nullptr;
    Table<Numbers>* numbers = nullptr;
    Table<Text>* text = nullptr;
    ~Ids() {
        delete range;
        delete numbers;
        delete text;
    }
};

}  // namespace

// Known ids, each of them once; null when memory is short. The caller keeps the arrays until glognn_ids_free.
API void* glognn_ids_numbers(const int64_t* values, int64_t count) try {
    const auto ends = std::minmax_element(values, values + count);
    const uint64_t span = static_cast<uint64_t>(*ends.second) - static_cast<uint64_t>(*ends.first);
    Ids* ids = new Ids;
    if (span < static_cast<uint64_t>(SPARSEST * count))
        ids->range = new Range(values, count, *ends.first, span + 1);
    else
        ids->numbers = new Table<Numbers>({values}, count);
    return ids;
} catch (const std::exception&) {
    return nullptr;
}

API void* glognn_ids_text(const int32_t* offsets, const char* bytes, int64_t count) try {
    Ids* ids = new Ids;
    ids->text = new Table<Text>({offsets, bytes}, count);
    return ids;
} catch (const std::exception&) {
    return nullptr;
}

API void glognn_ids_free(void* ids) { delete static_cast<Ids*>(ids); }

// The place of each value, -1 where it is none of the ids.
API void glognn_find_numbers(const void* handle, const int64_t* values, int64_t count, int64_t* out) {
    const Ids& ids = *static_cast<const Ids*>(handle);
    ids.range ? ids.range->find(values, count, out) : ids.numbers->find({values}, count, out);
}

API void glognn_find_text(
    const void* handle, const int32_t* offsets, const char* bytes, int64_t count, int64_t* out) {
    static_cast<const Ids*>(handle)->text->find({offsets, bytes}, count, out);
}
