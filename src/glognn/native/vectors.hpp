// Vectors of 16 floats, whatever registers the machine has: arithmetic, lanes, sums, and the few functions of them.

#pragma once

#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define INLINE inline __attribute__((always_inline))

namespace {

constexpr int LANES = 16;
#if defined(__AVX512F__)
constexpr int REGISTER = 64;  // bytes, and so of one vector
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

template <class T> INLINE Two<T> operator+(const Two<T>& x, const Two<T>& y) { return {x.a + y.a, x.b + y.b}; }
template <class T> INLINE Two<T> operator-(const Two<T>& x, const Two<T>& y) { return {x.a - y.a, x.b - y.b}; }
template <class T> INLINE Two<T> operator*(const Two<T>& x, const Two<T>& y) { return {x.a * y.a, x.b * y.b}; }
template <class T> INLINE Two<T> operator/(const Two<T>& x, const Two<T>& y) { return {x.a / y.a, x.b / y.b}; }
template <class T> INLINE Two<T> operator+(const Two<T>& x, float y) { return {x.a + y, x.b + y}; }
template <class T> INLINE Two<T> operator-(const Two<T>& x, float y) { return {x.a - y, x.b - y}; }
template <class T> INLINE Two<T> operator*(const Two<T>& x, float y) { return {x.a * y, x.b * y}; }
template <class T> INLINE Two<T> operator/(const Two<T>& x, float y) { return {x.a / y, x.b / y}; }
template <class T> INLINE Two<T>& operator+=(Two<T>& x, const Two<T>& y) { return x = x + y; }
template <class T> INLINE Two<T>& operator*=(Two<T>& x, const Two<T>& y) { return x = x * y; }
template <class T> INLINE Two<T> operator<<(const Two<T>& x, int y) { return {x.a << y, x.b << y}; }
template <class T> INLINE Two<T> operator>>(const Two<T>& x, int y) { return {x.a >> y, x.b >> y}; }
template <class T> INLINE Two<T> operator&(const Two<T>& x, uint32_t y) { return {x.a & y, x.b & y}; }
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

constexpr bool ONE_REGISTER = REGISTER == LANES * sizeof(float);

// x y + z. Where there is such an instruction the product is not rounded by itself, whatever stands around it: of a sum
// of two products a compiler may round either, and which one it does may change with code elsewhere.
INLINE Vector fused(Vector x, Vector y, Vector z) {
#if defined(__AVX512F__)
    return (Vector)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)z);
#elif defined(__AVX2__)
    return {(Floats)_mm256_fmadd_ps((__m256)x.a, (__m256)y.a, (__m256)z.a),
            (Floats)_mm256_fmadd_ps((__m256)x.b, (__m256)y.b, (__m256)z.b)};
#else
    return x * y + z;
#endif
}

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

// The sum over the lanes of one vector, in float64.
INLINE double lane_sum(Vector v) {
    alignas(64) float x[LANES];
    store(x, v);
    double total = 0;
    for (int k = 0; k < LANES; ++k) total += static_cast<double>(x[k]);
    return total;
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

}  // namespace
