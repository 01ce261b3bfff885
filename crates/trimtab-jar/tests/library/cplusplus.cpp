// A C++ library with functions for C.
#include <stdexcept>
#include <string>

#include "cplusplus.h"

static int destroyed;

struct Counted {
    ~Counted() { destroyed++; }
};

int parse(const char *text)
{
    Counted counted;
    return std::stoi(text);
}

int parse_or(const char *text, int otherwise)
{
    try {
        return parse(text);
    } catch (const std::invalid_argument &) {
        return otherwise;
    }
}

int count_destroyed(void) { return destroyed; }

int main() {}
