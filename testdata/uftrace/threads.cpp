// A program with a thread, an overloaded name, and a call into a library.
#include <cstdio>
#include <thread>

#define KEEP __attribute__((noinline))

namespace shop {
KEEP int price(int units) { return units * 3; }
KEEP int price(const char *text) { return text[0]; }
} // namespace shop

static KEEP void leaf() { asm volatile(""); }
KEEP void parent() {
    leaf();
    leaf();
}

int main() {
    parent();
    std::thread thread(parent);
    thread.join();
    printf("%d\n", shop::price(2) + shop::price("x"));
}
