// Exceptions on every way that they take: past calls, loops, constructors, threads, C, and out of the program.
#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <future>
#include <functional>
#include <memory>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#define FAR __attribute__((noinline))

static int alive;

struct Noisy {
    int number;
    explicit Noisy(int n) : number(n) { alive++; }
    Noisy(const Noisy &other) : number(other.number) { alive++; }
    ~Noisy()
    {
        alive--;
        std::printf("~%d ", number);
    }
};

struct Left { virtual ~Left() = default; int left = 1; };
struct Right { virtual ~Right() = default; int right = 2; };
struct Both : Left, virtual Right { int both = 3; };

FAR static int raise(int how, double number)
{
    Noisy noisy(how);
    switch (how) {
    case 1: throw 42;
    case 2: throw std::runtime_error("runtime");
    case 3: throw std::string("a string");
    case 4: throw Both();
    case 5: throw &alive;
    case 6: throw number;
    case 7: throw 1LL << 40;
    case 8: throw std::out_of_range("range " + std::to_string(number));
    case 9: std::vector<int>().at(3); break;
    case 10: throw Noisy(100);
    case 11: throw std::function<int(int)>([number](int n) { return int(number) + n; });
    }
    return how;
}

// Registers and numbers that live across what is thrown.
FAR static std::string caught(int how)
{
    int a = how * 3, b = how ^ 5;
    double d = how * 1.5;
    long long wide = (long long) how << 33;
    std::string text;
    for (int round = 0; round < 3; round++) {
        a += round;
        d += a;
        try {
            b += raise(round == 1 ? how : 0, d);
            wide += b;
        } catch (int number) {
            text += "int " + std::to_string(number);
        } catch (const std::logic_error &error) {
            text += std::string("logic ") + error.what();
        } catch (const std::exception &error) {
            text += std::string("exception ") + error.what();
        } catch (Right &right) {
            text += "right " + std::to_string(right.right);
        } catch (int *pointer) {
            text += pointer == &alive ? "pointer" : "another";
        } catch (double number) {
            text += "double " + std::to_string(number);
        } catch (long long number) {
            text += "wide " + std::to_string(number);
        } catch (Noisy noisy) {
            text += "noisy " + std::to_string(noisy.number);
        } catch (const std::function<int(int)> &function) {
            text += "function " + std::to_string(function(1));
        } catch (...) {
            text += "other";
        }
    }
    return text + " " + std::to_string(a + b + d + wide);
}

FAR static void again(int depth)
{
    Noisy noisy(depth);
    try {
        if (depth == 0)
            throw std::invalid_argument("deep");
        again(depth - 1);
    } catch (std::invalid_argument &) {
        if (depth % 2)
            throw;
        throw std::invalid_argument("from " + std::to_string(depth));
    }
}

struct Member {
    Noisy first, second;
    std::unique_ptr<Noisy> third;
    Member(int how) try : first(1), second(2), third(new Noisy(3)) {
        raise(how, 0);
    } catch (int number) {
        std::printf("constructor %d ", number);
    }
};

static int compare(const void *a, const void *b)
{
    if (*(const int *) a == 3)
        throw 3;
    return *(const int *) a - *(const int *) b;
}

FAR static void through_c()
{
    int numbers[] = { 9, 1, 3, 2, 8 };
    try {
        std::qsort(numbers, 5, sizeof *numbers, compare);
    } catch (int number) {
        std::printf("through qsort %d\n", number);
    }
}

static jmp_buf back;

FAR static int jumps(volatile int how)
{
    volatile int seen = 0;
    try {
        if (setjmp(back))
            seen += 10;
        if (how == 1) {
            how = 0;
            longjmp(back, 1);
        }
        raise(how, 0);
        raise(1, 0);
    } catch (int number) {
        seen += number;
    }
    return seen;
}

FAR static void kept()
{
    std::exception_ptr pointer;
    try {
        raise(2, 0);
    } catch (...) {
        pointer = std::current_exception();
    }
    for (int i = 0; i < 2; i++) {
        try {
            std::rethrow_exception(pointer);
        } catch (const std::exception &error) {
            std::printf("kept %s %d\n", error.what(), std::uncaught_exceptions());
        }
    }
    try {
        try {
            raise(1, 0);
        } catch (int) {
            std::throw_with_nested(std::runtime_error("outer"));
        }
    } catch (const std::exception &error) {
        try {
            std::rethrow_if_nested(error);
        } catch (int number) {
            std::printf("%s %d\n", error.what(), number);
        }
    }
}

FAR static void threads()
{
    std::vector<std::future<int>> results;
    for (int i = 0; i < 4; i++)
        results.push_back(std::async(std::launch::async, [i] {
            if (i & 1)
                throw std::runtime_error("thread " + std::to_string(i));
            return i;
        }));
    for (auto &result : results) {
        try {
            std::printf("%d\n", result.get());
        } catch (const std::exception &error) {
            std::printf("%s\n", error.what());
        }
    }
    std::atomic<long> sum(0);
    std::vector<std::thread> all;
    for (int t = 0; t < 3; t++)
        all.emplace_back([&sum, t] {
            for (int i = 0; i < 2000; i++) {
                try {
                    if (i % 3 == t)
                        throw i;
                    sum += 1;
                } catch (int number) {
                    sum += number;
                }
            }
        });
    for (auto &thread : all)
        thread.join();
    std::printf("sum %ld\n", sum.load());
}

// What ends a thread destroys its objects.
FAR static void *ends(void *how)
{
    Noisy noisy(50);
    try {
        Noisy inner(51);
        if (how)
            pthread_exit(how);
        for (;;)
            usleep(1000);
    } catch (const std::exception &) {
        std::puts("no exception");
    }
    return nullptr;
}

FAR static void ended()
{
    static int mark;
    for (int way = 0; way < 3; way++) {
        void *how = way == 0 ? &mark : nullptr;
        pthread_t thread;
        void *result = nullptr;
        pthread_create(&thread, nullptr, ends, how);
        // By then it waits, where a signal finds it.
        if (way == 2)
            usleep(300000);
        if (!how)
            pthread_cancel(thread);
        pthread_join(thread, &result);
        std::printf("%s\n", result == &mark ? "exited" : result == PTHREAD_CANCELED ? "cancelled" : "returned");
    }
}

// As many ways out as no method holds that a JVM compiles.
#define TRY(n) \
    try { \
        Noisy guard(n); \
        a = a * 31 + raise(how == n ? 1 : 0, a) + text.size(); \
        if (how > n) \
            text += std::to_string(a); \
        b[n % 16] ^= a; \
    } catch (int number) { \
        a ^= number + n; \
        text += "caught in " #n " "; \
    }
#define TEN(n) TRY(n##0) TRY(n##1) TRY(n##2) TRY(n##3) TRY(n##4) TRY(n##5) TRY(n##6) TRY(n##7) TRY(n##8) TRY(n##9)

FAR static unsigned large(int how)
{
    std::string text;
    unsigned a = how, b[16] = { 0 };
    for (int round = 0; round < 2; round++) {
        TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6)
    }
    for (unsigned part : b)
        a = a * 7 + part;
    std::printf("%s\n", text.substr(0, 200).c_str());
    return a + text.size();
}

FAR static void never(int how) noexcept
{
    Noisy noisy(7);
    raise(how, 0);
}

int main(int, char **argv)
{
    const char *way = argv[1];
    for (int how = 0; how < 12; how++)
        std::printf("%s\n", caught(how).c_str());
    try {
        again(5);
    } catch (const std::exception &error) {
        std::printf("%s\n", error.what());
    }
    try {
        Member member(1);
    } catch (int number) {
        std::printf("again %d\n", number);
    }
    // Nothing is left in main: whether it is destroyed when nobody catches, C++ does not say.
    { Member member(0); }
    through_c();
    std::printf("%d %d\n", jumps(0), jumps(1));
    kept();
    threads();
    ended();
    std::printf("%u %u\n", large(35), large(0));
    std::printf("%d left\n", alive);
    std::fflush(stdout);
    if (!std::strcmp(way, "noexcept"))
        never(2);
    if (!std::strcmp(way, "thread"))
        std::thread([] { raise(3, 0); }).join();
    if (!std::strcmp(way, "handler")) {
        std::set_terminate([] {
            std::puts("terminated");
            std::fflush(stdout);
            std::_Exit(9);
        });
        throw 1;
    }
    if (!std::strcmp(way, "exit")) {
        try {
            throw 1;
        } catch (...) {
            std::exit(3);
        }
    }
    if (!std::strcmp(way, "uncaught"))
        throw std::runtime_error("nobody wants this");
}
