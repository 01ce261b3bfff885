// SPDX-License-Identifier: MIT OR Apache-2.0
// Has Dyninst put the hook of hooks.h into functions of a program, and writes the program that comes of it.
//
// dyninst value|count NAMES PROGRAM RESULT; NAMES is a file with the names of functions, one a line, as they
// are in the table of symbols. PROGRAM has the variables of hooks.c, compiled with -DDYNINST. Prints the names
// of functions that Dyninst cannot instrument, and leaves these alone.
//
// What Dyninst inserts has no variables of its own in a function's frame to keep the value of an entry in. So
// values of entries are added up, and values of exits: by how much the value grew while functions ran is the
// difference, also where they call themselves. It is the fastest way to write this hook in Dyninst. `count`
// adds 1 in place of the value, to numbers of each function.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "BPatch.h"
#include "BPatch_binaryEdit.h"
#include "BPatch_function.h"
#include "BPatch_image.h"
#include "BPatch_point.h"
#include "BPatch_snippet.h"

// As many numbers as hooks.c has.
static const std::size_t PLACES = 65536;

using Points = std::vector<BPatch_point *>;

// Names of functions, each with the place of its numbers.
static std::map<std::string, std::size_t> read(const char *path)
{
	std::ifstream file(path);
	std::map<std::string, std::size_t> places;
	std::size_t place = 0;
	for (std::string line; std::getline(file, line); place++)
		places[line] = place;
	if (places.empty() || place > PLACES)
		throw std::runtime_error(std::string(path) + " has no names, or too many");
	return places;
}

static BPatch_variableExpr &found(BPatch_variableExpr *variable, const char *name)
{
	if (!variable)
		throw std::runtime_error(std::string("the program has no variable ") + name);
	return *variable;
}

class Rewriting {
public:
	Rewriting(BPatch_binaryEdit &program, bool counts)
		: program(program), image(*program.getImage()), type(image.findType("unsigned long")),
		  counts(counts)
	{
		if (!type)
			throw std::runtime_error("Dyninst does not know the type unsigned long");
		value.reset(counts ? new BPatch_snippet(BPatch_constExpr(1L)) :
				     new BPatch_snippet(number("hook_value", 0)));
	}

	// Whether the hook is in a function now.
	bool instrument(BPatch_function &function, std::size_t place)
	{
		const Points *entries = function.findPoint(BPatch_entry), *exits = function.findPoint(BPatch_exit);
		if (!function.isInstrumentable() || !entries || entries->empty() || !exits || exits->empty())
			return false;
		return insert("hook_in", place, *entries, BPatch_callBefore) &&
		       insert("hook_out", place, *exits, BPatch_callAfter);
	}

private:
	BPatch_binaryEdit &program;
	BPatch_image &image;
	BPatch_type *const type;
	const bool counts;
	std::unique_ptr<BPatch_snippet> value;

	BPatch_variableExpr &number(const char *array, std::size_t place)
	{
		const auto base = reinterpret_cast<std::uintptr_t>(
			found(image.findVariable(array, false), array).getBaseAddr());
		const std::string name = std::string(array) + "." + std::to_string(place);
		return found(program.createVariable(name, base + 8 * place, type), array);
	}

	bool insert(const char *array, std::size_t place, const Points &points, BPatch_callWhen when)
	{
		BPatch_variableExpr &sum = number(array, counts ? place : 0);
		const BPatch_arithExpr added(BPatch_assign, sum, BPatch_arithExpr(BPatch_plus, sum, *value));
		return program.insertSnippet(added, points, when) != nullptr;
	}
};

static void rewrite(bool counts, const char *names, const char *from, const char *to)
{
	BPatch patch;
	// What makes code shorter: no floating point in the hook, no guard against hooks that call
	// what has hooks, no frames for debuggers, and only registers that are in use are saved.
	patch.setSaveFPR(false);
	patch.setTrampRecursive(true);
	patch.setInstrStackFrames(false);
	patch.setLivenessAnalysis(true);
	patch.setMergeTramp(true);

	BPatch_binaryEdit *program = patch.openBinary(from, false);
	if (!program)
		throw std::runtime_error(std::string("Dyninst cannot open ") + from);
	const std::map<std::string, std::size_t> places = read(names);
	Rewriting rewriting(*program, counts);
	program->beginInsertionSet();
	for (BPatch_function *function : *program->getImage()->getProcedures(true)) {
		std::vector<std::string> called;
		function->getMangledNames(called);
		for (const std::string &name : called) {
			const auto wanted = places.find(name);
			if (wanted == places.end())
				continue;
			if (!rewriting.instrument(*function, wanted->second))
				std::printf("%s\n", name.c_str());
			break;
		}
	}
	if (!program->finalizeInsertionSet(false))
		throw std::runtime_error("Dyninst cannot put together what was inserted");
	if (!program->writeFile(to))
		throw std::runtime_error(std::string("Dyninst cannot write ") + to);
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		std::fprintf(stderr, "usage: dyninst value|count NAMES PROGRAM RESULT\n");
		return 2;
	}
	try {
		rewrite(!std::strcmp(argv[1], "count"), argv[2], argv[3], argv[4]);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "dyninst: %s\n", error.what());
		return 1;
	}
	return 0;
}
