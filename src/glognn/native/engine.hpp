// Members, and groups of them whose closed-form layers run side by side.
//
// Everything is stored in vectors of 16 floats. The encoder runs member after member: hidden values and input weights
// lie in panels of 16 columns. The closed-form layers run on members side by side: a vector holds the c columns of
// 16 / c members ("slots"), which fill it in hops, Gram matrices and c x c products. With dropout or batch normalisation
// a member has one more slot for its evaluation, which needs the same weights as the next step. Lanes never mix
// members, and a sum has one order: a member's bits do not depend on its neighbours or on the number of threads. Members
// of more than 16 classes are a group each, and a slot is then several vectors.
//
// All memory is taken when the engine is made; a step takes none.

#pragma once

#include <functional>
#include <stdexcept>
#include <vector>

#include "adam.hpp"
#include "dropout.hpp"
#include "memory.hpp"
#include "problem.hpp"
#include "small.hpp"
#include "sparse.hpp"
#include "threads.hpp"
#include "vectors.hpp"

namespace {

constexpr int BLOCK_ROWS = 256;             // rows summed in float32 before the sum moves to float64
constexpr int64_t CACHE_BYTES = 384 << 10;  // of the dense factor that one block of a sparse product reads
constexpr int64_t SHARED_BYTES = 1 << 20;   // of hidden values, from which on threads share the rows of a group
constexpr int64_t PIECE_ROWS = 2048, MOST_PIECES = 16;
constexpr int64_t CHUNK_ROWS = 64;          // of a local block, whose values stay in the cache from product to product
constexpr int GROUP_VECTORS = 2;            // in a row of a group, evaluation included: the buffers stay in the cache

struct Slot {
    int member;  // within the group
    bool training;
};

// What a thread, or where they share rows all threads, need while they work on a group. Sums over rows are taken piece by
// piece and then added up in order.
struct Scratch {
    Buffer reach, reach_other, gradient, gradient_initial, gradient_q, spare;
    Buffer head, columns;  // gradients of the head (classes x stride) and of the biases of hidden values
    Buffer partial;        // gradient of weights, when a product runs in several blocks
    Buffer wide[4];        // n x hidden values of local blocks
    Buffer turned;         // weights of the maps of a block, transposed or added up
    Buffer norms;          // of each piece: gradients of the normalisation's weights and biases, of R's bias and of W_o's
    Array<Square> to_mixed, to_q;                                  // of each piece and member
    Array<double> gram, loss, lambda, scale_parts, tau_parts;      // of each piece
    Array<double> shares;                                          // of each panel of hidden values
    Array<double> hop_gradients, scale_gradients, scale_free, tau_gradients, share_gradients;
};

struct Engine;

// One of the values that jumping knowledge sums: n x hidden before relu and, where it has a mask, before dropout.
struct Source {
    const float* values;
    const uint16_t* kept;
    float share;
};

struct Group {
    Engine& engine;
    int first, count;
    std::vector<Slot> slots;
    int vectors = 0, training_vectors = 0;
    std::vector<int> evaluation;  // slot of each member
    std::vector<Buffer> embeddings, reached_from;
    Array<Small> small;  // layer after layer, vector after vector
    Buffer wide_rows;                       // the same where classes fill several vectors (wide.hpp)
    Array<double> wide_squares, wide_times;
    Buffer lane_gamma, lane_hops, lane_scale, lane_share, lane_tau;
    Buffer lane_beta2;  // of every layer: it may depend on the embedding
    Array<uint16_t> train_bits, label_bits;  // rows x training vectors

    Group(Engine& engine, int first, int count);
    void encode();
    void forward(Scratch&);
    void step(Scratch&, double* losses);

  private:
    template <int N> void layers_forward(Scratch&);
    template <int N> void layers_backward(Scratch&, double* losses);
    template <int N> void loss(Scratch&, double* losses);
    void wide_loss(Scratch&, double* losses);
    void read_parameters();
    void solve(int layer);
    template <int N> INLINE void solve_backward(Scratch&, int layer);
    template <int P> void hops_forward(Scratch&, int64_t layer, const float* Q, float* target, int64_t from);
    template <int P> void hops_backward(Scratch&, int64_t layer, const float* Q, double* lambda);
    void hops_learn(Scratch&, int64_t layer);
    // wide.hpp
    enum Kind { TO_Q, TO_MIXED, FROM_Q, FROM_MIXED, FROM_GRAM, KINDS };
    float* rows(int64_t layer, int64_t slot, Kind kind);
    double* square(int64_t layer, int64_t slot, bool inverse);
    double scale_free(int64_t layer, int b) const;
    template <int V> void wide_forward(Scratch&);
    template <int V> void wide_backward(Scratch&);
    void wide_solve(int64_t layer, int slot);
};

// How many nodes of train, val and test sets are right, and the validation loss, in sums.
struct Measured {
    int64_t right[3];
    double loss;
};

// What the local blocks of a member have made in training, each n x hidden: h_0, and of every block its values between
// normalisation and weights, the inverse deviation of each row (or mean and variance of each column), and the result.
struct Local {
    std::vector<Buffer> outputs, normal, deviations;
};

struct Engine {
    Problem problem;
    Layout layout;
    Lanes lanes;
    std::vector<Member> settings;
    int64_t n, stride, width;  // width: vectors in a row of hidden values
    int64_t piece_rows, pieces;
    bool shared;  // whether threads share the rows of one group after the other, or have groups of their own
    int c;
    std::vector<Input> inputs;
    std::vector<Blocks> read, read_transposed;  // of each input
    std::vector<Buffer> hidden;                 // before the nonlinearity, head after head; its gradient during a step
    std::vector<Array<uint16_t>> masks;         // kept values of heads and blocks, for the next step
    std::vector<Local> local;                   // of each member, where there are blocks
    std::vector<Scratch> scratch;
    std::vector<Group> groups;
    Pool pool;

    explicit Engine(const Problem& given);

    float* weights(int b) { return problem.weights + b * layout.total; }
    float* first(int b) { return problem.first + b * layout.total; }
    float* second(int b) { return problem.second + b * layout.total; }

    int64_t mask_words() const { return (layout.heads + problem.blocks) * n * width; }
    Buffer& values(int b, int64_t head) { return hidden[b * layout.heads + head]; }
    // Where a slot of a group begins in its rows, and how many vectors so many slots are.
    int lane(int slot) const {
        if (!lanes.slots) return slot * static_cast<int>(Layout::padded(c));
        return slot / lanes.slots * LANES + slot % lanes.slots * c;
    }
    int vectors(int slots) const {
        return lanes.slots ? (slots + lanes.slots - 1) / lanes.slots : slots * static_cast<int>(Layout::padded(c)) / LANES;
    }
    // Whether evaluation sees other values than training.
    bool apart(int b) const { return settings[b].dropout > 0 || problem.batch; }
    const uint16_t* kept(int b, int64_t place) const {
        return masks[b].empty() ? nullptr : masks[b].data() + place * n * width;
    }

    // What an input is multiplied with before the nonlinearity, and a branch behind it.
    float gate(int b, int64_t input) { return inputs[input].gated ? std::max(weights(b)[layout.gate[input]], 0.0f) : 1.0f; }
    float factor(int b, int64_t input) { return static_cast<float>(settings[b].shares[input]) * gate(b, input); }

    // Calls body(range) for parts of `count` things whose results do not depend on each other. Like those below it calls a
    // copy: what a body holds by value may then stay in registers.
    template <class Body> INLINE void ranges(int64_t count, const Body& body) {
        if (!shared) return copied(body)(Range{0, count});
        const int64_t tasks = std::min<int64_t>(count, 4 * static_cast<int64_t>(pool.threads.size() + 1));
        const std::function<void(int, int)> task = [&](int, int k) {
            copied(body)(Range{count * k / tasks, count * (k + 1) / tasks});
        };
        pool.run(static_cast<int>(tasks), task);
    }
    // The same for rows of a matrix, about as many entries in each part.
    template <class Body> INLINE void ranges(const Matrix& m, const Body& body) {
        if (!shared) return copied(body)(Range{0, m.rows});
        const int64_t tasks = 4 * static_cast<int64_t>(pool.threads.size() + 1);
        const int64_t all = m.starts[m.rows] + 4 * m.rows;
        const auto row = [&](int64_t wanted) {
            int64_t low = 0, high = m.rows;
            while (low < high) {
                const int64_t middle = (low + high) / 2;
                if (m.starts[middle] + 4 * middle < wanted)
                    low = middle + 1;
                else
                    high = middle;
            }
            return low;
        };
        const std::function<void(int, int)> task = [&](int, int k) {
            const Range range{row(all * k / tasks), k + 1 == tasks ? m.rows : row(all * (k + 1) / tasks)};
            if (range.begin < range.end) copied(body)(range);
        };
        pool.run(static_cast<int>(tasks), task);
    }
    // Calls body(piece, range of rows): what is summed over the rows of a piece has its own place.
    template <class Body> INLINE void by_piece(const Body& body) {
        const auto range = [this](int64_t k) { return Range{k * piece_rows, std::min(n, (k + 1) * piece_rows)}; };
        if (!shared) {
            for (int64_t k = 0; k < pieces; ++k) copied(body)(k, range(k));
            return;
        }
        const std::function<void(int, int)> task = [&](int, int k) { copied(body)(k, range(k)); };
        pool.run(static_cast<int>(pieces), task);
    }
    template <class Body> static INLINE Body copied(const Body& body) { return body; }

    template <int P> void encode(int b, int64_t head, int64_t panel);
    void encode(int b);
    template <int N, class One, class Two>
    void head(int b, float* embedding, int64_t row, int training, int evaluation, One&&, Two&&);
    template <int N, class One, class Two>
    void head(int b, float* embedding, int64_t row, int training, int evaluation, int from, One&&, Two&&);
    template <int N> void hidden_head(int b, float* embedding, int64_t row, int training, int evaluation);
    template <int N> void head_backward(int b, const float* gradient, int64_t row, int slot, Scratch&, Vector* bias);
    template <int P>
    void sum_parts(const std::vector<Matrix>&, size_t count, Range, const float* gradient, float* sums, int64_t step);
    template <int P> void weigh_inputs(const Input&, const Blocks&, const float* gradient, float* sums);
    template <int P> void update_inputs(int b, int64_t head, int64_t panel, const Adam&, Scratch&, double* dots);
    void update_inputs(int b, const Adam&, Scratch&, double* dots);
    void update_biases(int b, const Adam&, Scratch&, double* dots);
    bool gated_inputs() const {  // before the nonlinearity
        return std::any_of(inputs.begin(), inputs.end(), [](const Input& each) { return each.gated && !each.branch; });
    }

    bool several() const { return problem.jumping || problem.blocks; }  // whether the head sees more than hidden values
    // jumping.hpp
    int64_t sources(int b, const float* shares, Source*);
    template <int N> void jumping_head(int b, float* embedding, int64_t row, int training, int evaluation, Scratch&);
    template <int N> void jumping_backward(int b, const float* gradient, int64_t row, int slot, Scratch&, Vector* bias);
    void jumping_step(int b, const Adam&, Scratch&);
    void update_shares(int b, const Adam&, Scratch&);
    void read_shares(int b, float* shares);
    void open_backward(int b, const float* gradient, float* columns);
    // blocks.hpp
    void blocks_forward(int b, bool training, const float* shares, Scratch&);
    template <class Finish> void block_maps(int b, int64_t block, const float* from, float* to, Scratch&, Finish&&);
    void normalize(int b, int64_t block, bool training, Range, float* values, float* out, float share, float* total);
    void normalize_backward(int b, int64_t block, Scratch&);
    void measure_columns(int b, int64_t block, const float* values, Scratch&);
    void normalize_columns(int b, int64_t block, bool training, Range, float* values, float* out, float share, float* total);
    void normalize_columns_backward(int b, int64_t block, Scratch&);
    void activate(int b, int64_t block, bool training, Range, const float* values, float* out, float share, float* total);
    void activate_backward(int b, int64_t block, Scratch&);
    void sum_pieces(float* parts, int64_t count);
    void block_backward(int b, int64_t block, const Adam&, float share, Scratch&);
    uint32_t inside(int64_t panel) const {  // the lanes of a panel that are columns
        const int64_t count = std::min<int64_t>(problem.hidden - panel * LANES, LANES);
        return (1u << count) - 1u;
    }

    template <class Body> void by_group(Body&& body);
    void forward();
    void step(double* losses);
    Measured measured(int b, int64_t piece) const;
    void measure(int b, double* out);
    void measure(double* out);
};

// Calls body(integral constant) with the usual numbers of classes, and with 0 for any number; where vectors are narrow,
// with 0 alone.
template <class Body> INLINE void by_classes([[maybe_unused]] int c, Body&& body) {
#if defined(__AVX2__)
    switch (c) {
        case 2: return body(Count<2>());
        case 3: return body(Count<3>());
        case 4: return body(Count<4>());
        case 5: return body(Count<5>());
        case 6: return body(Count<6>());
        case 7: return body(Count<7>());
        default: break;
    }
#endif
    body(Count<0>());
}

// Calls body(integral constant) with the vectors in a row of a group, or of a slot.
template <class Body> INLINE void by_vectors(int count, Body&& body) {
    static_assert(GROUP_VECTORS == 2 && WIDEST == 4 * LANES, "a case for each number of vectors");
    switch (count) {
        case 1: return body(Count<1>());
        case 2: return body(Count<2>());
        case 3: return body(Count<3>());
        case 4: return body(Count<4>());
        default: throw std::logic_error("a row has " + std::to_string(count) + " vectors, not 1 to 4");
    }
}

}  // namespace
