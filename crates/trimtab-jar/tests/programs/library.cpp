// SPDX-License-Identifier: MIT OR Apache-2.0
// What C++ has beside exceptions: types at run time, streams, containers, algorithms, variables of threads, and threads.
#include <algorithm>
#include <any>
#include <array>
#include <bitset>
#include <chrono>
#include <complex>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <forward_list>
#include <fstream>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <regex>
#include <set>
#include <shared_mutex>
#include <sstream>
#include <stack>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <valarray>
#include <variant>
#include <vector>

using std::cout;

struct Shape { virtual ~Shape() = default; virtual double area() const = 0; int id = 1; };
struct Named { virtual ~Named() = default; virtual std::string name() const { return typeid(*this).name(); } long tag = 2; };
struct Square : virtual Shape, Named { double side = 2; double area() const override { return side * side; } };
struct Cube : Square { double area() const override { return 6 * side * side; } std::string name() const override { return "cube"; } };
struct Other : Named {};

static void types()
{
    Cube cube;
    Square square;
    Other other;
    for (Named *named : std::initializer_list<Named *>{&cube, &square, &other}) {
        auto *shape = dynamic_cast<Shape *>(named);
        auto *whole = dynamic_cast<Cube *>(named);
        cout << named->name() << ' ' << (shape ? shape->area() : -1) << ' ' << (whole != nullptr) << ' ' << typeid(*named).name() << ' '
             << (dynamic_cast<void *>(named) == (shape ? dynamic_cast<void *>(shape) : named)) << '\n';
    }
    try {
        (void)dynamic_cast<Cube &>(static_cast<Shape &>(square));
    } catch (const std::bad_cast &error) {
        cout << error.what() << '\n';
    }
    try {
        Named *none = nullptr;
        cout << typeid(*none).name();
    } catch (const std::bad_typeid &error) {
        cout << error.what() << '\n';
    }
    std::map<std::type_index, int> seen{{typeid(int), 1}, {typeid(Cube), 2}, {typeid(std::string), 3}};
    cout << seen[typeid(Cube)] << typeid(int *).name() << typeid(std::vector<std::pair<int, char>>).name() << '\n';
}

static void streams()
{
    cout << std::hex << std::showbase << 255 << ' ' << std::oct << 8 << std::dec << ' ' << std::setw(8) << std::setfill('*') << 42 << std::setfill(' ')
         << std::fixed << std::setprecision(3) << ' ' << 3.14159 << ' ' << std::scientific << 12345.678 << ' ' << std::hexfloat << 0.1
         << std::defaultfloat << std::noshowbase << ' ' << std::boolalpha << true << ' ' << std::left << std::setw(6) << "ab" << '|' << std::internal
         << std::setw(6) << -5 << '|' << std::right << std::showpos << 7 << std::noshowpos << ' ' << 1e300 * 1e10 << '\n';
    std::istringstream in("12 0x1f 3.5e2 word   rest of it\nnext true -9999999999");
    int number = 0, hexadecimal = 0;
    double real = 0;
    std::string word, line, next;
    bool yes = false;
    in >> number >> std::hex >> hexadecimal >> std::dec >> real >> word;
    std::getline(in >> std::ws, line);
    in >> next >> std::boolalpha >> yes >> number;
    cout << hexadecimal << real << word << line << next << yes << number << in.fail() << in.eof() << '\n';
    {
        std::ofstream out("file.txt");
        for (int i = 0; i < 1000; i++)
            out << i * i << (i % 10 == 9 ? '\n' : ' ');
    }
    std::fstream file("file.txt", std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(100);
    file >> number;
    file.seekp(0, std::ios::end);
    file << "end" << std::flush;
    cout << number << ' ' << file.tellp() << ' ' << file.rdbuf()->in_avail() << '\n';
    std::remove("file.txt");
    std::wstringstream wide;
    wide << L"w\u00e4" << 5;
    cout << wide.str().size() << std::quoted("a \"b\"") << std::put_money(1234) << '\n';
}

static void containers()
{
    std::mt19937 random(5);
    std::vector<int> numbers(2000);
    std::generate(numbers.begin(), numbers.end(), [&] { return int(random() % 1000); });
    auto sorted = numbers;
    std::stable_sort(sorted.begin(), sorted.end(), std::greater<>());
    std::set<int> different(numbers.begin(), numbers.end());
    std::unordered_map<std::string, int> words;
    for (int n : numbers)
        words["w" + std::to_string(n % 97)] += n;
    std::map<std::string, int> ordered(words.begin(), words.end());
    std::priority_queue<int> queue(numbers.begin(), numbers.end());
    std::deque<int> ends;
    std::list<int> list(numbers.begin(), numbers.begin() + 50);
    for (int n : numbers)
        n & 1 ? ends.push_back(n) : ends.push_front(n);
    list.sort();
    list.unique();
    list.remove_if([](int n) { return n % 3 == 0; });
    std::nth_element(numbers.begin(), numbers.begin() + 700, numbers.end());
    cout << sorted[3] << ' ' << different.size() << ' ' << ordered.begin()->second << ' ' << queue.top() << ' ' << ends[99] << ' ' << list.size() << ' '
         << numbers[700] << ' ' << std::accumulate(sorted.begin(), sorted.end(), 0LL) << ' ' << *different.lower_bound(500) << '\n';
    std::valarray<double> values{1, 2, 3, 4};
    std::complex<double> z(1, 2);
    cout << (values * values).sum() << ' ' << z * std::conj(z) << ' ' << std::exp(z) << ' ' << std::pow(z, 2.5) << ' ' << std::bitset<12>(1234) << '\n';
    std::variant<int, std::string, double> either = "text";
    std::any any = 5L;
    std::optional<std::string> maybe;
    cout << std::visit([](auto &x) { std::ostringstream out; out << x; return out.str(); }, either) << ' ' << std::any_cast<long>(any) << ' '
         << maybe.value_or("nothing") << ' ' << std::get<1>(std::make_tuple(1, 2.5, 'c')) << '\n';
    try {
        (void)std::any_cast<int>(any);
    } catch (const std::bad_any_cast &error) {
        cout << error.what() << '\n';
    }
    std::smatch match;
    std::string text = "on 2024-05-17 and 1999-12-31";
    std::regex date(R"((\d{4})-(\d\d)-(\d\d))");
    for (auto at = text.cbegin(); std::regex_search(at, text.cend(), match, date); at = match.suffix().first)
        cout << match[3] << '.' << match[2] << '.' << match[1] << ' ';
    cout << std::regex_replace(text, date, "$3/$2") << '\n';
    std::normal_distribution<double> normal(5, 2);
    std::uniform_int_distribution<int> die(1, 6);
    double sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += normal(random) + die(random);
    cout << std::setprecision(12) << sum << std::setprecision(6) << ' ' << std::string_view("substring").substr(3, 4) << '\n';
}

static std::atomic<int> made, gone;
struct Own {
    int value = ++made;
    ~Own() { gone++; }
};
static thread_local Own own;
static thread_local std::string letters = "x";

static void threads()
{
    std::mutex mutex;
    std::shared_mutex many;
    std::condition_variable changed;
    std::once_flag once;
    std::atomic<int> runs{0};
    int turn = 0, total = 0;
    std::vector<std::thread> all;
    for (int number = 0; number < 6; number++)
        all.emplace_back([&, number] {
            std::call_once(once, [&] { runs++; });
            own.value += number;
            letters += char('a' + number);
            {
                std::unique_lock<std::mutex> guard(mutex);
                changed.wait(guard, [&] { return turn == number; });
                cout << letters << ' ';
                turn++;
                changed.notify_all();
            }
            for (int i = 0; i < 500; i++) {
                if (i % 5 == 0) {
                    std::unique_lock<std::shared_mutex> guard(many);
                    total++;
                } else {
                    std::shared_lock<std::shared_mutex> guard(many);
                    runs += total < 0;
                }
            }
        });
    for (auto &thread : all)
        thread.join();
    cout << runs << ' ' << total << ' ' << made << ' ' << gone << '\n';
    auto doubled = std::async(std::launch::async, [](int n) { return n * 2; }, 21);
    auto late = std::async(std::launch::deferred, [] { return std::string("deferred"); });
    std::promise<int> promise;
    auto future = promise.get_future();
    std::thread([&promise] {
        try {
            throw std::out_of_range("from a thread");
        } catch (...) {
            promise.set_exception(std::current_exception());
        }
    }).join();
    try {
        future.get();
    } catch (const std::out_of_range &error) {
        cout << error.what() << ' ';
    }
    std::packaged_task<int(int)> task([](int n) { return n + 1; });
    auto result = task.get_future();
    std::thread(std::move(task), 8).join();
    std::timed_mutex timed;
    timed.lock();
    bool taken = true;
    std::thread([&] { taken = timed.try_lock_for(std::chrono::milliseconds(5)); }).join();
    cout << doubled.get() << ' ' << late.get() << ' ' << result.get() << ' ' << taken << ' '
         << (future.valid() ? 1 : 0) << '\n';
}

/* What is removed has names that are there elsewhere, too. */
static void files()
{
    namespace fs = std::filesystem;
    fs::create_directories("tree/one/two");
    fs::create_directories("one/two");
    std::ofstream("tree/one/two/file") << "in the tree";
    std::ofstream("one/two/file") << "beside it";
    std::error_code error;
    cout << fs::remove_all("tree", error) << ' ' << error << ' ' << fs::exists("tree") << '\n';
    cout << fs::file_size("one/two/file", error) << '\n';
    cout << fs::remove_all("one") << ' ' << fs::exists("one") << '\n';
}

int main()
{
    types();
    streams();
    containers();
    threads();
    files();
    cout.exceptions(std::ios::badbit);
    return cout.good() ? 0 : 1;
}
