// The places of many ids among known ones, which are whole numbers or text; tables of edges read by looking both ends up.
//
// A table in open addressing; whole numbers that lie close together have a place for each number instead. Values are
// looked up by batches: the memory that a batch needs is asked for before it is read.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
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
    static uint64_t hash(const Numbers& wanted, int64_t k) {
        return mixed(mixed(static_cast<uint64_t>(wanted.values[k])));
    }
    Slot slot(int64_t k, uint64_t) const { return {values[k], k}; }
    bool same(const Slot& slot, const Numbers& wanted, int64_t k, uint64_t) const {
        return slot.value == wanted.values[k];
    }
    void ask(const Slot&) const {}
};

inline uint64_t word(const char* at) {
    uint64_t found;
    std::memcpy(&found, at, 8);
    return found;
}

// Texts that lie anywhere.
struct Pieces {
    const char* const* starts;
    const int32_t* lengths;
    const char* at(int64_t k) const { return starts[k]; }
    int32_t length(int64_t k) const { return lengths[k]; }
};

// Texts one after the other, as pyarrow stores them.
struct Text {
    const int32_t* offsets;
    const char* bytes;
    struct Slot {
        uint32_t tag;
        int32_t place, offset, length;
    };
    const char* at(int64_t k) const { return bytes + offsets[k]; }
    int32_t length(int64_t k) const { return offsets[k + 1] - offsets[k]; }
    template <class Wanted> static uint64_t hash(const Wanted& wanted, int64_t k) {
        const char* at = wanted.at(k);
        const int64_t length = wanted.length(k);
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
        return {static_cast<uint32_t>(h >> 32), static_cast<int32_t>(k), offsets[k], length(k)};
    }
    template <class Wanted> bool same(const Slot& slot, const Wanted& wanted, int64_t k, uint64_t h) const {
        return slot.tag == static_cast<uint32_t>(h >> 32) && slot.length == wanted.length(k) &&
               std::memcmp(bytes + slot.offset, wanted.at(k), static_cast<size_t>(slot.length)) == 0;
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
            const uint64_t h = Keys::hash(keys, k);
            uint64_t at = h & mask;
            while (slots.data[at].place >= 0) at = (at + 1) & mask;
            slots.data[at] = keys.slot(k, h);
        }
    }

    template <class Wanted> void find(const Wanted& wanted, int64_t count, int64_t* out) const {
        uint64_t hashes[BATCH];
        for (int64_t start = 0; start < count; start += BATCH) {
            const int64_t some = std::min<int64_t>(BATCH, count - start);
            for (int64_t k = 0; k < some; ++k) {
                hashes[k] = Keys::hash(wanted, start + k);
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

// One of the three.
struct Ids {
    std::unique_ptr<Range> range;
    std::unique_ptr<Table<Numbers>> numbers;
    std::unique_ptr<Table<Text>> text;
};

// A whole number the way that numbers are written, between two places; false for anything else.
bool parse(const char* at, const char* end, int64_t& out) {
    const bool negative = at < end && *at == '-';
    at += negative;
    if (at == end || end - at > 18 || (*at == '0' && end - at > 1)) return false;
    int64_t found = 0;
    for (; at < end; ++at) {
        const unsigned digit = static_cast<unsigned>(*at) - '0';
        if (digit > 9) return false;
        found = 10 * found + digit;
    }
    out = negative ? -found : found;
    return !negative || found;
}

// Where one of three letters comes next, or the end: eight letters at a time.
inline const char* next(const char* at, const char* end, char a, char b, char c) {
    constexpr uint64_t ONES = 0x0101010101010101ull, HIGH = 0x8080808080808080ull;
    const uint64_t all[3] = {ONES * static_cast<unsigned char>(a), ONES * static_cast<unsigned char>(b),
                             ONES * static_cast<unsigned char>(c)};
    for (; end - at >= 8; at += 8) {
        uint64_t found = 0;
        for (const uint64_t each : all) {
            const uint64_t rest = word(at) ^ each;
            found |= (rest - ONES) & ~rest;
        }
        if (found & HIGH) break;
    }
    while (at < end && *at != a && *at != b && *at != c) ++at;
    return at;
}

// Rows of a table of text, from one line to another: two columns of ids, looked up.
struct Rows {
    const Ids& ids;
    char delimiter;
    int columns, wanted[2];  // the places of the two columns

    // Rows read, or -1 at a row that is not plain, or whose ids are not known.
    int64_t read(const char* at, const char* end, int64_t* const out[2]) const {
        const char* starts[2][BATCH];
        int32_t lengths[2][BATCH];
        int64_t numbers[2][BATCH], rows = 0;
        while (at < end) {
            int64_t some = 0;
            for (; some < BATCH && at < end; ++some) {
                int column = 0;
                for (bool last = false; !last; ++column) {
                    const char *from = at, *to;
                    if (at < end && *at == '"') {
                        to = next(++from, end, '"', '\n', '\n');
                        if (to >= end || *to != '"') return -1;
                        at = to + 1 + (to + 2 < end && to[1] == '\r' && to[2] == '\n');
                        if (at < end && *at != delimiter && *at != '\n') return -1;
                    } else {
                        at = next(at, end, delimiter, '\n', '"');
                        if (at < end && *at == '"') return -1;
                        to = at > from && at[-1] == '\r' && (at >= end || *at == '\n') ? at - 1 : at;
                    }
                    last = at >= end || *at == '\n';
                    for (int side = 0; side < 2; ++side) {
                        if (column != wanted[side]) continue;
                        if (to == from) return -1;
                        if (ids.text) {
                            starts[side][some] = from;
                            lengths[side][some] = static_cast<int32_t>(to - from);
                        } else if (!parse(from, to, numbers[side][some])) {
                            return -1;
                        }
                    }
                    at += !last;
                }
                ++at;
                if (column != columns) return -1;
            }
            for (int side = 0; side < 2; ++side) {
                if (ids.text)
                    ids.text->find(Pieces{starts[side], lengths[side]}, some, out[side] + rows);
                else if (ids.range)
                    ids.range->find(numbers[side], some, out[side] + rows);
                else
                    ids.numbers->find(Numbers{numbers[side]}, some, out[side] + rows);
                for (int64_t k = 0; k < some; ++k)
                    if (out[side][rows + k] < 0) return -1;
            }
            rows += some;
        }
        return rows;
    }
};

}  // namespace

// Known ids, each of them once; null when memory is short. The caller keeps the arrays until glognn_ids_free.
API void* glognn_ids_numbers(const int64_t* values, int64_t count) try {
    const auto ends = std::minmax_element(values, values + count);
    const uint64_t span = static_cast<uint64_t>(*ends.second) - static_cast<uint64_t>(*ends.first);
    auto ids = std::make_unique<Ids>();
    if (span < static_cast<uint64_t>(SPARSEST * count))
        ids->range = std::make_unique<Range>(values, count, *ends.first, span + 1);
    else
        ids->numbers = std::make_unique<Table<Numbers>>(Numbers{values}, count);
    return ids.release();
} catch (const std::exception&) {
    return nullptr;
}

API void* glognn_ids_text(const int32_t* offsets, const char* bytes, int64_t count) try {
    auto ids = std::make_unique<Ids>();
    ids->text = std::make_unique<Table<Text>>(Text{offsets, bytes}, count);
    return ids.release();
} catch (const std::exception&) {
    return nullptr;
}

API void glognn_ids_free(void* ids) { delete static_cast<Ids*>(ids); }

// The place of each value, -1 where it is none of the ids.
API void glognn_find_numbers(const void* handle, const int64_t* values, int64_t count, int64_t* out) {
    const Ids& ids = *static_cast<const Ids*>(handle);
    ids.range ? ids.range->find(values, count, out) : ids.numbers->find(Numbers{values}, count, out);
}

API void glognn_find_text(
    const void* handle, const int32_t* offsets, const char* bytes, int64_t count, int64_t* out) {
    static_cast<const Ids*>(handle)->text->find(Text{offsets, bytes}, count, out);
}

// Lines between two places; the last one need not end.
API int64_t glognn_count_lines(const char* text, int64_t size) {
    int64_t found = std::count(text, text + size, '\n');
    return found + (size && text[size - 1] != '\n');
}

// Two columns of a table of text, looked up: rows read, or -1 where something is not plain or not known.
API int64_t glognn_read_rows(const void* ids, const char* text, int64_t size, int64_t delimiter, int64_t columns,
                             int64_t first, int64_t second, int64_t* out_first, int64_t* out_second) {
    const Rows rows{*static_cast<const Ids*>(ids), static_cast<char>(delimiter), static_cast<int>(columns),
                    {static_cast<int>(first), static_cast<int>(second)}};
    int64_t* const out[2] = {out_first, out_second};
    return rows.read(text, text + size, out);
}
