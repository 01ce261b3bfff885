// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes documents of JSON, writes and reads them, and looks things up, with templates throughout.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "nlohmann/json.hpp"

using nlohmann::json;

static long sum_of(const json &value)
{
	if (value.is_number_integer())
		return value.get<long>();
	long sum = 0;
	if (value.is_structured())
		for (const auto &part : value)
			sum += sum_of(part);
	return sum;
}

int main(int argc, char **argv)
{
	const int times = argc > 1 ? std::atoi(argv[1]) : 1;
	long sum = 0;
	for (int i = 0; i < times; i++) {
		json all = json::array();
		for (int j = 0; j < 300; j++)
			all.push_back({ { "name", "item " + std::to_string(j) },
					{ "size", j * 7 },
					{ "share", j / 8.0 },
					{ "tags", { "a", "b\n", std::to_string(j % 5) } } });
		const std::string text = all.dump(i % 2 ? 2 : -1);
		const json read = json::parse(text);
		sum += sum_of(read) + static_cast<long>(text.size());
		for (const auto &item : read)
			sum += static_cast<long>(item.at("name").get<std::string>().size());
		sum += read == all;
	}
	std::printf("%ld\n", sum);
	return 0;
}
