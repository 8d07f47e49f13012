// Local residual blocks and further layers of an encoder, forward and backward. For each block, with h the values before
// it and o over directions:
//
//     u  = h R + r + sum_o A_o (h W_o + b_o)
//     x  = (u - mean(u)) v,  v = 1 / sqrt(var(u) + 1e-5)        over the columns of a row
//     h' = dropout(relu(x w + e))
//
// From d, the gradient of h' (m the factors of dropout), to those of what went in; q = w y and means are over columns:
//
//     y  = m [h' > 0] d                 dw = sum over rows of x y        de = sum over rows of y
//     du = v (q - mean(q) - x mean(q x))
//     dm_o = A_o^T du                   dW_o = h^T dm_o, db_o: sums over rows       dR = h^T du, dr: sums over rows
//     dh = du R^T + sum_o dm_o W_o^T, to which jumping knowledge adds its share
//
// Batch normalisation is over the rows of a column instead, in training; in evaluation with what its mean and variance
// have been in the steps before, each counting a tenth and those before it nine:
//
//     du = v w (y - de / n - x dw / n), and dr = 0, for r goes away with the mean
//
// A further layer of an encoder (without jumping knowledge) is a block without directions and normalisation:
// h' = dropout(relu(u)), du = y. Directions with one matrix (an undirected graph) have one product: their maps are added up before it. Values lie in
// panels of 16 columns, as hidden values do.

#pragma once

#include "dense.hpp"
#include "engine.hpp"

namespace {

constexpr float NORM_EPSILON = 1e-5f, NORM_MOMENTUM = 0.1f;

// u, before the normalisation; calls finish(rows) when some rows of it are made.
template <class Finish>
void Engine::block_maps(int b, int64_t block, const float* from, float* to, Scratch& scratch, Finish&& finish) {
    const int64_t directions = problem.directions, step = n * LANES, map_step = problem.hidden * LANES;
    const float* maps = weights(b) + layout.maps + block * (directions + 1) * layout.map;
    const float* biases = weights(b) + layout.map_bias + block * layout.map_biases;
    const float* message_maps = maps;
    const float* message_biases = biases;
    if (problem.matrices < directions) {
        float* sum = scratch.turned;
        for (int64_t k = 0; k < layout.map; k += LANES) {
            Vector total = load(maps + k);
            for (int64_t o = 1; o < directions; ++o) total += load(maps + o * layout.map + k);
            store(sum + k, total);
        }
        for (int64_t k = 0; k < stride; k += LANES) {
            Vector total = load(biases + k);
            for (int64_t o = 1; o < directions; ++o) total += load(biases + o * stride + k);
            store(sum + layout.map + k, total);
        }
        message_maps = sum;
        message_biases = sum + layout.map;
    }
    const Rows source{from, LANES, step};
    // h' is made of a chunk of rows at a time, from the product with the last matrix on: u is still in the cache.
    const auto chunks = [&](Range range, int64_t o) {
        for (int64_t begin = range.begin; begin < range.end; begin += CHUNK_ROWS) {
            const Range chunk{begin, std::min(begin + CHUNK_ROWS, range.end)};
            by_panels(width, [&](auto count, int64_t panel) {
                constexpr int P = decltype(count)::value;
                float* target = to + panel * step;
                if (o <= 0) {
                    Vector constant[P];
                    for (int p = 0; p < P; ++p) constant[p] = load(biases + directions * stride + (panel + p) * LANES);
                    dense_product<P>(source, chunk, problem.hidden, maps + directions * layout.map + panel * map_step,
                                     map_step, [&](int64_t i, const Vector* total) {
                                         for (int p = 0; p < P; ++p)
                                             store(target + p * step + i * LANES, total[p] + constant[p]);
                                     });
                }
                if (o < 0) return;
                const float* message = scratch.wide[2] + panel * step;
                multiply<P>(problem.along[o], chunk, message, P * LANES, LANES, [&](int64_t i, const Vector* total) {
                    float* out = target + i * LANES;
                    for (int p = 0; p < P; ++p) store(out + p * step, load(out + p * step) + total[p]);
                });
            });
            if (o == problem.matrices - 1) finish(chunk);
        }
    };
    if (!problem.matrices) return ranges(n, [&](Range range) { chunks(range, -1); });
    for (int64_t o = 0; o < problem.matrices; ++o) {
        // Messages lie row by row, some panels side by side, as a product with a sparse matrix gathers them.
        ranges(n, [&](Range range) {
            by_panels(width, [&](auto count, int64_t panel) {
                constexpr int P = decltype(count)::value;
                float* message = scratch.wide[2] + panel * step;
                Vector constant[P];
                for (int p = 0; p < P; ++p) constant[p] = load(message_biases + o * stride + (panel + p) * LANES);
                dense_product<P>(source, range, problem.hidden, message_maps + o * layout.map + panel * map_step, map_step,
                                 [&](int64_t i, const Vector* total) {
                                     for (int p = 0; p < P; ++p)
                                         store(message + (i * P + p) * LANES, total[p] + constant[p]);
                                 });
            });
        });
        ranges(problem.along[o], [&](Range range) { chunks(range, o); });
    }
}

// From u to h' without normalisation.
void Engine::activate(int b, int64_t block, bool training, Range range, const float* values, float* out, float share,
                      float* total) {
    const uint16_t* bits = training ? kept(b, layout.heads + block) : nullptr;
    const Vector scale = splat(static_cast<float>(1 / (1 - settings[b].dropout))), times = splat(share);
    for (int64_t t = 0; t < width; ++t)
        for (int64_t i = range.begin; i < range.end; ++i) {
            const int64_t at = (t * n + i) * LANES;
            Vector h = rectified(load(values + at));
            if (bits) h = chosen(bits[i * width + t], h * scale);
            store(out + at, h);
            if (total) store(total + at, fused(h, times, load(total + at)));
        }
}

// From u to h', sixteen rows at a time; in training x takes the place of u. Where there is a total, it gets h' added.
void Engine::normalize(int b, int64_t block, bool training, Range range, float* values, float* out, float share,
                       float* total) {
    const float* weight = weights(b) + layout.norm + block * stride;
    const float* bias = weights(b) + layout.norm_bias + block * stride;
    const uint16_t* bits = training ? kept(b, layout.heads + block) : nullptr;
    const Vector scale = splat(static_cast<float>(1 / (1 - settings[b].dropout))), times = splat(share);
    const float over = 1.0f / static_cast<float>(problem.hidden);
    for (int64_t begin = range.begin; begin < range.end; begin += LANES) {
        const int rows = static_cast<int>(std::min<int64_t>(LANES, range.end - begin));
        alignas(64) float mean[LANES], inverse[LANES];
        Vector part[LANES];
        for (Vector& each : part) each = splat(0);
        for (int64_t t = 0; t < width; ++t)
            for (int r = 0; r < rows; ++r) part[r] += load(values + (t * n + begin + r) * LANES);
        store(mean, sums(part) * over);
        for (Vector& each : part) each = splat(0);
        for (int64_t t = 0; t < width; ++t)
            for (int r = 0; r < rows; ++r) {
                const Vector apart = load(values + (t * n + begin + r) * LANES) - splat(mean[r]);
                const Vector counted = chosen(inside(t), apart);
                part[r] = fused(counted, counted, part[r]);
            }
        store(inverse, splat(1) / Part<Vector>::root(fused(sums(part), splat(over), splat(NORM_EPSILON))));
        if (training)
            for (int r = 0; r < rows; ++r) local[b].deviations[block][begin + r] = inverse[r];
        for (int64_t t = 0; t < width; ++t) {
            const Vector w = load(weight + t * LANES), e = load(bias + t * LANES);
            for (int r = 0; r < rows; ++r) {
                const int64_t at = (t * n + begin + r) * LANES;
                const Vector x = chosen(inside(t), (load(values + at) - splat(mean[r])) * splat(inverse[r]));
                if (training) store(values + at, x);
                Vector h = rectified(fused(x, w, e));
                if (bits) h = chosen(bits[(begin + r) * width + t], h * scale);
                store(out + at, h);
                if (total) store(total + at, fused(h, times, load(total + at)));
            }
        }
    }
}

// Mean and variance of every column over all rows, one behind the other.
void Engine::measure_columns(int b, int64_t block, const float* values, Scratch& scratch) {
    float* found = local[b].deviations[block];
    float* const parts = scratch.norms;
    const Vector over = splat(1.0f / static_cast<float>(n));
    const auto sum = [&](auto&& term) {
        by_piece([&](int64_t piece, Range range) {
            float* own = parts + piece * 4 * stride;
            std::memset(own, 0, stride * sizeof(float));
            for (int64_t begin = range.begin; begin < range.end; begin += BLOCK_ROWS)
                for (int64_t t = 0; t < width; ++t) {
                    Vector column = splat(0);
                    for (int64_t i = begin; i < std::min<int64_t>(begin + BLOCK_ROWS, range.end); ++i)
                        column = term(load(values + (t * n + i) * LANES), t, column);
                    store(own + t * LANES, load(own + t * LANES) + column);
                }
        });
        sum_pieces(parts, stride);
    };
    sum([](Vector u, int64_t, Vector column) { return column + u; });
    for (int64_t k = 0; k < stride; k += LANES) store(found + k, load(parts + k) * over);
    sum([found](Vector u, int64_t t, Vector column) {
        const Vector away = u - load(found + t * LANES);
        return fused(away, away, column);
    });
    for (int64_t k = 0; k < stride; k += LANES) store(found + stride + k, load(parts + k) * over);
}

INLINE Vector inverse_deviation(const float* variance) {
    return splat(1) / Part<Vector>::root(load(variance) + splat(NORM_EPSILON));
}

// From u to h' by means and variances of columns: in training those of u, whose place x takes.
void Engine::normalize_columns(int b, int64_t block, bool training, Range range, float* values, float* out, float share,
                               float* total) {
    const float* weight = weights(b) + layout.norm + block * stride;
    const float* bias = weights(b) + layout.norm_bias + block * stride;
    const float* means = training ? local[b].deviations[block].data : weights(b) + layout.mean + block * stride;
    const float* variances = training ? means + stride : weights(b) + layout.variance + block * stride;
    const uint16_t* bits = training ? kept(b, layout.heads + block) : nullptr;
    const Vector scale = splat(static_cast<float>(1 / (1 - settings[b].dropout))), times = splat(share);
    for (int64_t t = 0; t < width; ++t) {
        const Vector w = load(weight + t * LANES), e = load(bias + t * LANES), mean = load(means + t * LANES);
        const Vector inverse = inverse_deviation(variances + t * LANES);
        for (int64_t i = range.begin; i < range.end; ++i) {
            const int64_t at = (t * n + i) * LANES;
            const Vector x = (load(values + at) - mean) * inverse;
            if (training) store(values + at, x);
            Vector h = rectified(fused(x, w, e));
            if (bits) h = chosen(bits[i * width + t], h * scale);
            store(out + at, h);
            if (total) store(total + at, fused(h, times, load(total + at)));
        }
    }
}

// All blocks: in training what they make is kept; in evaluation the sum of z_0 and theirs, times shares, is in wide[3].
void Engine::blocks_forward(int b, bool training, const float* shares, Scratch& scratch) {
    const float* hidden_values = values(b, 0);
    const uint16_t* bits = training ? kept(b, 0) : nullptr;
    const Vector scale = splat(static_cast<float>(1 / (1 - settings[b].dropout))), share = splat(shares[0]);
    float* from = training ? local[b].outputs[0] : scratch.wide[0];
    float* total = training ? nullptr : scratch.wide[3].data;
    ranges(n, [&](Range range) {
        for (int64_t t = 0; t < width; ++t)
            for (int64_t i = range.begin; i < range.end; ++i) {
                const int64_t at = (t * n + i) * LANES;
                Vector h = rectified(load(hidden_values + at));
                if (bits) h = chosen(bits[i * width + t], h * scale);
                store(from + at, h);
                if (total) store(total + at, h * share);
            }
    });
    for (int64_t block = 0; block < problem.blocks; ++block) {
        // In evaluation the result takes the place of u: what went in is still read.
        float* other = from == scratch.wide[0].data ? scratch.wide[1] : scratch.wide[0];
        float* out = training ? local[b].outputs[block + 1] : other;
        float* between = training && problem.jumping ? local[b].normal[block] : out;
        float* summed = shares[block + 1] > 0 ? total : nullptr;
        const bool whole = training && problem.batch;  // all rows are made before any is normalised
        const auto by_columns = [&](Range rows) {
            normalize_columns(b, block, training, rows, between, out, shares[block + 1], summed);
        };
        block_maps(b, block, from, between, scratch, [&](Range rows) {
            if (!problem.jumping)
                activate(b, block, training, rows, between, out, shares[block + 1], summed);
            else if (!problem.batch)
                normalize(b, block, training, rows, between, out, shares[block + 1], summed);
            else if (!whole)
                by_columns(rows);
        });
        if (whole) {
            measure_columns(b, block, between, scratch);
            ranges(n, by_columns);
        }
        from = out;
    }
}

// From the gradient of h' (wide[0]) to that of u (wide[1]) without normalisation, and that of r (norms).
void Engine::activate_backward(int b, int64_t block, Scratch& scratch) {
    const float *result = local[b].outputs[block + 1].data, *gradient = scratch.wide[0].data;
    float *out = scratch.wide[1], *column_sums = scratch.norms + 2 * stride;
    const bool dropping = settings[b].dropout > 0;
    const Vector scale = splat(static_cast<float>(dropping ? 1 / (1 - settings[b].dropout) : 1.0));
    std::memset(column_sums, 0, stride * sizeof(float));
    ranges(width, [&](Range panels) {
        for (int64_t t = panels.begin; t < panels.end; ++t)
            for (int64_t begin = 0; begin < n; begin += BLOCK_ROWS) {
                Vector column = splat(0);
                for (int64_t i = begin; i < std::min<int64_t>(begin + BLOCK_ROWS, n); ++i) {
                    const int64_t at = (t * n + i) * LANES;
                    const Vector du = gated(load(result + at), 0xFFFFu, load(gradient + at) * scale);
                    store(out + at, du);
                    column += du;
                }
                store(column_sums + t * LANES, load(column_sums + t * LANES) + column);
            }
    });
}

// Adds what each piece has summed to that of the first, 4 x stride floats apart, in order.
void Engine::sum_pieces(float* parts, int64_t count) {
    for (int64_t piece = 1; piece < pieces; ++piece)
        for (int64_t k = 0; k < count; k += LANES)
            store(parts + k, load(parts + k) + load(parts + piece * 4 * stride + k));
}

// From the gradient of h' (wide[0]) to that of u (wide[1]), and those of w, e and r (norms).
void Engine::normalize_backward(int b, int64_t block, Scratch& scratch) {
    const float* weight = weights(b) + layout.norm + block * stride;
    const float *result = local[b].outputs[block + 1].data, *normal = local[b].normal[block].data;
    const float* inverse = local[b].deviations[block].data;
    const float* gradient = scratch.wide[0];
    float* out = scratch.wide[1];
    const bool dropping = settings[b].dropout > 0;
    const Vector scale = splat(static_cast<float>(dropping ? 1 / (1 - settings[b].dropout) : 1.0));
    const float over = 1.0f / static_cast<float>(problem.hidden);
    const auto passed = [&](int64_t at) {
        return gated(load(result + at), 0xFFFFu, load(gradient + at) * scale);
    };
    by_piece([&](int64_t piece, Range range) {
        float* norms = scratch.norms + piece * 4 * stride;
        std::memset(norms, 0, 3 * stride * sizeof(float));
        for (int64_t begin = range.begin; begin < range.end; begin += LANES) {
            const int rows = static_cast<int>(std::min<int64_t>(LANES, range.end - begin));
            alignas(64) float mean[LANES], along[LANES];
            Vector part[LANES], other[LANES];
            for (int r = 0; r < LANES; ++r) part[r] = other[r] = splat(0);
            for (int64_t t = 0; t < width; ++t) {
                const Vector w = load(weight + t * LANES);
                for (int r = 0; r < rows; ++r) {
                    const int64_t at = (t * n + begin + r) * LANES;
                    const Vector q = passed(at) * w;
                    part[r] += q;
                    other[r] = fused(q, load(normal + at), other[r]);
                }
            }
            store(mean, sums(part) * over);
            store(along, sums(other) * over);
            for (int64_t t = 0; t < width; ++t) {
                const Vector w = load(weight + t * LANES);
                Vector to_weight = splat(0), to_bias = splat(0), column = splat(0);
                for (int r = 0; r < rows; ++r) {
                    const int64_t at = (t * n + begin + r) * LANES;
                    const Vector y = passed(at), x = load(normal + at);
                    to_weight = fused(y, x, to_weight);
                    to_bias += y;
                    const Vector rest = fused(-x, splat(along[r]), fused(y, w, -splat(mean[r])));
                    const Vector du = chosen(inside(t), rest * splat(inverse[begin + r]));
                    store(out + at, du);
                    column += du;
                }
                float* sum = norms + t * LANES;
                store(sum, load(sum) + to_weight);
                store(sum + stride, load(sum + stride) + to_bias);
                store(sum + 2 * stride, load(sum + 2 * stride) + column);
            }
        }
    });
    sum_pieces(scratch.norms, 3 * stride);
}

// The same for columns, whose means and variances of this step are then counted in.
void Engine::normalize_columns_backward(int b, int64_t block, Scratch& scratch) {
    const float* weight = weights(b) + layout.norm + block * stride;
    const float *result = local[b].outputs[block + 1].data, *normal = local[b].normal[block].data;
    const float* gradient = scratch.wide[0];
    const float* found = local[b].deviations[block];
    float *out = scratch.wide[1], *norms = scratch.norms;
    const bool dropping = settings[b].dropout > 0;
    const Vector scale = splat(static_cast<float>(dropping ? 1 / (1 - settings[b].dropout) : 1.0));
    const auto passed = [=](int64_t at) { return gated(load(result + at), 0xFFFFu, load(gradient + at) * scale); };
    by_piece([&](int64_t piece, Range range) {
        float* own = norms + piece * 4 * stride;
        std::memset(own, 0, 3 * stride * sizeof(float));
        for (int64_t begin = range.begin; begin < range.end; begin += BLOCK_ROWS)
            for (int64_t t = 0; t < width; ++t) {
                Vector to_weight = splat(0), to_bias = splat(0);
                for (int64_t i = begin; i < std::min<int64_t>(begin + BLOCK_ROWS, range.end); ++i) {
                    const int64_t at = (t * n + i) * LANES;
                    const Vector y = passed(at);
                    to_weight = fused(y, load(normal + at), to_weight);
                    to_bias += y;
                }
                float* sum = own + t * LANES;
                store(sum, load(sum) + to_weight);
                store(sum + stride, load(sum + stride) + to_bias);
            }
    });
    sum_pieces(norms, 2 * stride);
    const Vector over = splat(1.0f / static_cast<float>(n));
    ranges(n, [=](Range range) {
        for (int64_t t = 0; t < width; ++t) {
            const Vector times = load(weight + t * LANES) * inverse_deviation(found + stride + t * LANES);
            const Vector along = load(norms + t * LANES) * over, mean = load(norms + stride + t * LANES) * over;
            for (int64_t i = range.begin; i < range.end; ++i) {
                const int64_t at = (t * n + i) * LANES;
                store(out + at, fused(-load(normal + at), along, passed(at) - mean) * times);
            }
        }
    });
    const Vector more = splat(NORM_MOMENTUM), less = splat(1 - NORM_MOMENTUM);
    const Vector unbiased = splat(static_cast<float>(n) / static_cast<float>(std::max<int64_t>(n - 1, 1)));
    float *const means = weights(b) + layout.mean + block * stride;
    float *const variances = weights(b) + layout.variance + block * stride;
    for (int64_t k = 0; k < stride; k += LANES) {
        store(means + k, fused(more, load(found + k), less * load(means + k)));
        store(variances + k, fused(more, load(found + stride + k) * unbiased, less * load(variances + k)));
    }
}

// From the gradient of a block's result (wide[0]) to that of what went in, which gets a share of dJ (wide[3]) added, and
// the update of its weights.
void Engine::block_backward(int b, int64_t block, const Adam& given, float share, Scratch& scratch) {
    const Adam adam = given;
    const int64_t directions = problem.directions, step = n * LANES, map_step = problem.hidden * LANES;
    const int64_t maps = layout.maps + block * (directions + 1) * layout.map;
    const int64_t biases = layout.map_bias + block * layout.map_biases;
    float *const w = weights(b), *const m = first(b), *const v = second(b);
    const auto update = [&](int64_t at, Vector gradient) { adam.update(w + at, m + at, v + at, gradient); };
    if (!problem.jumping)
        activate_backward(b, block, scratch);
    else if (problem.batch)
        normalize_columns_backward(b, block, scratch);
    else
        normalize_backward(b, block, scratch);
    // Row k of a map times du becomes a product with the map transposed; maps with one matrix are added up.
    float* turned = scratch.turned;
    const int64_t each = problem.matrices < directions ? directions : 1;
    for (int64_t o = 0; o <= problem.matrices; ++o) {
        const float* from = w + maps + (o == problem.matrices ? directions : o) * layout.map;
        const int64_t terms = o == problem.matrices ? 1 : each;
        float* to = turned + o * layout.map;
        for (int64_t k = 0; k < stride; ++k)
            for (int64_t j = 0; j < problem.hidden; ++j) {
                float total = 0;
                if (k < problem.hidden)
                    for (int64_t term = 0; term < terms; ++term)
                        total += from[term * layout.map + j / LANES * map_step + k * LANES + j % LANES];
                to[k / LANES * map_step + j * LANES + k % LANES] = total;
            }
    }
    const Rows before{local[b].outputs[block].data, LANES, step};
    float *back = scratch.wide[0], *du = scratch.wide[1], *message = scratch.wide[2];
    const float* total_gradient = scratch.wide[3];
    const Vector times = splat(share);
    float* sums = scratch.partial;
    const int64_t map_panels = Layout::padded(problem.hidden) / LANES;
    const auto update_map = [&](const float* gradient, int64_t number, int64_t terms) {
        by_panels(width, [&](auto count, int64_t panel) {
            constexpr int P = decltype(count)::value;
            ranges(map_panels, [&](Range panels) {
                const Range rows{panels.begin * LANES, std::min(panels.end * LANES, problem.hidden)};
                outer<P>(before, n, rows, gradient + panel * step, step, sums, map_step);
                for (int64_t term = 0; term < terms; ++term)
                    for (int p = 0; p < P; ++p)
                        for (int64_t at = p * map_step + rows.begin * LANES; at < p * map_step + rows.end * LANES;
                             at += LANES)
                            update(maps + (number + term) * layout.map + panel * map_step + at, load(sums + at));
            });
        });
    };
    // A chunk of rows at a time: dm_o is still in the cache when its product with W_o^T is taken.
    const auto chunks = [&](Range range, int64_t o, float* column) {
        for (int64_t begin = range.begin; begin < range.end; begin += CHUNK_ROWS) {
            const Range chunk{begin, std::min(begin + CHUNK_ROWS, range.end)};
            if (o <= 0)
                by_panels(width, [&](auto count, int64_t panel) {
                    constexpr int P = decltype(count)::value;
                    const float* map = turned + problem.matrices * layout.map + panel * map_step;
                    dense_product<P>(Rows{du, LANES, step}, chunk, problem.hidden, map, map_step,
                                     [&](int64_t i, const Vector* total) {
                                         for (int p = 0; p < P; ++p) {
                                             const int64_t at = (panel + p) * step + i * LANES;
                                             store(back + at, fused(times, load(total_gradient + at), total[p]));
                                         }
                                     });
                });
            if (o < 0) continue;
            by_panels(width, [&](auto count, int64_t panel) {
                constexpr int P = decltype(count)::value;
                Vector part[P];
                for (int p = 0; p < P; ++p) part[p] = splat(0);
                multiply<P>(problem.along_transposed[o], chunk, du + panel * step, LANES, step,
                            [&](int64_t i, const Vector* total) {
                                for (int p = 0; p < P; ++p) {
                                    store(message + (panel + p) * step + i * LANES, total[p]);
                                    part[p] += total[p];
                                }
                            });
                for (int p = 0; p < P; ++p) {
                    float* sum = column + (panel + p) * LANES;
                    store(sum, load(sum) + part[p]);
                }
            });
            by_panels(width, [&](auto count, int64_t panel) {
                constexpr int P = decltype(count)::value;
                dense_product<P>(Rows{message, LANES, step}, chunk, problem.hidden,
                                 turned + o * layout.map + panel * map_step, map_step,
                                 [&](int64_t i, const Vector* total) {
                                     for (int p = 0; p < P; ++p) {
                                         float* out = back + (panel + p) * step + i * LANES;
                                         store(out, load(out) + total[p]);
                                     }
                                 });
            });
        }
    };
    if (!problem.matrices) ranges(n, [&](Range range) { chunks(range, -1, nullptr); });
    for (int64_t o = 0; o < problem.matrices; ++o) {
        float* column = scratch.norms + 3 * stride;
        by_piece([&](int64_t piece, Range range) {
            float* own = column + piece * 4 * stride;
            std::memset(own, 0, stride * sizeof(float));
            chunks(range, o, own);
        });
        sum_pieces(column, stride);
        update_map(message, o, each);
        for (int64_t term = 0; term < each; ++term)
            for (int64_t k = 0; k < stride; k += LANES) update(biases + (o + term) * stride + k, load(column + k));
    }
    update_map(du, directions, 1);
    for (int64_t k = 0; k < stride; k += LANES) {
        if (problem.jumping) {
            update(layout.norm + block * stride + k, load(scratch.norms + k));
            update(layout.norm_bias + block * stride + k, load(scratch.norms + stride + k));
        }
        update(biases + directions * stride + k, load(scratch.norms + 2 * stride + k));
    }
}

}  // namespace
