// SPDX-License-Identifier: MIT OR Apache-2.0
// Functions that exceptions pass, start in and end in, for being co-located.
#include <cstdio>
#include <string>

#define OWN extern "C" __attribute__((noinline, noclone))

static int alive;
struct Counted {
    Counted() { alive++; }
    ~Counted() { alive--; }
};

OWN int throws(int a)
{
    if (a % 5 == 0)
        throw a;
    if (a % 7 == 0)
        throw std::string("seven");
    return a * 3;
}
// It does not look at what passes it.
OWN int passes(int a) { return throws(a) + throws(a + 1) * 2; }
OWN int cleans_up(int a)
{
    Counted counted;
    return passes(a) + alive;
}
OWN int catches(int a)
{
    try {
        return cleans_up(a) - passes(a + 2);
    } catch (int number) {
        return number + 1000;
    }
}
OWN int around(int a)
{
    int sum = 0;
    for (int i = 0; i < 3; i++)
        sum = sum * 5 + catches(a + 11 * i);
    return sum;
}
OWN int catches_all(int a)
{
    try {
        return around(a);
    } catch (const std::string &text) {
        return int(text.size()) + catches(a % 5 + 1);
    }
}

int main()
{
    unsigned sum = 0;
    for (int i = 0; i < 2000; i++)
        sum = sum * 31 + catches_all(i);
    std::printf("%x %d\n", sum, alive);
    return 0;
}
