// Training of many GloGNN models at once on a CPU: forward, backward written by hand, and Adam.
//
// The mathematics is that of nn/encoder.py, nn/hops.py, nn/global_homophily.py and models/glognn.py with two encoder
// layers fused at the hidden one. The interface is plain C and uses no header of Python or torch; all parameters and
// moments belong to the caller. One file, compiled once for each level of vector instructions.
//
// Layout. Everything is stored in vectors of 16 floats. The encoder runs member after member: hidden values and input
// weights lie in panels of 16 columns. The closed-form layers run on members side by side: a vector holds the c
// columns of 16 / c members ("slots"), which fill it in hops, Gram matrices and c x c products. With dropout a member
// has one more slot for its evaluation, which needs the same weights as the next step. Lanes never mix members, and a
// sum has one order: a member's bits do not depend on its neighbours or on the number of threads.

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define API extern "C" __attribute__((visibility("default")))
#define INLINE inline __attribute__((always_inline))

namespace {

// ---------------------------------------------------------------------------------------------- vectors

constexpr int LANES = 16;
#if defined(__AVX512F__)
constexpr int REGISTER = 64;  // bytes
#elif defined(__AVX2__)
constexpr int REGISTER = 32;
#else
constexpr int REGISTER = 16;
#endif
typedef float Floats __attribute__((vector_size(REGISTER), may_alias));
typedef int32_t Ints __attribute__((vector_size(REGISTER), may_alias));
typedef uint32_t Uints __attribute__((vector_size(REGISTER), may_alias));
typedef double Reals __attribute__((vector_size(REGISTER), may_alias));

struct alignas(64) Integers {
    int32_t at[LANES];
    int32_t& operator[](int k) { return at[k]; }
};

#if defined(__AVX512F__)

typedef Floats Vector;
typedef Uints Words;
typedef Reals Doubles;

#else

// Where registers are shorter a vector is two of half its length: one of 64 bytes would be kept in memory.
template <class T> struct Two {
    T a, b;
    float operator[](int k) const { return reinterpret_cast<const float*>(this)[k]; }
    float& operator[](int k) { return reinterpret_cast<float*>(this)[k]; }
};

#define PAIRWISE(op)                                                                                                   \
    template <class T> INLINE Two<T> operator op(const Two<T>& x, const Two<T>& y) {                                   \
        return {x.a op y.a, x.b op y.b};                                                                               \
    }                                                                                                                  \
    template <class T> INLINE Two<T> operator op(const Two<T>& x, float y) { return {x.a op y, x.b op y}; }            \
    template <class T> INLINE Two<T>& operator op##=(Two<T>& x, const Two<T>& y) { return x = x op y; }
#define BITWISE(op, S)                                                                                                 \
    template <class T> INLINE Two<T> operator op(const Two<T>& x, S y) { return {x.a op y, x.b op y}; }
PAIRWISE(+)
PAIRWISE(-)
PAIRWISE(*)
PAIRWISE(/)
#undef PAIRWISE
BITWISE(<<, int)
BITWISE(>>, int)
BITWISE(&, uint32_t)
#undef BITWISE
template <class T> INLINE Two<T> operator|(const Two<T>& x, const Two<T>& y) { return {x.a | y.a, x.b | y.b}; }
template <class T> INLINE Two<T> operator^(const Two<T>& x, const Two<T>& y) { return {x.a ^ y.a, x.b ^ y.b}; }
template <class T> INLINE Two<T>& operator^=(Two<T>& x, const Two<T>& y) { return x = x ^ y; }
template <class T> INLINE Two<T> operator*(float x, const Two<T>& y) { return y * x; }
template <class T> INLINE Two<T> operator-(const Two<T>& x) { return {-x.a, -x.b}; }

#if defined(__AVX2__)
typedef Two<Floats> Vector;
typedef Two<Uints> Words;
typedef Two<Reals> Doubles;
#else
typedef Two<Two<Floats>> Vector;
typedef Two<Two<Uints>> Words;
typedef Two<Two<Reals>> Doubles;
#endif

#endif

// Each of these is written for one register, and for two halves by halves.
template <class T> struct Part {
    static constexpr int SIZE = sizeof(T) / sizeof(float);
    static INLINE T load(const float* p) { return *reinterpret_cast<const T*>(p); }
    static INLINE void store(float* p, T v) { *reinterpret_cast<T*>(p) = v; }
    template <class S> static INLINE T splat(S x) {
#if defined(__AVX512F__)
        return T{x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
#elif defined(__AVX2__)
        return T{x, x, x, x, x, x, x, x};
#else
        return T{x, x, x, x};
#endif
    }
    // The lanes of v whose bit is set; 0 elsewhere.
    static INLINE T chosen(uint32_t bits, T v) {
#if defined(__AVX512F__)
        return (T)_mm512_maskz_mov_ps((__mmask16)bits, (__m512)v);
#else
#if defined(__AVX2__)
        const Uints lanes = {1, 2, 4, 8, 16, 32, 64, 128};
#else
        const Uints lanes = {1, 2, 4, 8};
#endif
        return (lanes & bits) != 0 ? v : T{};
#endif
    }
    static INLINE T where_open(T before, T value) { return before <= 0 ? T{} : value; }
    static INLINE T larger(T x, T y) { return x < y ? y : x; }
    static INLINE T exponential(T x) {
        x = x < -87.0f ? splat(-87.0f) : x;
        const T shift = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to a whole number
        const T shifted = x * 1.44269504f + shift;
        const T whole = shifted - shift;
        const T r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
        T p = splat(1.9875691500e-4f);
        p = p * r + 1.3981999507e-3f;
        p = p * r + 8.3334519073e-3f;
        p = p * r + 4.1665795894e-2f;
        p = p * r + 1.6666665459e-1f;
        p = p * r + 5.0000001201e-1f;
        p = p * r * r + r + 1.0f;
        const Ints exponent = ((Ints)shifted - (Ints)shift + 127) << 23;
        return p * (T)exponent;
    }
    static INLINE T root(T v) {
#if defined(__AVX512F__)
        return (T)_mm512_sqrt_ps((__m512)v);
#elif defined(__AVX2__)
        return (T)_mm256_sqrt_ps((__m256)v);
#elif defined(__x86_64__)
        return (T)_mm_sqrt_ps((__m128)v);
#else
        for (int k = 0; k < SIZE; ++k) v[k] = __builtin_sqrtf(v[k]);
        return v;
#endif
    }
};

#if !defined(__AVX512F__)
template <class T> struct Part<Two<T>> {
    typedef Two<T> V;
    typedef Part<T> Half;
    static constexpr int SIZE = 2 * Half::SIZE;
    static INLINE V load(const float* p) { return {Half::load(p), Half::load(p + Half::SIZE)}; }
    static INLINE void store(float* p, const V& v) {
        Half::store(p, v.a);
        Half::store(p + Half::SIZE, v.b);
    }
    template <class S> static INLINE V splat(S x) { return {Half::splat(x), Half::splat(x)}; }
    static INLINE V chosen(uint32_t bits, const V& v) {
        return {Half::chosen(bits, v.a), Half::chosen(bits >> Half::SIZE, v.b)};
    }
    static INLINE V where_open(const V& before, const V& value) {
        return {Half::where_open(before.a, value.a), Half::where_open(before.b, value.b)};
    }
    static INLINE V larger(const V& x, const V& y) { return {Half::larger(x.a, y.a), Half::larger(x.b, y.b)}; }
    static INLINE V exponential(const V& x) { return {Half::exponential(x.a), Half::exponential(x.b)}; }
    static INLINE V root(const V& x) { return {Half::root(x.a), Half::root(x.b)}; }
};
#endif

INLINE Vector load(const float* p) { return Part<Vector>::load(p); }
INLINE void store(float* p, Vector v) { Part<Vector>::store(p, v); }
INLINE Vector splat(float x) { return Part<Vector>::splat(x); }
INLINE Words splat_word(uint32_t x) { return Part<Words>::splat(x); }

INLINE Vector permute(Vector v, const Integers& lanes) {
#if defined(__AVX512F__)
    return (Vector)_mm512_permutexvar_ps(_mm512_load_si512(lanes.at), (__m512)v);
#elif defined(__AVX2__)
    const auto half = [&](const int32_t* wanted) {
        const __m256i places = _mm256_load_si256(reinterpret_cast<const __m256i*>(wanted));
        const __m256 low = _mm256_permutevar8x32_ps((__m256)v.a, places);
        const __m256 high = _mm256_permutevar8x32_ps((__m256)v.b, places);
        return (Floats)_mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(places, 28)));
    };
    return {half(lanes.at), half(lanes.at + 8)};
#else
    alignas(64) float from[LANES], to[LANES];
    store(from, v);
    for (int k = 0; k < LANES; ++k) to[k] = from[lanes.at[k]];
    return load(to);
#endif
}

INLINE Vector chosen(uint32_t bits, Vector v) { return Part<Vector>::chosen(bits, v); }

// One bit per lane: whether x < limit, for values below 2^16.
INLINE uint32_t below(Words x, Words limit) {
#if defined(__AVX512F__)
    return _mm512_cmplt_epu32_mask((__m512i)x, (__m512i)limit);
#elif defined(__AVX2__)
    const int low = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32((__m256i)limit.a, (__m256i)x.a)));
    const int high = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32((__m256i)limit.b, (__m256i)x.b)));
    return static_cast<uint32_t>(low | high << 8);
#else
    uint32_t a[LANES], b[LANES], bits = 0;
    std::memcpy(a, &x, sizeof a);
    std::memcpy(b, &limit, sizeof b);
    for (int k = 0; k < LANES; ++k) bits |= static_cast<uint32_t>(a[k] < b[k]) << k;
    return bits;
#endif
}

// relu that lets NaN through, as torch's does.
INLINE Vector rectified(Vector v) { return Part<Vector>::where_open(v, v); }

// `value` where the unit is open: positive before the nonlinearity and not dropped.
INLINE Vector gated(Vector before, uint32_t kept, Vector value) {
    return chosen(kept, Part<Vector>::where_open(before, value));
}

// out[k] = the sum over the lanes of v[k], for 16 vectors at once.
INLINE Vector sums(const Vector* v) {
#if defined(__AVX512F__)
    __m512 a[8], b[4], c[2];
    for (int k = 0; k < 8; ++k)
        a[k] = _mm512_add_ps(_mm512_unpacklo_ps((__m512)v[2 * k], (__m512)v[2 * k + 1]),
                             _mm512_unpackhi_ps((__m512)v[2 * k], (__m512)v[2 * k + 1]));
    for (int k = 0; k < 4; ++k)
        b[k] = _mm512_add_ps(_mm512_shuffle_ps(a[2 * k], a[2 * k + 1], 0x44),
                             _mm512_shuffle_ps(a[2 * k], a[2 * k + 1], 0xEE));
    for (int k = 0; k < 2; ++k)
        c[k] = _mm512_add_ps(_mm512_shuffle_f32x4(b[2 * k], b[2 * k + 1], 0x88),
                             _mm512_shuffle_f32x4(b[2 * k], b[2 * k + 1], 0xDD));
    return (Vector)_mm512_add_ps(_mm512_shuffle_f32x4(c[0], c[1], 0x88), _mm512_shuffle_f32x4(c[0], c[1], 0xDD));
#elif defined(__AVX2__)
    const auto half = [](const Vector* w) {
        __m256 t[8];
        for (int k = 0; k < 8; ++k) t[k] = _mm256_add_ps((__m256)w[k].a, (__m256)w[k].b);
        const __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(t[0], t[1]), _mm256_hadd_ps(t[2], t[3]));
        const __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(t[4], t[5]), _mm256_hadd_ps(t[6], t[7]));
        return (Floats)_mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
    };
    return {half(v), half(v + 8)};
#else
    alignas(64) float out[LANES];
    for (int k = 0; k < LANES; ++k) {
        alignas(64) float x[LANES];
        store(x, v[k]);
        for (int step = LANES / 2; step; step /= 2)
            for (int j = 0; j < step; ++j) x[j] += x[j + step];
        out[k] = x[0];
    }
    return load(out);
#endif
}

INLINE void widen(Vector v, Doubles& low, Doubles& high) {
#if defined(__AVX512F__)
    low = (Doubles)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v));
    high = (Doubles)_mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd((__m512)v), 1)));
#elif defined(__AVX2__)
    const auto both = [](__m256 x) -> Doubles {
        return {(Reals)_mm256_cvtps_pd(_mm256_castps256_ps128(x)), (Reals)_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))};
    };
    low = both((__m256)v.a);
    high = both((__m256)v.b);
#else
    alignas(64) float x[LANES];
    double y[LANES];
    store(x, v);
    for (int k = 0; k < LANES; ++k) y[k] = static_cast<double>(x[k]);
    std::memcpy(&low, y, sizeof low);
    std::memcpy(&high, y + LANES / 2, sizeof high);
#endif
}

INLINE double entry(const Doubles& v, int k) { return reinterpret_cast<const double*>(&v)[k]; }

INLINE Vector larger(Vector a, Vector b) { return Part<Vector>::larger(a, b); }

// e^x for x <= 0, to about one unit in the last place (Cody-Waite reduction, polynomial of degree 6); keeps NaN.
INLINE Vector exponential(Vector x) { return Part<Vector>::exponential(x); }

// m / (sqrt(v) * scale + eps) to float32 rounding.
INLINE Vector normalized(Vector m, Vector v, Vector scale, Vector eps) {
#if defined(__AVX512F__)
    const __m512 x = _mm512_max_ps((__m512)v, _mm512_set1_ps(1.2e-38f));
    const __m512 r = _mm512_rsqrt14_ps(x);
    __m512 root = _mm512_mul_ps(x, r);
    root = _mm512_fmadd_ps(_mm512_mul_ps(r, _mm512_set1_ps(0.5f)), _mm512_fnmadd_ps(root, root, x), root);
    const __m512 bottom = _mm512_fmadd_ps(root, (__m512)scale, (__m512)eps);
    __m512 inverse = _mm512_rcp14_ps(bottom);
    inverse = _mm512_fmadd_ps(inverse, _mm512_fnmadd_ps(bottom, inverse, _mm512_set1_ps(1.0f)), inverse);
    return m * (Vector)inverse;
#else
    return m / (Part<Vector>::root(v) * scale + eps);
#endif
}

// Tiny numbers count as 0 while this lives: arithmetic with them is a hundred times slower, and no result shows them.
struct FlushTiny {
#if defined(__x86_64__)
    unsigned before = _mm_getcsr();
    FlushTiny() { _mm_setcsr(before | 0x8040); }
    ~FlushTiny() { _mm_setcsr(before); }
#else
    FlushTiny() {}
    ~FlushTiny() {}
#endif
};

constexpr size_t HUGE_PAGE = 2 << 20;

// Zeroed floats on a 64-byte boundary, in huge pages where there are enough of them.
struct Buffer {
    float* data = nullptr;
    Buffer() = default;
    explicit Buffer(size_t count) { resize(count); }
    Buffer(Buffer&& other) noexcept : data(other.data) { other.data = nullptr; }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { std::free(data); }
    void resize(size_t count) {
        std::free(data);
        const size_t page = count * sizeof(float) < HUGE_PAGE ? 4096 : HUGE_PAGE;
        const size_t bytes = (count * sizeof(float) + page - 1) / page * page + (page == 4096 ? page : 0);
        data = static_cast<float*>(std::aligned_alloc(page, bytes));
        if (!data) throw std::bad_alloc();
#if defined(__linux__)
        if (page == HUGE_PAGE) madvise(data, bytes, MADV_HUGEPAGE);
#endif
        std::memset(data, 0, bytes);
    }
    operator float*() { return data; }
};

// ---------------------------------------------------------------------------------------------- interface

struct Matrix {  // compressed rows, as torch stores them
    int64_t rows, columns;
    const int32_t* starts;
    const int32_t* indices;
    const float* values;
};

struct Member {
    double learning_rate, weight_decay, alpha, beta1, beta2, gamma, dropout;
    int64_t decoupled;  // weight decay apart from the gradient (AdamW)
    uint64_t seed;
    int64_t train_count, val_count, test_count;
    const int64_t *train_nodes, *val_nodes, *test_nodes;
};

enum Coefficient : int64_t { PLAIN = 0, EXACT = 1, RELEASED = 2 };

struct Problem {
    int64_t nodes, classes, hidden, layers, hops, members, threads, coefficient, uses_features, uses_adjacency;
    Matrix features, features_transposed, adjacency, adjacency_transposed;
    const int64_t* labels;
    const Member* settings;
    float *weights, *first, *second;  // members x parameters
    int64_t* steps;                   // steps taken, for each member
    float* logits;                    // members x nodes x classes
};

constexpr int MAX_CLASSES = LANES;

// Where a member's parameters lie. Input weights are stored in panels of 16 columns, rows of the head (transposed) one
// after the other; both are padded with zeros, which stay zero.
struct Layout {
    int64_t stride, features, adjacency, head, features_bias, adjacency_bias, head_bias, hops, scale, total;
    explicit Layout(const Problem& p) {
        stride = (p.hidden + LANES - 1) / LANES * LANES;
        features = 0;
        adjacency = features + (p.uses_features ? p.features.columns * stride : 0);
        head = adjacency + (p.uses_adjacency ? p.nodes * stride : 0);
        features_bias = head + p.classes * stride;
        adjacency_bias = features_bias + (p.uses_features ? stride : 0);
        head_bias = adjacency_bias + (p.uses_adjacency ? stride : 0);
        hops = head_bias + LANES;
        scale = hops + (p.hops + LANES - 1) / LANES * LANES;
        total = scale + (p.coefficient == PLAIN ? 0 : LANES);
    }
};

// ---------------------------------------------------------------------------------------------- sparse products

// A matrix cut into blocks of columns, so that the rows of the dense factor that a block reads stay in the cache.
struct Blocks {
    std::vector<Matrix> parts;
    std::vector<std::vector<int32_t>> starts, indices;
    std::vector<std::vector<float>> values;

    void build(const Matrix& m, int64_t row_bytes, int64_t cache_bytes) {
        const int64_t entries = m.starts[m.rows];
        const int64_t width = std::max<int64_t>(cache_bytes / row_bytes, 1);
        const int64_t count = (m.columns + width - 1) / width;
        if (count <= 1 || entries < 6 * m.rows * count) {
            parts.push_back(m);
            return;
        }
        const int64_t even = (m.columns + count - 1) / count;
        starts.resize(count);
        indices.resize(count);
        values.resize(count);
        for (int64_t b = 0; b < count; ++b) starts[b].reserve(m.rows + 1), starts[b].push_back(0);
        for (int64_t i = 0; i < m.rows; ++i) {
            for (int32_t e = m.starts[i]; e < m.starts[i + 1]; ++e) {
                const int64_t b = m.indices[e] / even;
                indices[b].push_back(m.indices[e]);
                values[b].push_back(m.values[e]);
            }
            for (int64_t b = 0; b < count; ++b) starts[b].push_back(static_cast<int32_t>(indices[b].size()));
        }
        for (int64_t b = 0; b < count; ++b)
            parts.push_back({m.rows, m.columns, starts[b].data(), indices[b].data(), values[b].data()});
    }
};

// Calls row(i, sum over entries (i, j) of value * source[j]) with P vectors per row: rows of the source are `stride`
// floats apart, the vectors of a row `step`. Entries at even and odd places are summed apart, whatever P is.
template <int P, class Row>
INLINE void multiply(const Matrix& m, const float* source, int64_t stride, int64_t step, Row&& row) {
    const int32_t *const starts = m.starts, *const indices = m.indices;
    const float* const values = m.values;
    const int64_t rows = m.rows;
    int32_t e = starts[0];
    for (int64_t i = 0; i < rows; ++i) {
        Vector even[P], odd[P];
        for (int p = 0; p < P; ++p) even[p] = odd[p] = splat(0);
        const int32_t end = starts[i + 1];
        for (; e + 1 < end; e += 2) {
            const float* a = source + indices[e] * stride;
            const float* b = source + indices[e + 1] * stride;
            const Vector x = splat(values[e]), y = splat(values[e + 1]);
            for (int p = 0; p < P; ++p) {
                even[p] += x * load(a + p * step);
                odd[p] += y * load(b + p * step);
            }
        }
        if (e < end) {
            const float* a = source + indices[e] * stride;
            const Vector x = splat(values[e]);
            for (int p = 0; p < P; ++p) even[p] += x * load(a + p * step);
            ++e;
        }
        for (int p = 0; p < P; ++p) even[p] += odd[p];
        row(i, even);
    }
}

template <int P>
using Count = std::integral_constant<int, P>;

constexpr int TOGETHER = 4;  // panels in one pass over the entries of a matrix

// Calls body(integral constant P, first panel) for all panels, up to four at a time.
template <class Body>
INLINE void by_panels(int64_t panels, Body&& body) {
    int64_t done = 0;
    for (; panels - done >= TOGETHER; done += TOGETHER) body(Count<TOGETHER>(), done);
    for (; panels - done >= 2; done += 2) body(Count<2>(), done);
    for (; panels - done >= 1; ++done) body(Count<1>(), done);
}

// ---------------------------------------------------------------------------------------------- optimiser

struct Adam {
    static constexpr double BETA1 = 0.9, BETA2 = 0.999;
    Vector l2, shrink, size, root_scale, eps;

    Adam(const Member& s, int64_t step) {
        const double rate = s.learning_rate / (1 - std::pow(BETA1, step));
        l2 = splat(s.decoupled ? 0.0f : static_cast<float>(s.weight_decay));
        shrink = splat(s.decoupled ? static_cast<float>(1 - s.learning_rate * s.weight_decay) : 1.0f);
        size = splat(static_cast<float>(rate));
        root_scale = splat(static_cast<float>(1 / std::sqrt(1 - std::pow(BETA2, step))));
        eps = splat(1e-8f);
    }

    // Updates 16 parameters and gives their new values.
    INLINE Vector update(float* weight, float* first, float* second, Vector gradient) const {
        Vector w = load(weight);
        const Vector g = gradient + l2 * w;
        const Vector m = load(first) * static_cast<float>(BETA1) + g * static_cast<float>(1 - BETA1);
        const Vector v = load(second) * static_cast<float>(BETA2) + g * g * static_cast<float>(1 - BETA2);
        w = w * shrink - size * normalized(m, v, root_scale, eps);
        store(first, m);
        store(second, v);
        store(weight, w);
        return w;
    }
};

// ---------------------------------------------------------------------------------------------- dropout

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

// ---------------------------------------------------------------------------------------------- c x c algebra

struct Square {  // c x c in float64, row by row
    double a[MAX_CLASSES * MAX_CLASSES];
};

// out = a b, with either factor transposed on demand through its strides.
INLINE void product(int c, const double* a, int ai, int ak, const double* b, int bk, int bj, double* out) {
    for (int i = 0; i < c; ++i) {
        double row[MAX_CLASSES] = {};
        for (int k = 0; k < c; ++k) {
            const double x = a[i * ai + k * ak];
            for (int j = 0; j < c; ++j) row[j] += x * b[k * bk + j * bj];
        }
        for (int j = 0; j < c; ++j) out[i * c + j] = row[j];
    }
}

// The inverse of a symmetric positive definite matrix by Cholesky; NaN throughout when it is not one.
void invert(int c, const double* a, double* inverse) {
    double l[MAX_CLASSES * MAX_CLASSES], li[MAX_CLASSES * MAX_CLASSES] = {};
    for (int j = 0; j < c; ++j) {
        double d = a[j * c + j];
        for (int k = 0; k < j; ++k) d -= l[j * c + k] * l[j * c + k];
        if (!(d > 0) || !std::isfinite(d)) {
            for (int k = 0; k < c * c; ++k) inverse[k] = std::numeric_limits<double>::quiet_NaN();
            return;
        }
        const double root = std::sqrt(d), over = 1 / root;
        l[j * c + j] = over;  // the diagonal holds its inverse
        for (int i = j + 1; i < c; ++i) {
            double x = a[i * c + j];
            for (int k = 0; k < j; ++k) x -= l[i * c + k] * l[j * c + k];
            l[i * c + j] = x * over;
        }
    }
    for (int j = 0; j < c; ++j) {
        li[j * c + j] = l[j * c + j];
        for (int i = j + 1; i < c; ++i) {
            double x = 0;
            for (int k = j; k < i; ++k) x -= l[i * c + k] * li[k * c + j];
            li[i * c + j] = x * l[i * c + i];
        }
    }
    for (int i = 0; i < c; ++i)
        for (int j = 0; j <= i; ++j) {
            double x = 0;
            for (int k = i; k < c; ++k) x += li[k * c + i] * li[k * c + j];
            inverse[i * c + j] = inverse[j * c + i] = x;
        }
}

// ---------------------------------------------------------------------------------------------- slots of a vector

// Which lane belongs to which column of which slot, for c columns.
struct Lanes {
    int c, slots;
    Integers column[MAX_CLASSES];   // lane (m, k) -> lane (m, j)
    Integers rotated[MAX_CLASSES];  // lane (m, k) -> lane (m, (k + r) mod c)

    explicit Lanes(int classes) : c(classes), slots(LANES / classes) {
        for (int j = 0; j < c; ++j)
            for (int lane = 0; lane < LANES; ++lane) {
                const bool used = lane < slots * c;
                const int base = lane / c * c;
                column[j][lane] = used ? base + j : lane;
                rotated[j][lane] = used ? base + (lane - base + j) % c : lane;
            }
    }
};

// sum over j of (column j of each slot) * coefficients[j]: every slot's row times its own c x c matrix.
template <int N>
INLINE Vector mixed(const Lanes& lanes, Vector row, const Vector* coefficients) {
    const int C = N ? N : lanes.c;
    Vector out = permute(row, lanes.column[0]) * coefficients[0];
    for (int j = 1; j < C; ++j) out += permute(row, lanes.column[j]) * coefficients[j];
    return out;
}

// The small matrices of one layer for the slots of one vector.
struct Small {
    Vector to_q[MAX_CLASSES], to_mixed[MAX_CLASSES];                              // forward
    Vector from_q[MAX_CLASSES], from_mixed[MAX_CLASSES], from_gram[MAX_CLASSES];  // backward
    Square gram[LANES / 2], inverse[LANES / 2];
};

struct Slot {
    int member;  // within the group
    bool training;
};

constexpr int BLOCK_ROWS = 256;  // rows summed in float32 before the sum moves to float64

struct Scratch {
    Buffer reach, reach_other, gradient, gradient_initial, gradient_q, spare;
    Buffer head, columns;  // gradients of the head (classes x stride) and of the hidden bias
    Buffer partial;        // gradient of input weights, when a product runs in several blocks
};

struct Engine;

// Members whose closed-form layers run side by side.
struct Group {
    Engine& engine;
    int first, count;
    std::vector<Slot> slots;
    int vectors = 0, training_vectors = 0;
    std::vector<int> evaluation;  // slot of each member
    std::vector<Buffer> embeddings, reached_from;
    std::vector<Small> small;  // layer after layer, vector after vector
    Buffer lane_gamma, lane_beta2, lane_hops, lane_scale, lane_share;
    std::vector<uint16_t> train_bits, label_bits;  // rows x training vectors

    Group(Engine& engine, int first, int count);
    void encode();
    void forward(Scratch&);
    void step(Scratch&, double* losses);

  private:
    template <int N> void layers_forward(Scratch&);
    template <int N> void layers_backward(Scratch&, double* losses, double* hop_gradients, double* scale_gradients);
    template <int N> void loss(Scratch&, double* losses);
    void read_parameters();
    void solve(int layer);
    template <int P> void hops_forward(Scratch&, const float* Q, float* target);
    template <int P> void hops_backward(Scratch&, const float* Q, double* lambda);
};

struct Pool {
    std::vector<std::thread> threads;
    std::mutex mutex;
    std::condition_variable start, finish;
    const std::function<void(int, int)>* task = nullptr;
    int tasks = 0, busy = 0;
    int64_t round = 0;
    std::atomic<int> next{0};
    bool stop = false;

    explicit Pool(int count) {
        for (int worker = 1; worker < count; ++worker) threads.emplace_back([this, worker] { serve(worker); });
    }
    ~Pool() {
        {
            std::lock_guard<std::mutex> lock(mutex);
            stop = true;
        }
        start.notify_all();
        for (auto& thread : threads) thread.join();
    }
    void work(int worker) {
        FlushTiny flush;
        for (int t = next++; t < tasks; t = next++) (*task)(worker, t);
    }
    void serve(int worker) {
        int64_t seen = 0;
        std::unique_lock<std::mutex> lock(mutex);
        for (;;) {
            start.wait(lock, [&] { return stop || round != seen; });
            if (stop) return;
            seen = round;
            lock.unlock();
            work(worker);
            lock.lock();
            if (--busy == 0) finish.notify_one();
        }
    }
    void run(int count, const std::function<void(int, int)>& body) {
        {
            std::lock_guard<std::mutex> lock(mutex);
            task = &body;
            tasks = count;
            next = 0;
            busy = static_cast<int>(threads.size());
            ++round;
        }
        start.notify_all();
        work(0);
        std::unique_lock<std::mutex> lock(mutex);
        finish.wait(lock, [&] { return busy == 0; });
    }
};

struct Engine {
    Problem problem;
    Layout layout;
    Lanes lanes;
    std::vector<Member> settings;
    int64_t n, stride, width;  // width: vectors in a row of hidden values
    int c;
    Blocks features, features_transposed, adjacency, adjacency_transposed;
    std::vector<Buffer> hidden;                // before the nonlinearity; its gradient during a step
    std::vector<std::vector<uint16_t>> masks;  // kept hidden values, for the next step
    std::vector<Scratch> scratch;
    std::vector<Group> groups;
    Pool pool;

    explicit Engine(const Problem& given);

    float* weights(int b) { return problem.weights + b * layout.total; }
    float* first(int b) { return problem.first + b * layout.total; }
    float* second(int b) { return problem.second + b * layout.total; }

    template <int P> void encode(int b, int64_t panel);
    void encode(int b);
    template <int N> void head(int b, float* embedding, int64_t row, int training, int evaluation);
    template <int N> void head_backward(int b, const float* gradient, int64_t row, int slot, Scratch&, Vector& bias);
    template <int P> void update_inputs(int b, int64_t panel, const Adam&, Scratch&);
    void update_inputs(int b, const Adam&, Scratch&);
    void forward();
    void step(double* losses);
    void measure(int b, double* out) const;
    void measure(double* out);
};

// Code for the usual numbers of classes, and for any number (0); where vectors are narrow, for any number alone.
#if defined(__AVX2__)
#define BY_CLASSES(c, call)     \
    switch (c) {                \
        case 2: call(2); break; \
        case 3: call(3); break; \
        case 4: call(4); break; \
        case 5: call(5); break; \
        case 6: call(6); break; \
        case 7: call(7); break; \
        default: call(0);       \
    }
#else
#define BY_CLASSES(c, call) call(0);
#endif

#define BY_VECTORS(count, call) \
    if (count == 1) {           \
        call(1);                \
    } else {                    \
        call(2);                \
    }

// ---------------------------------------------------------------------------------------------- encoder

// hidden = w_X (X W_X + b_X) + w_A (A W_A + b_A), before the nonlinearity, in P panels.
template <int P>
void Engine::encode(int b, int64_t panel) {
    const float* w = weights(b);
    const double alpha = settings[b].alpha;
    const float share = static_cast<float>(alpha), rest = static_cast<float>(1 - alpha);
    const int64_t step = n * LANES;
    float* target = hidden[b] + panel * step;
    Vector bias[P];
    for (int p = 0; p < P; ++p) {
        bias[p] = splat(0);
        const int64_t place = (panel + p) * LANES;
        if (problem.uses_features) bias[p] += rest * load(w + layout.features_bias + place);
        if (problem.uses_adjacency) bias[p] += share * load(w + layout.adjacency_bias + place);
    }
    bool begun = false;
    const auto add = [&](const Blocks& blocks, const float* source, int64_t rows, float factor) {
        const Vector times = splat(factor);
        source += panel * rows * LANES;
        for (const Matrix& part : blocks.parts) {
            if (begun)
                multiply<P>(part, source, LANES, rows * LANES, [&](int64_t i, const Vector* total) {
                    float* out = target + i * LANES;
                    for (int p = 0; p < P; ++p) store(out + p * step, load(out + p * step) + times * total[p]);
                });
            else
                multiply<P>(part, source, LANES, rows * LANES, [&](int64_t i, const Vector* total) {
                    for (int p = 0; p < P; ++p) store(target + i * LANES + p * step, bias[p] + times * total[p]);
                });
            begun = true;
        }
    };
    if (problem.uses_features) add(features, w + layout.features, problem.features.columns, rest);
    if (problem.uses_adjacency) add(adjacency, w + layout.adjacency, n, share);
}

void Engine::encode(int b) {
    by_panels(width, [&](auto count, int64_t panel) { encode<decltype(count)::value>(b, panel); });
}

// The initial embedding into the slots `training` and `evaluation` (lanes; equal without dropout) of a group's rows.
template <int N>
void Engine::head(int b, float* embedding, int64_t row, int training, int evaluation) {
    constexpr int MOST = N ? N : MAX_CLASSES;
    const int C = N ? N : c;
    const float* w = weights(b) + layout.head;
    const float* bias = weights(b) + layout.head_bias;
    const float* before = hidden[b];
    constexpr bool PAIRS = MOST <= 8;
    if (training == evaluation) {
        const int64_t together = PAIRS ? 2 : 1;
        Vector total[LANES];
        for (int k = 0; k < LANES; ++k) total[k] = splat(0);
        for (int64_t i = 0; i < n; i += together) {
            const int64_t other = PAIRS && i + 1 < n ? i + 1 : i;
            for (int j = 0; j < C; ++j) total[j] = splat(0);
            if (PAIRS)
                for (int j = 0; j < C; ++j) total[(8 + j) % LANES] = splat(0);
            for (int64_t t = 0; t < width; ++t) {
                const Vector x = rectified(load(before + (t * n + i) * LANES));
                const Vector y = rectified(load(before + (t * n + other) * LANES));
                for (int j = 0; j < C; ++j) {
                    const Vector column = load(w + j * stride + t * LANES);
                    total[j] += x * column;
                    if (PAIRS) total[(8 + j) % LANES] += y * column;
                }
            }
            const Vector result = sums(total);
            for (int j = 0; j < C; ++j) embedding[i * row + training + j] = result[j] + bias[j];
            if (PAIRS)
                for (int j = 0; j < C; ++j) embedding[other * row + training + j] = result[(8 + j) % LANES] + bias[j];
        }
        return;
    }
    const uint16_t* kept = masks[b].data();
    const Vector scale = splat(static_cast<float>(1 / (1 - settings[b].dropout)));
    Vector total[LANES], dropped[LANES];
    for (int k = 0; k < LANES; ++k) total[k] = dropped[k] = splat(0);
    for (int64_t i = 0; i < n; ++i) {
        for (int j = 0; j < C; ++j) total[j] = dropped[j] = splat(0);
        for (int64_t t = 0; t < width; ++t) {
            const Vector x = rectified(load(before + (t * n + i) * LANES));
            const Vector y = chosen(kept[i * width + t], x * scale);
            for (int j = 0; j < C; ++j) {
                const Vector column = load(w + j * stride + t * LANES);
                total[j] += x * column;
                dropped[j] += y * column;
            }
        }
        Vector first_result, second_result;
        if (PAIRS) {
            for (int j = 0; j < C; ++j) total[(8 + j) % LANES] = dropped[j];
            first_result = sums(total);
            for (int j = 0; j < C; ++j) {
                embedding[i * row + evaluation + j] = first_result[j] + bias[j];
                embedding[i * row + training + j] = first_result[(8 + j) % LANES] + bias[j];
            }
        } else {
            first_result = sums(total);
            second_result = sums(dropped);
            for (int j = 0; j < C; ++j) {
                embedding[i * row + evaluation + j] = first_result[j] + bias[j];
                embedding[i * row + training + j] = second_result[j] + bias[j];
            }
        }
    }
}

// Replaces the hidden values by their gradients, and leaves the gradients of the head and of the hidden bias.
template <int N>
void Engine::head_backward(int b, const float* gradient, int64_t row, int slot, Scratch& scratch, Vector& bias) {
    constexpr int MOST = N ? N : MAX_CLASSES;
    const int C = N ? N : c;
    const float* w = weights(b) + layout.head;
    const bool dropping = settings[b].dropout > 0;
    const uint16_t* kept = masks[b].data();
    const Vector scale = splat(dropping ? static_cast<float>(1 / (1 - settings[b].dropout)) : 1.0f);
    float* values = hidden[b];
    std::memset(scratch.head, 0, C * stride * sizeof(float));
    std::memset(scratch.columns, 0, stride * sizeof(float));
    double bias_total[MOST] = {};
    for (int64_t begin = 0; begin < n; begin += BLOCK_ROWS) {
        const int64_t end = std::min<int64_t>(begin + BLOCK_ROWS, n);
        for (int64_t t = 0; t < width; ++t) {
            Vector to_hidden[MOST], to_head[MOST], column = splat(0);
            for (int j = 0; j < C; ++j) {
                to_hidden[j] = load(w + j * stride + t * LANES) * scale;
                to_head[j] = splat(0);
            }
            for (int64_t i = begin; i < end; ++i) {
                const float* g = gradient + i * row + slot;
                float* place = values + (t * n + i) * LANES;
                const uint32_t bits = dropping ? kept[i * width + t] : 0xFFFFu;
                const Vector before = load(place);
                const Vector after = gated(before, bits, before);
                Vector total = splat(0);
                for (int j = 0; j < C; ++j) {
                    const Vector each = splat(g[j]);
                    total += each * to_hidden[j];
                    to_head[j] += each * after;
                }
                total = gated(before, bits, total);
                store(place, total);
                column += total;
            }
            for (int j = 0; j < C; ++j) {
                float* out = scratch.head + j * stride + t * LANES;
                store(out, load(out) + to_head[j] * scale);
            }
            store(scratch.columns + t * LANES, load(scratch.columns + t * LANES) + column);
        }
        for (int64_t i = begin; i < end; ++i)
            for (int j = 0; j < C; ++j) bias_total[j] += gradient[i * row + slot + j];
    }
    bias = splat(0);
    for (int j = 0; j < C; ++j) bias[j] = static_cast<float>(bias_total[j]);
}

// Gradient and update of the input weights in P panels, row by row: the gradient never leaves the registers.
template <int P>
void Engine::update_inputs(int b, int64_t panel, const Adam& given, Scratch& scratch) {
    const Adam adam = given;
    const float* gradient = hidden[b] + panel * n * LANES;
    const auto update = [&](const Blocks& blocks, int64_t offset, int64_t rows, double share) {
        const Vector times = splat(static_cast<float>(share));
        const int64_t step = rows * LANES;
        offset += panel * step;
        float *const w = weights(b) + offset, *const m = first(b) + offset, *const v = second(b) + offset;
        float* const sums = scratch.partial;
        const size_t last = blocks.parts.size() - 1;
        for (size_t part = 0; part < last; ++part)
            multiply<P>(blocks.parts[part], gradient, LANES, n * LANES, [&](int64_t i, const Vector* total) {
                float* out = sums + i * LANES;
                for (int p = 0; p < P; ++p) store(out + p * step, part ? load(out + p * step) + total[p] : total[p]);
            });
        multiply<P>(blocks.parts[last], gradient, LANES, n * LANES, [&](int64_t i, const Vector* total) {
            for (int p = 0; p < P; ++p) {
                const int64_t at = i * LANES + p * step;
                const Vector all = last ? load(sums + at) + total[p] : total[p];
                adam.update(w + at, m + at, v + at, all * times);
            }
        });
    };
    if (problem.uses_features)
        update(features_transposed, layout.features, problem.features.columns, 1 - settings[b].alpha);
    if (problem.uses_adjacency) update(adjacency_transposed, layout.adjacency, n, settings[b].alpha);
}

// Some panels at a time: new weights are read again for the next hidden values while they are in the cache.
void Engine::update_inputs(int b, const Adam& adam, Scratch& scratch) {
    by_panels(width, [&](auto count, int64_t panel) {
        update_inputs<decltype(count)::value>(b, panel, adam, scratch);
        encode<decltype(count)::value>(b, panel);
    });
}

// ---------------------------------------------------------------------------------------------- layers

Group::Group(Engine& e, int first_member, int members) : engine(e), first(first_member), count(members) {
    const Problem& p = e.problem;
    const int per = e.lanes.slots;
    for (int b = 0; b < count; ++b) slots.push_back({b, true});
    training_vectors = (count + per - 1) / per;
    for (int b = 0; b < count; ++b) {
        evaluation.push_back(b);
        if (e.settings[first + b].dropout > 0) {
            evaluation[b] = static_cast<int>(slots.size());
            slots.push_back({b, false});
        }
    }
    vectors = (static_cast<int>(slots.size()) + per - 1) / per;
    const size_t row = static_cast<size_t>(vectors) * LANES;
    for (int64_t l = 0; l <= p.layers; ++l) embeddings.emplace_back(e.n * row);
    for (int64_t l = 0; l < p.layers; ++l) reached_from.emplace_back(p.hops ? e.n * row : 0);
    small.resize(p.layers * vectors);
    lane_gamma.resize(row);
    lane_beta2.resize(row);
    lane_hops.resize(row * p.hops);
    lane_scale.resize(row);
    lane_share.resize(row);
    train_bits.assign(e.n * training_vectors, 0);
    label_bits.assign(e.n * training_vectors, 0);
    for (size_t s = 0; s < slots.size(); ++s) {
        const Member& m = e.settings[first + slots[s].member];
        const int v = static_cast<int>(s) / per, lane = static_cast<int>(s) % per * e.c;
        for (int j = 0; j < e.c; ++j) {
            lane_gamma[v * LANES + lane + j] = static_cast<float>(m.gamma);
            lane_beta2[v * LANES + lane + j] = static_cast<float>(m.beta2);
            lane_share[v * LANES + lane + j] = 1.0f / static_cast<float>(m.train_count);
        }
        if (!slots[s].training) continue;
        for (int64_t k = 0; k < m.train_count; ++k) {
            const int64_t node = m.train_nodes[k];
            const int64_t at = node * training_vectors + v;
            train_bits[at] = static_cast<uint16_t>(train_bits[at] | ((1u << e.c) - 1u) << lane);
            label_bits[at] = static_cast<uint16_t>(label_bits[at] | 1u << (lane + p.labels[node]));
        }
    }
}

// lambda and S of every slot, spread over its lanes.
void Group::read_parameters() {
    const int per = engine.lanes.slots, c = engine.c;
    const int64_t row = vectors * LANES;
    for (size_t s = 0; s < slots.size(); ++s) {
        const float* w = engine.weights(first + slots[s].member);
        const int64_t lane = static_cast<int64_t>(s) / per * LANES + static_cast<int64_t>(s) % per * c;
        for (int j = 0; j < c; ++j) {
            for (int64_t k = 0; k < engine.problem.hops; ++k) lane_hops[k * row + lane + j] = w[engine.layout.hops + k];
            lane_scale[lane + j] = engine.problem.coefficient == PLAIN ? 1.0f : w[engine.layout.scale + j];
        }
    }
}

// From the Gram matrices to B and T of every slot.
void Group::solve(int layer) {
    const int per = engine.lanes.slots, c = engine.c;
    const int64_t coefficient = engine.problem.coefficient;
    for (size_t s = 0; s < slots.size(); ++s) {
        const Member& m = engine.settings[first + slots[s].member];
        const int v = static_cast<int>(s) / per, place = static_cast<int>(s) % per;
        Small& group = small[layer * vectors + v];
        const float* scale = lane_scale + v * LANES + place * c;
        const double rest = 1 - m.gamma, b = m.beta1 + m.beta2;
        double* G = group.gram[place].a;
        double* inverse = group.inverse[place].a;
        double system[MAX_CLASSES * MAX_CLASSES], B[MAX_CLASSES * MAX_CLASSES], T[MAX_CLASSES * MAX_CLASSES];
        if (coefficient == EXACT)
            for (int i = 0; i < c; ++i)
                for (int j = 0; j < c; ++j) G[i * c + j] *= static_cast<double>(scale[i]) * scale[j];
        for (int k = 0; k < c * c; ++k) system[k] = rest * rest * G[k];
        for (int k = 0; k < c; ++k) system[k * c + k] += b;
        invert(c, system, inverse);
        for (int k = 0; k < c * c; ++k) B[k] = rest * inverse[k];
        product(c, G, c, 1, B, c, 1, T);
        for (int i = 0; i < c; ++i)
            for (int j = 0; j < c; ++j) {
                const double si = scale[i], sj = scale[j];
                double x = B[i * c + j], y = T[i * c + j];
                if (coefficient == RELEASED) {
                    x *= sj;
                    y *= si * sj;
                }
                const int lane = place * c;
                group.to_q[i][lane + j] = static_cast<float>(coefficient == EXACT ? si * x : x);
                group.from_q[j][lane + i] = static_cast<float>(x);
                group.to_mixed[i][lane + j] = group.from_mixed[j][lane + i] = static_cast<float>(rest * y);
            }
    }
}

// target += beta2 P Q with P Q = A (lambda_1 Q + A (lambda_2 Q + ...)), from the inside out.
template <int P>
void Group::hops_forward(Scratch& scratch, const float* Q, float* target) {
    const Problem& problem = engine.problem;
    const int hops = static_cast<int>(problem.hops);
    const int64_t row = vectors * LANES;
    const float* source = Q;
    Vector factor[P], here[P];
    for (int p = 0; p < P; ++p) factor[p] = load(lane_hops + (hops - 1) * row + p * LANES);
    for (int k = hops - 2; k >= 0; --k) {
        float* out = source == scratch.reach.data ? scratch.reach_other : scratch.reach;
        for (int p = 0; p < P; ++p) here[p] = load(lane_hops + k * row + p * LANES);
        multiply<P>(problem.adjacency, source, row, LANES, [&](int64_t i, const Vector* total) {
            for (int p = 0; p < P; ++p)
                store(out + i * row + p * LANES, total[p] * factor[p] + here[p] * load(Q + i * row + p * LANES));
        });
        for (int p = 0; p < P; ++p) factor[p] = splat(1);
        source = out;
    }
    for (int p = 0; p < P; ++p) factor[p] *= load(lane_beta2 + p * LANES);
    multiply<P>(problem.adjacency, source, row, LANES, [&](int64_t i, const Vector* total) {
        float* out = target + i * row;
        for (int p = 0; p < P; ++p) store(out + p * LANES, load(out + p * LANES) + factor[p] * total[p]);
    });
}

// The gradient of Q, beta2 sum_k lambda_k (A^T)^k D, and for each hop and lane the sum over rows of ((A^T)^k D) * Q.
template <int P>
void Group::hops_backward(Scratch& scratch, const float* Q, double* lambda) {
    const Problem& problem = engine.problem;
    const int64_t row = vectors * LANES;
    constexpr int64_t SHORT = P * LANES;
    const float* source = scratch.gradient;
    float* DQ = scratch.gradient_q;
    for (int64_t k = 0; k < problem.hops; ++k) {
        float* target = source == scratch.reach.data ? scratch.reach_other : scratch.reach;
        Vector factor[P], part[P];
        for (int p = 0; p < P; ++p) {
            factor[p] = load(lane_beta2 + p * LANES) * load(lane_hops + k * row + p * LANES);
            part[p] = splat(0);
        }
        const auto flush = [&] {
            for (int p = 0; p < P; ++p) {
                for (int lane = 0; lane < LANES; ++lane)
                    lambda[(k * P + p) * LANES + lane] += static_cast<double>(part[p][lane]);
                part[p] = splat(0);
            }
        };
        multiply<P>(problem.adjacency_transposed, source, SHORT, LANES, [&](int64_t i, const Vector* total) {
            float *out = target + i * SHORT, *sum = DQ + i * SHORT;
            for (int p = 0; p < P; ++p) {
                store(out + p * LANES, total[p]);
                const Vector before = k ? load(sum + p * LANES) : splat(0);
                store(sum + p * LANES, before + factor[p] * total[p]);
                part[p] += total[p] * load(Q + i * row + p * LANES);
            }
            if (i % BLOCK_ROWS == BLOCK_ROWS - 1) flush();
        });
        flush();
        source = target;
    }
}

template <int N>
void Group::layers_forward(Scratch& scratch) {
    constexpr int MOST = N ? N : MAX_CLASSES;
    const int C = N ? N : engine.c;
    const int64_t n = engine.n, row = vectors * LANES;
    const Lanes& lanes = engine.lanes;
    const Problem& problem = engine.problem;
    const int hops = static_cast<int>(problem.hops);
    const int half = C / 2 + 1;
    for (int64_t layer = 0; layer < problem.layers; ++layer) {
        const float *H = embeddings[layer].data, *H0 = embeddings[0].data;
        float *next = embeddings[layer + 1], *Q = reached_from[layer];
        for (int v = 0; v < vectors; ++v) {
            Doubles low[MOST / 2 + 1], high[MOST / 2 + 1];
            for (int r = 0; r < half; ++r) low[r] = high[r] = Doubles{};
            for (int64_t i = 0; i < n; ++i) {
                const Vector x = load(H + i * row + v * LANES);
                Doubles x_low, x_high, y_low, y_high;
                widen(x, x_low, x_high);
                low[0] += x_low * x_low;
                high[0] += x_high * x_high;
                for (int r = 1; r < half; ++r) {
                    widen(permute(x, lanes.rotated[r]), y_low, y_high);
                    low[r] += x_low * y_low;
                    high[r] += x_high * y_high;
                }
            }
            Small& group = small[layer * vectors + v];
            for (int s = 0; s < lanes.slots; ++s)
                for (int r = 0; r < half; ++r)
                    for (int j = 0; j < C; ++j) {
                        const int lane = s * C + j, other = (j + r) % C;
                        const double value = entry(lane < 8 ? low[r] : high[r], lane % 8);
                        group.gram[s].a[j * C + other] = group.gram[s].a[other * C + j] = value;
                    }
        }
        solve(static_cast<int>(layer));
        for (int v = 0; v < vectors; ++v) {
            const Small& group = small[layer * vectors + v];
            const Vector g = load(lane_gamma + v * LANES);
            for (int64_t i = 0; i < n; ++i) {
                const int64_t at = i * row + v * LANES;
                const Vector x = load(H + at), x0 = load(H0 + at);
                store(next + at, mixed<N>(lanes, x - g * x0, group.to_mixed) + g * x0);
                if (hops) store(Q + at, mixed<N>(lanes, x, group.to_q));
            }
        }
        if (!hops) continue;
#define CALL(P) hops_forward<P>(scratch, Q, next)
        BY_VECTORS(vectors, CALL)
#undef CALL
    }
}

// The mean cross entropy of each member, and its gradient with respect to the class scores.
template <int N>
void Group::loss(Scratch& scratch, double* losses) {
    const int C = N ? N : engine.c;
    const int64_t n = engine.n, row = vectors * LANES, out_row = training_vectors * LANES;
    const Lanes& lanes = engine.lanes;
    const float* scores = embeddings.back().data;
    const int per = lanes.slots;
    for (int v = 0; v < training_vectors; ++v) {
        const Vector share = load(lane_share + v * LANES);
        double logs[LANES] = {}, gaps[LANES] = {}, products[LANES];
        for (double& x : products) x = 1;
        int waiting = 0;
        for (int64_t i = 0; i < n; ++i) {
            const uint32_t train = train_bits[i * training_vectors + v], label = label_bits[i * training_vectors + v];
            float* target = scratch.gradient + i * out_row + v * LANES;
            if (!train) {
                store(target, splat(0));
                continue;
            }
            const Vector x = load(scores + i * row + v * LANES);
            Vector most = x, total = splat(0);
            for (int r = 1; r < C; ++r) most = larger(most, permute(x, lanes.rotated[r]));
            const Vector gap = most - x, e = exponential(-gap);
            for (int j = 0; j < C; ++j) total += permute(e, lanes.column[j]);
            const Vector ones = chosen(label, splat(1));
            store(target, chosen(train, (e / total - ones) * share));
            const Vector at_label = gap * ones;
            for (int s = 0; s < per; ++s)
                if (train >> (s * C) & 1) {
                    products[s] *= static_cast<double>(total[s * C]);
                    float found = 0;
                    for (int j = 0; j < C; ++j) found += at_label[s * C + j];
                    gaps[s] += static_cast<double>(found);
                }
            if (++waiting == 128) {  // 16^128 is within float64
                for (int s = 0; s < per; ++s) logs[s] += std::log(products[s]), products[s] = 1;
                waiting = 0;
            }
        }
        for (int s = 0; s < per && v * per + s < count; ++s) {
            const int b = v * per + s;
            const double all = logs[s] + std::log(products[s]) + gaps[s];
            losses[first + b] = all / static_cast<double>(engine.settings[first + b].train_count);
        }
    }
}

// From the gradient of the class scores to that of the initial embedding, of lambda and of S.
template <int N>
void Group::layers_backward(Scratch& scratch, double* losses, double* hop_gradients, double* scale_gradients) {
    constexpr int MOST = N ? N : MAX_CLASSES;
    const int C = N ? N : engine.c;
    loss<N>(scratch, losses);
    const int64_t n = engine.n, row = vectors * LANES, short_row = training_vectors * LANES;
    const Lanes& lanes = engine.lanes;
    const Problem& problem = engine.problem;
    const int hops = static_cast<int>(problem.hops), per = lanes.slots;
    float *D = scratch.gradient, *D0 = scratch.gradient_initial, *DQ = scratch.gradient_q;
    std::memset(D0, 0, n * short_row * sizeof(float));
    std::vector<Square> to_mixed(count), to_q(count);
    for (int64_t layer = problem.layers - 1; layer >= 0; --layer) {
        const float *H = embeddings[layer].data, *H0 = embeddings[0].data, *Q = reached_from[layer].data;
        float* next = scratch.spare;  // gradient of H
        // Sums over rows of a (c values) times b (c values) for each slot, in blocks.
        const auto gather = [&](const Vector* total, int v, std::vector<Square>& into) {
            for (int s = 0; s < per && v * per + s < count; ++s)
                for (int r = 0; r < C; ++r)
                    for (int j = 0; j < C; ++j)
                        into[v * per + s].a[j * C + (j + r) % C] += static_cast<double>(total[r][s * C + j]);
        };
        for (auto& square : to_mixed) square = Square{};
        for (auto& square : to_q) square = Square{};
        for (int v = 0; v < training_vectors; ++v) {
            const Small& group = small[layer * vectors + v];
            const Vector g = load(lane_gamma + v * LANES);
            for (int64_t begin = 0; begin < n; begin += BLOCK_ROWS) {
                Vector total[MOST];
                for (int r = 0; r < C; ++r) total[r] = splat(0);
                for (int64_t i = begin; i < std::min<int64_t>(begin + BLOCK_ROWS, n); ++i) {
                    const int64_t at = i * row + v * LANES, here = i * short_row + v * LANES;
                    const Vector d = load(D + here);
                    const Vector e = load(H + at) - g * load(H0 + at);
                    for (int r = 0; r < C; ++r) total[r] += e * permute(d, lanes.rotated[r]);
                    const Vector back = mixed<N>(lanes, d, group.from_mixed);
                    store(next + here, back);
                    store(D0 + here, load(D0 + here) + g * (d - back));
                }
                gather(total, v, to_mixed);
            }
        }
        if (hops) {
            std::vector<double> lambda(static_cast<size_t>(hops) * training_vectors * LANES, 0.0);
#define CALL(P) hops_backward<P>(scratch, Q, lambda.data())
            BY_VECTORS(training_vectors, CALL)
#undef CALL
            for (int b = 0; b < count; ++b) {
                const int v = b / per, lane = b % per * C;
                for (int k = 0; k < hops; ++k) {
                    double total = 0;
                    for (int j = 0; j < C; ++j) total += lambda[(k * training_vectors + v) * LANES + lane + j];
                    hop_gradients[b * hops + k] += engine.settings[first + b].beta2 * total;
                }
            }
            for (int v = 0; v < training_vectors; ++v)
                for (int64_t begin = 0; begin < n; begin += BLOCK_ROWS) {
                    Vector total[MOST];
                    for (int r = 0; r < C; ++r) total[r] = splat(0);
                    for (int64_t i = begin; i < std::min<int64_t>(begin + BLOCK_ROWS, n); ++i) {
                        const Vector x = load(H + i * row + v * LANES), q = load(DQ + i * short_row + v * LANES);
                        for (int r = 0; r < C; ++r) total[r] += x * permute(q, lanes.rotated[r]);
                    }
                    gather(total, v, to_q);
                }
        }
        for (int b = 0; b < count; ++b) {
            const Member& m = engine.settings[first + b];
            const int v = b / per, place = b % per;
            Small& group = small[layer * vectors + v];
            const float* scale = lane_scale + v * LANES + place * C;
            const double rest = 1 - m.gamma;
            const double *G = group.gram[place].a, *inverse = group.inverse[place].a;
            double *dT = to_mixed[b].a, *dB = to_q[b].a, *ds = scale_gradients + b * C;
            double B[MOST * MOST], T[MOST * MOST], dG[MOST * MOST], X[MOST * MOST], Y[MOST * MOST];
            for (int k = 0; k < C * C; ++k) {
                dT[k] *= rest;
                B[k] = rest * inverse[k];
            }
            if (problem.coefficient == EXACT)  // to_q was summed with H, and V is H S
                for (int i = 0; i < C; ++i)
                    for (int j = 0; j < C; ++j) dB[i * C + j] *= static_cast<double>(scale[i]);
            if (problem.coefficient == RELEASED) {
                product(C, G, C, 1, B, C, 1, T);
                for (int i = 0; i < C; ++i)
                    for (int j = 0; j < C; ++j) {
                        const int k = i * C + j;
                        const double si = scale[i], sj = scale[j];
                        ds[j] += dB[k] * B[k] + dT[k] * si * T[k];
                        ds[i] += dT[k] * sj * T[k];
                        dB[k] *= sj;
                        dT[k] *= si * sj;
                    }
            }
            product(C, dT, C, 1, B, 1, C, dG);  // T = G B
            product(C, G, 1, C, dT, C, 1, X);
            for (int k = 0; k < C * C; ++k) X[k] = rest * (X[k] + dB[k]);
            product(C, inverse, C, 1, X, C, 1, Y);
            product(C, Y, C, 1, inverse, C, 1, X);
            for (int k = 0; k < C * C; ++k) dG[k] -= rest * rest * X[k];
            for (int i = 0; i < C; ++i)
                for (int j = 0; j < C; ++j) {
                    const double both = dG[i * C + j] + dG[j * C + i];
                    const double si = problem.coefficient == EXACT ? static_cast<double>(scale[i]) : 1.0;
                    group.from_gram[i][place * C + j] = static_cast<float>(si * both);
                }
        }
        for (int v = 0; v < training_vectors; ++v) {
            const Small& group = small[layer * vectors + v];
            const Vector s = problem.coefficient == EXACT ? load(lane_scale + v * LANES) : splat(1);
            for (int64_t begin = 0; begin < n; begin += BLOCK_ROWS) {
                Vector total = splat(0);
                for (int64_t i = begin; i < std::min<int64_t>(begin + BLOCK_ROWS, n); ++i) {
                    const int64_t here = i * short_row + v * LANES;
                    const Vector x = load(H + i * row + v * LANES);
                    Vector back = mixed<N>(lanes, x, group.from_gram);
                    if (hops) back += mixed<N>(lanes, load(DQ + here), group.from_q);
                    total += back * x;
                    store(next + here, load(next + here) + s * back);
                }
                if (problem.coefficient == EXACT)
                    for (int k = 0; k < per * C && v * per + k / C < count; ++k)
                        scale_gradients[(v * per) * C + k] += static_cast<double>(total[k]);
            }
        }
        std::swap(scratch.gradient.data, scratch.spare.data);
        D = scratch.gradient;
    }
    for (int64_t k = 0; k < n * short_row; k += LANES) store(D0 + k, load(D0 + k) + load(D + k));
}

void Group::encode() {
    for (int b = 0; b < count; ++b) engine.encode(first + b);
}

void Group::forward(Scratch& scratch) {
    const int per = engine.lanes.slots, c = engine.c;
    const int64_t n = engine.n, row = vectors * LANES;
    for (int b = 0; b < count; ++b) {
        const Member& m = engine.settings[first + b];
        if (m.dropout > 0)
            draw_masks(m, engine.problem.steps[first + b] + 1, n * engine.width, engine.masks[first + b].data());
        const int training = b / per * LANES + b % per * c;
        const int evaluating = evaluation[b] / per * LANES + evaluation[b] % per * c;
#define CALL(C) engine.head<C>(first + b, embeddings[0], row, training, evaluating)
        BY_CLASSES(c, CALL)
#undef CALL
    }
    read_parameters();
#define CALL(C) layers_forward<C>(scratch)
    BY_CLASSES(c, CALL)
#undef CALL
    const float* scores = embeddings.back().data;
    for (int b = 0; b < count; ++b) {
        const float* from = scores + evaluation[b] / per * LANES + evaluation[b] % per * c;
        float* to = engine.problem.logits + (first + b) * n * c;
        for (int64_t i = 0; i < n; ++i)
            for (int j = 0; j < c; ++j) to[i * c + j] = from[i * row + j];
    }
}

void Group::step(Scratch& scratch, double* losses) {
    const int per = engine.lanes.slots, c = engine.c;
    const Problem& problem = engine.problem;
    const Layout& layout = engine.layout;
    const int64_t hops = problem.hops;
    std::vector<double> hop_gradients(count * hops, 0.0), scale_gradients(training_vectors * per * c, 0.0);
#define CALL(C) layers_backward<C>(scratch, losses, hop_gradients.data(), scale_gradients.data())
    BY_CLASSES(c, CALL)
#undef CALL
    for (int b = 0; b < count; ++b) {
        const int member = first + b;
        const Member& m = engine.settings[member];
        const Adam adam(m, ++problem.steps[member]);
        Vector bias = splat(0);
        const int slot = b / per * LANES + b % per * c;
#define CALL(C) engine.head_backward<C>(member, scratch.gradient_initial, training_vectors * LANES, slot, scratch, bias)
        BY_CLASSES(c, CALL)
#undef CALL
        float *w = engine.weights(member), *f = engine.first(member), *s = engine.second(member);
        const auto update = [&](int64_t at, Vector gradient) { adam.update(w + at, f + at, s + at, gradient); };
        for (int64_t k = 0; k < c * layout.stride; k += LANES) update(layout.head + k, load(scratch.head + k));
        for (int64_t k = 0; k < layout.stride; k += LANES) {
            const Vector column = load(scratch.columns + k);
            if (problem.uses_features) update(layout.features_bias + k, column * static_cast<float>(1 - m.alpha));
            if (problem.uses_adjacency) update(layout.adjacency_bias + k, column * static_cast<float>(m.alpha));
        }
        update(layout.head_bias, bias);
        engine.update_inputs(member, adam, scratch);
        if (m.gamma == 1) continue;  // the layers are the identity: lambda and S have no gradient and no decay
        for (int64_t k = 0; k < hops; k += LANES) {
            Vector gradient = splat(0);
            for (int64_t j = k; j < std::min<int64_t>(k + LANES, hops); ++j)
                gradient[j - k] = static_cast<float>(hop_gradients[b * hops + j]);
            update(layout.hops + k, gradient);
        }
        if (problem.coefficient != PLAIN) {
            Vector gradient = splat(0);
            for (int j = 0; j < c; ++j) gradient[j] = static_cast<float>(scale_gradients[b * c + j]);
            update(layout.scale, gradient);
        }
    }
}

// ---------------------------------------------------------------------------------------------- all members

constexpr int64_t CACHE_BYTES = 384 << 10;  // of the dense factor that one block of a sparse product reads
constexpr int GROUP_VECTORS = 2;            // in a row of a group, evaluation included: the buffers stay in the cache

Engine::Engine(const Problem& given)
    : problem(given),
      layout(given),
      lanes(static_cast<int>(given.classes)),
      settings(given.settings, given.settings + given.members),
      n(given.nodes),
      stride(layout.stride),
      width(layout.stride / LANES),
      c(static_cast<int>(given.classes)),
      pool(static_cast<int>(std::max<int64_t>(given.threads, 1))) {
    const int64_t inputs = (problem.uses_features ? problem.features.columns : 0) + (problem.uses_adjacency ? n : 0);
    const int64_t row_bytes = std::min<int64_t>(width, TOGETHER) * LANES * 4, cache = CACHE_BYTES;
    if (problem.uses_features) {
        features.build(problem.features, row_bytes, cache);
        features_transposed.build(problem.features_transposed, row_bytes, cache);
    }
    if (problem.uses_adjacency) {
        adjacency.build(problem.adjacency, row_bytes, cache);
        adjacency_transposed.build(problem.adjacency_transposed, row_bytes, cache);
    }
    const int members = static_cast<int>(problem.members);
    bool dropping = false;
    for (int b = 0; b < members; ++b) {
        hidden.emplace_back(static_cast<size_t>(n * stride));
        masks.emplace_back(settings[b].dropout > 0 ? n * width : 0);
        dropping = dropping || settings[b].dropout > 0;
    }
    const int threads = static_cast<int>(std::max<int64_t>(given.threads, 1));
    int most = GROUP_VECTORS * lanes.slots;
    if (dropping) most = std::max(most / 2, 1);
    most = std::min(most, std::max((members + threads - 1) / threads, 1));
    groups.reserve((members + most - 1) / most);
    int widest = 0;
    for (int b = 0; b < members; b += most) {
        groups.emplace_back(*this, b, std::min(most, members - b));
        widest = std::max(widest, groups.back().vectors);
    }
    const size_t values = static_cast<size_t>(n) * widest * LANES;
    const bool cut = features_transposed.parts.size() > 1 || adjacency_transposed.parts.size() > 1;
    scratch.resize(threads);
    for (Scratch& s : scratch) {
        for (Buffer* buffer : {&s.reach, &s.reach_other, &s.gradient, &s.gradient_initial, &s.gradient_q, &s.spare})
            buffer->resize(values);
        s.head.resize(c * stride);
        s.columns.resize(stride);
        s.partial.resize(cut ? inputs * TOGETHER * LANES : 0);
    }
}

void Engine::forward() {
    const std::function<void(int, int)> task = [this](int worker, int g) {
        groups[g].encode();
        groups[g].forward(scratch[worker]);
    };
    pool.run(static_cast<int>(groups.size()), task);
}

// What a member's class scores are worth: validation loss, then the accuracies on train, val and test nodes.
void Engine::measure(int b, double* out) const {
    const Member& m = settings[b];
    const float* scores = problem.logits + static_cast<int64_t>(b) * n * c;
    const int64_t members = problem.members;
    const int64_t* nodes[] = {m.train_nodes, m.val_nodes, m.test_nodes};
    const int64_t counts[] = {m.train_count, m.val_count, m.test_count};
    for (int set = 0; set < 3; ++set) {
        int64_t right = 0;
        for (int64_t k = 0; k < counts[set]; ++k) {
            const float* row = scores + nodes[set][k] * c;
            int largest = 0;
            for (int j = 1; j < c; ++j) largest = row[j] > row[largest] ? j : largest;
            right += largest == problem.labels[nodes[set][k]];
        }
        out[(1 + set) * members + b] = static_cast<double>(right) / static_cast<double>(counts[set]);
    }
    double loss = 0;
    for (int64_t k = 0; k < m.val_count; ++k) {
        const float* row = scores + m.val_nodes[k] * c;
        float largest = row[0], total = 0;
        for (int j = 1; j < c; ++j) largest = std::max(largest, row[j]);
        for (int j = 0; j < c; ++j) total += std::exp(row[j] - largest);
        loss += std::log(total) + (largest - row[problem.labels[m.val_nodes[k]]]);
    }
    out[b] = loss / static_cast<double>(m.val_count);
}

void Engine::measure(double* out) {
    const std::function<void(int, int)> task = [this, out](int, int b) { measure(b, out); };
    pool.run(static_cast<int>(problem.members), task);
}

void Engine::step(double* losses) {
    const std::function<void(int, int)> task = [this, losses](int worker, int g) {
        groups[g].step(scratch[worker], losses);
        groups[g].forward(scratch[worker]);
    };
    pool.run(static_cast<int>(groups.size()), task);
}

}  // namespace

// ---------------------------------------------------------------------------------------------- the C interface

// Which instructions this machine has: 2 AVX-512, 1 AVX2 with FMA, 0 neither or not x86.
API int glognn_level() {
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
API const char* glognn_source() { return GLOGNN_SOURCE; }

API int64_t glognn_parameters(const Problem* problem) { return Layout(*problem).total; }

// The members of a problem, with their forward pass done; null when memory is short. The caller keeps every array of
// the problem alive and in place until glognn_free.
API void* glognn_create(const Problem* problem) try {
    Engine* engine = new Engine(*problem);
    engine->forward();
    return engine;
} catch (const std::exception&) {
    return nullptr;
}

API void glognn_free(void* engine) { delete static_cast<Engine*>(engine); }

// The forward pass anew, after the caller changed weights.
API void glognn_forward(void* engine) { static_cast<Engine*>(engine)->forward(); }

// One step of every member and the forward pass after it; losses are those before the step.
API void glognn_step(void* engine, double* losses) { static_cast<Engine*>(engine)->step(losses); }

// Validation losses, then accuracies on the train, val and test nodes: 4 x members.
API void glognn_measure(void* engine, double* out) { static_cast<Engine*>(engine)->measure(out); }

// Which hidden values the next step of a member keeps: nodes x padded hidden width, one byte each.
API void glognn_mask(void* handle, int64_t member, uint8_t* out) {
    Engine& engine = *static_cast<Engine*>(handle);
    const auto& masks = engine.masks[member];
    for (int64_t k = 0; k < engine.n * engine.width; ++k)
        for (int lane = 0; lane < LANES; ++lane)
            out[k * LANES + lane] = masks.empty() ? 1 : static_cast<uint8_t>(masks[k] >> lane & 1);
}
