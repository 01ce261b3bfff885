// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that change the same variables by compare and swap, as often as the argument says: counters of all sizes, a list of
// which they take and to which they give back, and a lock of one byte. Nothing may be lost, nor be seen twice.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static constexpr int THREADS = 4;
static constexpr int NODES = 16;

static int count;
static std::atomic<uint8_t> byte;
static std::atomic<uint16_t> half;
static std::atomic<uint32_t> word;
static std::atomic<uint64_t> twice;
static std::atomic<int> busy{-1};
static std::atomic<uint8_t> lock;
static int guarded;

template <class T> static void add(std::atomic<T> &to, bool weak)
{
    T seen = to.load(std::memory_order_relaxed);
    if (weak)
        while (!to.compare_exchange_weak(seen, seen + 1))
            ;
    else
        while (!to.compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel))
            ;
}

// The number of a node, and above it one that counts changes: the same node is another when it comes back.
static std::atomic<uint32_t> head;
static uint32_t next[NODES + 1];
static std::atomic<int> users[NODES + 1];
static std::atomic<int> shared;

static void give(uint32_t node)
{
    uint32_t seen = head.load();
    do
        next[node] = seen & 0xff;
    while (!head.compare_exchange_weak(seen, ((seen & ~0xffu) + 0x100) | node));
}

static uint32_t take()
{
    uint32_t seen = head.load();
    while ((seen & 0xff) != 0) {
        uint32_t after = __atomic_load_n(&next[seen & 0xff], __ATOMIC_RELAXED);
        if (head.compare_exchange_weak(seen, ((seen & ~0xffu) + 0x100) | after))
            return seen & 0xff;
    }
    return 0;
}

static void work(int number)
{
    for (int i = 0; i < count; i++) {
        add(word, (i & 1) != 0);
        switch (i & 15) {
        case 0: add(byte, true); break;
        case 1: add(half, false); break;
        case 2: add(twice, true); break;
        case 3:
            if (uint32_t node = take()) {
                shared += users[node]++ != 0;
                users[node]--;
                give(node);
            }
            break;
        case 4:
            while (lock.exchange(1, std::memory_order_acquire) != 0)
                std::this_thread::yield();
            guarded++;
            lock.store(0, std::memory_order_release);
            break;
        case 5:
            int none = -1;
            if (busy.compare_exchange_strong(none, number))
                busy.store(-1);
            break;
        }
    }
}

int main(int argc, char **argv)
{
    count = argc > 1 ? std::atoi(argv[1]) : 0;
    if (count == 0)
        count = 20000;
    for (uint32_t node = 1; node <= NODES; node++)
        give(node);
    std::vector<std::thread> threads;
    for (int number = 0; number < THREADS; number++)
        threads.emplace_back(work, number);
    for (auto &thread : threads)
        thread.join();
    int nodes = 0;
    while (take() != 0)
        nodes++;
    std::printf("%u %u %u %llu\n", byte.load(), half.load(), word.load(), (unsigned long long)twice.load());
    std::printf("%d nodes, %d seen twice, %d with the lock, %d\n", nodes, shared.load(), guarded, busy.load());
    return 0;
}
