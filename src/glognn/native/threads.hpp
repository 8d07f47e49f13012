// Threads that share the tasks of a round. What a task throws in any of them is thrown again where the round was begun.
//
// Each has a part of the tasks that is the same in every round of so many, and takes those of others when it has done its
// own: rows that it has written are then mostly read by it too, out of its own cache.

#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "failures.hpp"
#include "vectors.hpp"

namespace {

struct Pool {
    struct alignas(64) Part {
        std::atomic<int> next{0};
        int end = 0;
    };

    std::vector<std::thread> threads;
    std::vector<Part> parts;  // of each worker
    std::mutex mutex;
    std::condition_variable start, finish;
    const std::function<void(int, int)>* task = nullptr;
    std::atomic<int> busy{0};
    std::atomic<int64_t> round{0};
    bool stop = false;
    std::exception_ptr failure;

    explicit Pool(int count) : parts(static_cast<size_t>(count)) {
        threads.reserve(static_cast<size_t>(count));
        try {
            for (int worker = 1; worker < count; ++worker) {
                may_fail(START);
                threads.emplace_back([this, worker] { serve(worker); });
            }
        } catch (const std::system_error& error) {
            const size_t started = threads.size() + 1;
            end();
            throw NoThread(std::to_string(started) + " of " + std::to_string(count) + " run: " + error.what());
        } catch (...) {
            end();
            throw;
        }
    }
    ~Pool() { end(); }

    void end() {
        {
            std::lock_guard<std::mutex> lock(mutex);
            stop = true;
        }
        start.notify_all();
        for (auto& thread : threads) thread.join();
        threads.clear();
    }
    void work(int worker) noexcept {
        FlushTiny flush;
        try {
            if (worker) may_fail(WORK);
            for (size_t k = 0; k < parts.size(); ++k) {
                Part& part = parts[(static_cast<size_t>(worker) + k) % parts.size()];
                for (int t = part.next++; t < part.end; t = part.next++) (*task)(worker, t);
            }
        } catch (...) {
            for (Part& part : parts) part.next = part.end;  // the round is lost: nobody begins another of its tasks
            std::lock_guard<std::mutex> lock(mutex);
            if (!failure) failure = std::current_exception();
        }
    }
    // Rounds follow each other closely: whoever waits looks some microseconds long before it sleeps.
    template <class Ready> static void look(Ready&& ready) {
        for (int k = 0; k < 1000 && !ready(); ++k) pause();
    }
    static void pause() {
#if defined(__x86_64__)
        _mm_pause();
#endif
    }
    void serve(int worker) {
        int64_t seen = 0;
        std::unique_lock<std::mutex> lock(mutex);
        for (;;) {
            lock.unlock();
            look([&] { return round != seen; });
            lock.lock();
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
            const int64_t all = count, workers = static_cast<int64_t>(parts.size());
            for (int64_t k = 0; k < workers; ++k) {
                parts[k].next = static_cast<int>(all * k / workers);
                parts[k].end = static_cast<int>(all * (k + 1) / workers);
            }
            busy = static_cast<int>(threads.size());
            ++round;
        }
        start.notify_all();
        work(0);
        look([&] { return busy == 0; });
        std::unique_lock<std::mutex> lock(mutex);
        finish.wait(lock, [&] { return busy == 0; });
        if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
    }
};

}  // namespace
