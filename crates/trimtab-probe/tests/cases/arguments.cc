/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What C++ hands over beside what the source says, and functions that end with it. */
#include <cstdio>
#include "arguments.h"

#define KEEP __attribute__((noinline))

static volatile long zero;

template <class... All> KEEP long some_pack(All... all)
{
	return other_ten(all...);
}

template <class... All> KEEP long none_pack(All... all)
{
	return other_two(all..., 5);
}

struct Left {
	virtual ~Left() {}
	virtual long left() { return 1 + zero; }
};

struct Right {
	long own = 3;
	virtual ~Right() {}
	virtual long sum(long a, long b, long c, long d, long e, long f, long g, long h);
};

KEEP long Right::sum(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return own + other_eight(a, b, c, d, e, f, g, h);
}

/* Right's callers come by way of a thunk. */
struct Both : Left, Right {
	long mine = 4;
	KEEP long sum(long a, long b, long c, long d, long e, long f, long g, long h) override
	{
		return mine * other_eight(a, b, c, d, e, f, g, h);
	}
};

struct Base {
	long all;
	KEEP Base(long a, long b, long c, long d, long e, long f, long g)
	{
		all = other_eight(a, b, c, d, e, f, g, 8);
	}
};

/* Its constructor has the arguments of the other one. */
struct Inherits : Base {
	using Base::Base;
};

struct Virtual {
	long kept = 1;
	virtual ~Virtual() {}
};

/* Its constructor, called by that of Last, gets a table of tables, too. */
struct Middle : virtual Virtual {
	long all;
	KEEP Middle(long a, long b, long c, long d, long e)
	{
		volatile long room[5] = { a, b, c, d, e };

		all = room[(a + zero) % 5] + kept + e;
	}
};

struct Last : Middle {
	KEEP Last(long a) : Middle(a, 2, 3, 4, a) {}
};

struct Member {
	long value;
	KEEP long indexed(long at) const
	{
		volatile long room[4] = { value, 2, 3, 4 };

		return room[at & 3];
	}
	KEEP long ends(long n) const { return other_two(n + value, value); }
};

KEEP long by_member(long (Member::*which)(long) const, const Member &member, long n)
{
	return (member.*which)(n);
}

int main()
{
	Both both;
	Right *right = &both;
	Member member = { 5 };
	long sum = 0;

	for (long i = 0; i < 50; i++) {
		Inherits inherits(i, 2, 3, 4, 5, 6, 7);
		Last last(i);

		sum = sum * 3 + some_pack(i, 2l, 3l, 4l, 5l, 6l, 7l, 8l, 9l, 10l) + none_pack(i);
		sum ^= right->sum(i, 2, 3, 4, 5, 6, 7, 8) + inherits.all + last.all;
		sum += member.indexed(i) + member.ends(i) + by_member(&Member::ends, member, i);
	}
	std::printf("%ld %ld\n", sum, both.left());
	return 0;
}
