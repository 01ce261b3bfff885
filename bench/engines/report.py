# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figures as JSON and as tables."""

import statistics


def figures(turns, built, asked):
    """What `trimtab.jar.bench/1` says of a program in an engine that was asked for some rounds."""
    # A JIT compiles in the first half.
    warm = [value for turn in turns for value in turn.seconds[len(turn.seconds) // 2 :]]
    result = {
        "first_s": round(statistics.mean(turn.first for turn in turns), 4),
        "first_cpu_s": round(statistics.mean(turn.first_cpu for turn in turns), 3),
        "warm_s": {"mean": round(statistics.mean(warm), 5), "low": min(warm), "high": max(warm)},
        "size": built.size,
        "memory_mib": round(max(turn.memory_mib for turn in turns), 1),
    }
    fewest = min(len(turn.seconds) for turn in turns)
    notes = [built.note] if built.note else []
    if fewest < asked:
        notes.append(f"ended after {fewest} of {asked} rounds")
    # What was ended so early is not warm: its rows are printed, but no summary has them.
    result["warmed"] = 2 * fewest >= asked
    if notes:
        result["note"] = "; ".join(notes)
    return result


def add_ratios(program):
    """Warm times as multiples of the native one, if that was measured: means, and fastest rounds, which other
    load on the machine disturbs least."""
    base = program["engines"].get("native", {}).get("warm_s")
    for engine in program["engines"].values():
        if base and "warm_s" in engine:
            engine["ratio_native"] = round(engine["warm_s"]["mean"] / base["mean"], 3)
            engine["ratio_native_low"] = round(engine["warm_s"]["low"] / base["low"], 3)


def print_header():
    print(f"{'program':13}{'engine':14}{'first s':>9}{'cpu s':>8}{'warm s':>9}{'low':>9}{'high':>9}{'× native':>10}{'KB':>8}{'MiB used':>10}")


def print_program(program):
    """A row for each engine. KB are of files, MiB of memory."""
    for name, engine in program["engines"].items():
        row = f"{program['name']:13}{name:14}"
        if "why" in engine:
            print(f"{row}  none: {engine['why']}", flush=True)
            continue
        warm = engine["warm_s"]
        row += f"{engine['first_s']:9.3f}{engine['first_cpu_s']:8.2f}{warm['mean']:9.3f}{warm['low']:9.3f}{warm['high']:9.3f}"
        ratio = f"{engine['ratio_native']:10.2f}" if "ratio_native" in engine else f"{'':10}"
        note = f"  {engine['note']}" if "note" in engine else ""
        print(f"{row}{ratio}{engine['size'] / 1e3:8.0f}{engine['memory_mib']:10.0f}{note}", flush=True)


def warm(engine):
    return engine["warm_s"]["low"]


def first(engine):
    return engine["first_s"]


def first_cpu(engine):
    # A process of less than a tick counts as one.
    return max(engine["first_cpu_s"], 0.01)


def print_table(programs, names, title, value, number):
    """A row for each program, a column for each engine."""
    print(f"\n{title}\n{'':13}" + "".join(f"{name:>15}" for name in names))
    for program in programs:
        cells = [value(program, name) for name in names]
        print(f"{program['name']:13}" + "".join(f"{format(cell, number) if cell else '-':>15}" for cell in cells))
    # Means of different programs cannot be compared.
    columns = [[value(program, name) for program in programs] for name in names]
    texts = [format(statistics.geometric_mean(cells), number) if all(cells) else "-" for cells in columns]
    print(f"{'geom. mean':13}" + "".join(f"{text:>15}" for text in texts))


def warmed(program, name):
    return program["engines"].get(name, {}).get("warmed", False)


def compare(programs, names, of, what):
    """Each engine against our jar, on the programs that both ran; and where it is faster."""
    for name in names:
        both = {
            program["name"]: of(program["engines"][name]) / of(program["engines"]["jar"])
            for program in programs
            if warmed(program, name) and warmed(program, "jar")
        }
        if not both or name == "jar":
            continue
        faster = [f"{program} ({1 / ratio:.2f} ×)" for program, ratio in both.items() if ratio < 1]
        mean = statistics.geometric_mean(both.values())
        where = f"faster than the jar on {', '.join(faster)}" if faster else "slower than the jar on each"
        print(f"  {name}: {what} takes {mean:.2f} × the jar's time on {len(both)} programs; {where}")


def summary(report, names):
    """Tables of all programs, and how the others compare with our jar."""
    programs = report["programs"]

    def ratio(program, name):
        return program["engines"].get(name, {}).get("ratio_native_low") if warmed(program, name) else None

    def first_of(program, name):
        return program["engines"].get(name, {}).get("first_s")

    def cpu_of(program, name):
        engine = program["engines"].get(name, {})
        return first_cpu(engine) if "warm_s" in engine else None

    print_table(programs, names, "The fastest warm round, as a multiple of the fastest native one", ratio, ".2f")
    print_table(programs, names, "From the start of the process to the end of the first round, seconds", first_of, ".2f")
    print_table(programs, names, "The same, seconds of processors, by all threads", cpu_of, ".2f")
    print("\nAgainst the jar (geometric means):")
    compare(programs, names, warm, "the fastest warm round")
    compare(programs, names, first, "the first round, with the start of the process,")
    compare(programs, names, first_cpu, "the processors' time until then")
