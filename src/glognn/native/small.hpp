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
