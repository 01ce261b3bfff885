// SPDX-License-Identifier: MIT OR Apache-2.0
// Exceptions through everything: rethrown, nested, across threads, through instrumented and plain
// frames, out of noexcept, with destructors on the way.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define KEEP __attribute__((noinline))
/* Emulators take their time. */
#ifdef FEW
#define ROUNDS 100
#else
#define ROUNDS 20000
#endif

extern "C" int plain_calls(int (*function)(int), int argument);

static std::atomic<int> alive;
struct Counted {
	int id;
	KEEP explicit Counted(int id) : id(id) { alive++; }
	KEEP ~Counted() { alive--; }
};

KEEP int thrower(int n)
{
	if (n % 3 == 0)
		throw n;
	if (n % 3 == 1)
		throw std::runtime_error("text " + std::to_string(n));
	throw std::string("string");
}

// Its first instructions call: the call may throw.
KEEP int passes(int n)
{
	return thrower(n) + 1;
}

KEEP long many(long a, long b, long c, long d, long e, long f, long g, int n)
{
	Counted one(n);
	char room[40];
	std::memset(room, n, sizeof(room));
	if (n <= 0)
		return thrower((int)g) + room[3];
	Counted two(n + 1);
	return many(a, b, c, d, e, f, g + 1, n - 1) + a + room[1];
}

KEEP int catches(int n)
{
	try {
		return many(1, 2, 3, 4, 5, 6, n, n % 7);
	} catch (int number) {
		return number;
	} catch (const std::runtime_error &error) {
		return (int)std::strlen(error.what());
	} catch (...) {
		return -1;
	}
}

KEEP int rethrows(int n)
{
	try {
		Counted counted(n);
		return passes(n);
	} catch (const std::exception &) {
		throw;
	} catch (int number) {
		throw std::string(number % 5, 'x');
	}
}

KEEP int nested(int n)
{
	try {
		return rethrows(n);
	} catch (const std::string &text) {
		try {
			std::throw_with_nested(std::logic_error(text));
		} catch (const std::logic_error &error) {
			try {
				std::rethrow_if_nested(error);
			} catch (const std::string &inner) {
				return (int)inner.size() + 100;
			}
		}
	} catch (const std::runtime_error &) {
		return catches(n) + 1000;
	}
	return 0;
}

struct Destructor {
	int *result;
	KEEP ~Destructor()
	{
		// While another exception is under way.
		*result += catches(5) + nested(4) + std::uncaught_exceptions();
	}
};

KEEP int while_unwinding(int n)
{
	int result = 0;
	try {
		Destructor destructor{&result};
		passes(n);
	} catch (...) {
		result += 7;
	}
	return result;
}

KEEP int through_plain(int n)
{
	Counted counted(n);
	if (n == 0)
		thrower(1);
	return plain_calls(through_plain, n - 1) + 1;
}

KEEP void cannot() noexcept
{
	passes(3);
}

template <typename Function> KEEP int through_template(Function function, int n)
{
	return function(n);
}

struct Base {
	virtual ~Base() = default;
	virtual int go(int n) = 0;
};
struct Derived : Base {
	KEEP int go(int n) override { return n > 10 ? thrower(n) : n; }
};

static void ended()
{
	std::puts("terminated");
	std::fflush(stdout);
	std::_Exit(9);
}

int main()
{
	long sum = 0;
	for (int i = 0; i < ROUNDS; i++)
		sum += catches(i) + nested(i) + while_unwinding(i % 50);
	std::printf("%ld %d\n", sum, alive.load());

	try {
		through_plain(9);
	} catch (const std::exception &error) {
		std::printf("%s %d\n", error.what(), alive.load());
	}

	std::function<int(int)> wrapped = [](int n) { return through_template(passes, n); };
	std::unique_ptr<Base> object = std::make_unique<Derived>();
	for (int i = 9; i < 14; i++) {
		try {
			std::printf("%d ", object->go(i) + wrapped(i));
		} catch (int number) {
			std::printf("int %d ", number);
		} catch (const std::exception &error) {
			std::printf("%s ", error.what());
		} catch (const std::string &text) {
			std::printf("%s ", text.c_str());
		}
	}
	std::puts("");

	std::vector<std::thread> threads;
	std::vector<std::exception_ptr> caught(6);
	for (int i = 0; i < 6; i++)
		threads.emplace_back([&caught, i] {
			for (int k = 0; k < 500; k++)
				catches(k);
			try {
				passes(i);
			} catch (...) {
				caught[i] = std::current_exception();
			}
		});
	for (auto &thread : threads)
		thread.join();
	for (auto &exception : caught) {
		try {
			std::rethrow_exception(exception);
		} catch (int number) {
			std::printf("int %d ", number);
		} catch (const std::exception &error) {
			std::printf("%s ", error.what());
		} catch (...) {
			std::printf("other ");
		}
	}
	std::printf("%d\n", alive.load());
	std::fflush(stdout);
	std::set_terminate(ended);
	cannot();
	std::puts("never");
}
