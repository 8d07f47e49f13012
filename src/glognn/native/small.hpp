// The c x c matrices of a layer, in float64, and the lanes of a vector that hold their rows.

#pragma once

#include <cmath>
#include <limits>

#include "problem.hpp"
#include "vectors.hpp"

namespace {

struct Square {  // c x c in float64, row by row
    double a[MAX_CLASSES * MAX_CLASSES];
};

// out = a b, with either factor transposed on demand through its strides.
template <int MOST = MAX_CLASSES>
INLINE void product(int c, const double* a, int ai, int ak, const double* b, int bk, int bj, double* out) {
    for (int i = 0; i < c; ++i) {
        double row[MOST] = {};
        for (int k = 0; k < c; ++k) {
            const double x = a[i * ai + k * ak];
            for (int j = 0; j < c; ++j) row[j] += x * b[k * bk + j * bj];
        }
        for (int j = 0; j < c; ++j) out[i * c + j] = row[j];
    }
}

// The inverse of a symmetric positive definite matrix by Cholesky; NaN throughout when it is not one.
template <int MOST>
void invert(int c, const double* a, double* inverse) {
    double l[MOST * MOST], li[MOST * MOST] = {};
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

// From the Gram matrix of a layer (layers.hpp) to M = (b I + r^2 G)^-1, B = r M and T = G B; what betas are multiplied by.
// With EXACT G becomes that of H S.
template <int MOST>
INLINE double factors(const Problem& problem, const Member& m, int c, const float* scale, double* G, double* inverse,
                      double* B, double* T) {
    const double rest = 1 - m.gamma;
    double system[MOST * MOST];
    if (problem.coefficient == EXACT)
        for (int i = 0; i < c; ++i)
            for (int j = 0; j < c; ++j) G[i * c + j] *= static_cast<double>(scale[i]) * scale[j];
    double t = 1;
    if (problem.scale_free) {
        double trace = 0;
        for (int k = 0; k < c; ++k) trace += G[k * c + k];
        t = trace > 0 ? trace / c : 1;
    }
    const double b = (m.beta1 + m.beta2) * t;
    for (int k = 0; k < c * c; ++k) system[k] = rest * rest * G[k];
    for (int k = 0; k < c; ++k) system[k * c + k] += b;
    invert<MOST>(c, system, inverse);
    for (int k = 0; k < c * c; ++k) B[k] = rest * inverse[k];
    product<MOST>(c, G, c, 1, B, c, 1, T);
    return t;
}

// From the gradients of T, before its factor r tau, and of B to that of G, with the gradient dt of what betas are multiplied
// by as far as hops depend on it (backward.hpp); those of S are added up in ds.
template <int MOST>
INLINE void factors_backward(const Problem& problem, const Member& m, int c, const float* scale, double tau, double dt,
                             const double* G, const double* inverse, double* dT, double* dB, double* ds, double* dG) {
    const double rest = 1 - m.gamma;
    double B[MOST * MOST], T[MOST * MOST], X[MOST * MOST], Y[MOST * MOST];
    for (int k = 0; k < c * c; ++k) {
        dT[k] *= rest * tau;
        B[k] = rest * inverse[k];
    }
    if (problem.coefficient == EXACT)  // dB was summed with H, and V is H S
        for (int i = 0; i < c; ++i)
            for (int j = 0; j < c; ++j) dB[i * c + j] *= static_cast<double>(scale[i]);
    if (problem.coefficient == RELEASED) {
        product<MOST>(c, G, c, 1, B, c, 1, T);
        for (int i = 0; i < c; ++i)
            for (int j = 0; j < c; ++j) {
                const int k = i * c + j;
                const double si = scale[i], sj = scale[j];
                ds[j] += dB[k] * B[k] + dT[k] * si * T[k];
                ds[i] += dT[k] * sj * T[k];
                dB[k] *= sj;
                dT[k] *= si * sj;
            }
    }
    product<MOST>(c, dT, c, 1, B, 1, c, dG);  // T = G B
    product<MOST>(c, G, 1, c, dT, c, 1, X);
    for (int k = 0; k < c * c; ++k) X[k] = rest * (X[k] + dB[k]);
    product<MOST>(c, inverse, c, 1, X, c, 1, Y);
    product<MOST>(c, Y, c, 1, inverse, c, 1, X);
    for (int k = 0; k < c * c; ++k) dG[k] -= rest * rest * X[k];
    if (problem.scale_free) {
        double trace = 0;
        for (int k = 0; k < c; ++k) trace += G[k * c + k];
        for (int k = 0; k < c; ++k) dt -= (m.beta1 + m.beta2) * X[k * c + k];
        for (int k = 0; k < c; ++k) dG[k * c + k] += trace > 0 ? dt / c : 0;
    }
}

// ---------------------------------------------------------------------------------------------- slots of a vector

// Which lane belongs to which column of which slot, for c columns.
struct Lanes {
    int c, slots;
    Integers column[MAX_CLASSES];   // lane (m, k) -> lane (m, j)
    Integers rotated[MAX_CLASSES];  // lane (m, k) -> lane (m, (k + r) mod c)

    explicit Lanes(int classes) : c(classes), slots(LANES / classes) {
        if (!slots) return;
        for (int j = 0; j < c; ++j)
            for (int lane = 0; lane < LANES; ++lane) {
                const bool used = lane < slots * c;
                const int base = lane / c * c;
                column[j][lane] = used ? base + j : lane;
                rotated[j][lane] = used ? base + (lane - base + j) % c : lane;
            }
    }
};

// sum over j of (column j of each slot) * coefficients[j]: every slot's row times its own c x c matrix. Of the first two
// products the one not named in FUSED is rounded by itself.
enum Fused { FIRST, SECOND };
constexpr Fused FORWARD = ONE_REGISTER ? FIRST : SECOND, BACKWARD = SECOND;

template <int N, Fused FUSED>
INLINE Vector mixed(const Lanes& lanes, Vector row, const Vector* coefficients) {
    const int C = N ? N : lanes.c;
    const auto column = [&](int j) { return permute(row, lanes.column[j]); };
    constexpr bool SWAPPED = N && FUSED == FIRST;
    Vector out = column(SWAPPED) * coefficients[SWAPPED];
    out = fused(column(!SWAPPED), coefficients[!SWAPPED], out);
    for (int j = 2; j < C; ++j) out = fused(column(j), coefficients[j], out);
    return out;
}

// The small matrices of one layer for the slots of one vector.
struct Small {
    Vector to_q[MAX_CLASSES], to_mixed[MAX_CLASSES];                              // forward
    Vector from_q[MAX_CLASSES], from_mixed[MAX_CLASSES], from_gram[MAX_CLASSES];  // backward
    Square gram[LANES / 2], inverse[LANES / 2];
    double scale_free[LANES / 2];  // what the betas of each slot are multiplied by
};

}  // namespace
