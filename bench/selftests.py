# SPDX-License-Identifier: MIT OR Apache-2.0
"""The test suites of programs and libraries, for `suites-jar`: what is fetched, how it is compiled, and what is run."""

import glob
import gzip
import os
import pathlib
import re
import sys

import debian
from suites import HERE

OWN = f"{HERE}/crates/trimtab-jar/tests/programs"
# What SQLite's own makefile compiles fuzzcheck with.
FUZZCHECK = """-DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_ENABLE_MEMSYS5 -DSQLITE_OSS_FUZZ -DSQLITE_MAX_MEMORY=50000000
    -DSQLITE_PRINTF_PRECISION_LIMIT=1000 -DSQLITE_ENABLE_FTS4 -DSQLITE_ENABLE_FTS3_PARENTHESIS -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE
    -DSQLITE_ENABLE_GEOPOLY -DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_ENABLE_BYTECODE_VTAB"""
FUZZCHECK_FILES = """test/fuzzcheck.c test/ossfuzz.c test/fuzzinvariants.c ext/recover/dbdata.c ext/recover/sqlite3recover.c
    test/vt02.c sqlite3.c"""
# What SQLite prints by where its memory is: addresses, and whether a check of a malformed database says so once more. Native
# programs do that, too: they print the same from run to run only where addresses are not random.
BY_ADDRESS = rb"vtab:[0-9A-F]+|-{20,}\n(?:quick|integrity)_check = TEXT \[database disk image is malformed\]\n"


class Program:
    """A program: its files, and what the compiler is given beside these."""

    def __init__(self, name, files, flags=()):
        self.name, self.files, self.flags = name, files, list(flags)

    def is_cxx(self):
        return any(file.endswith(".cpp") for file in self.files)


class Run:
    """A run of a program. `files` are copied beside it, by their names there; of what it prints, `ignore` (a pattern) does not
    count, and where `quiet`, nothing does."""

    def __init__(self, program, arguments=(), given=b"", files=None, ignore=None, quiet=False):
        self.program, self.arguments, self.given = program, list(arguments), given
        self.files, self.ignore, self.quiet = files or {}, ignore, quiet

    def said(self, out):
        if self.quiet:
            return b""
        return re.sub(self.ignore, b"", out) if self.ignore else out


def fetched(package, work):
    tree = debian.source(package, work)
    if not tree:
        sys.exit(1)
    return tree


def lua(work, tests):
    """Lua's tests, which its Debian package does not have: --lua-tests names their folder, of the same version."""
    if not tests:
        return None
    sources = f"{fetched('lua5.4', work)}/src"
    with open(f"{work}/lua5.4-deb-multiarch.h", "w") as file:
        # Debian's own header, which only says where shared objects are.
        file.write('#define DEB_HOST_MULTIARCH "none"\n')
    files = [path for path in sorted(glob.glob(f"{sources}/*.c")) if not path.endswith("/luac.c")]
    program = Program("lua", files, [f"-I{work}", "-DLUA_USE_POSIX", "-DLUA_COMPAT_5_3"])
    inputs = {os.path.relpath(path, tests): path for path in glob.glob(f"{tests}/**", recursive=True) if os.path.isfile(path)}
    names = ["all.lua", *sorted(name for name in inputs if name.endswith(".lua") and "/" not in name and name != "all.lua")]
    # `_port`: without other programs, which need `fork`.
    return [Run(program, ["-e", "_port=true _soft=true", name], files=inputs, quiet=True) for name in names]


def sqlite(work, _):
    """SQLite's fuzzcheck with the inputs that fuzzers found."""
    from sources import sqlite_in_one_file

    tree = pathlib.Path(fetched("sqlite3", work))
    build = sqlite_in_one_file(tree, pathlib.Path(work), pathlib.Path(work) / "sqlite.log")
    files = [f"{HERE}/bench/fixed-time.c", *(f"{build}/{name}" for name in FUZZCHECK_FILES.split())]
    flags = [f"-I{build}", f"-I{build}/ext/recover", "-Wl,--wrap=gettimeofday,--wrap=time", *FUZZCHECK.split()]
    program = Program("fuzzcheck", files, flags)
    return [
        Run(program, ["--result-trace", "-v", os.path.basename(path)], files={os.path.basename(path): path}, ignore=BY_ADDRESS)
        for path in sorted(glob.glob(f"{build}/test/fuzzdata*.db"))
    ]


def zlib(work, _):
    tree = fetched("zlib", work)
    library = [path for path in sorted(glob.glob(f"{tree}/*.c"))]
    program = {
        name: Program(name, [f"{tree}/test/{name}.c", *library], [f"-I{tree}", "-D_LARGEFILE64_SOURCE=1"])
        for name in ["example", "minigzip", "infcover"]
    }
    with open(f"{tree}/ChangeLog", "rb") as file:
        text = file.read()
    runs = [Run(program["example"]), Run(program["infcover"])]
    runs += [Run(program["minigzip"], [level], text) for level in ["-1", "-6", "-9", "-f", "-h", "-r"]]
    return [*runs, Run(program["minigzip"], ["-d"], gzip.compress(text))]


def lz4(work, _):
    tree = fetched("lz4", work)
    library = [f"{tree}/lib/{name}.c" for name in ["lz4", "lz4hc", "lz4frame", "xxhash"]]
    flags = ["-DXXH_NAMESPACE=LZ4_", f"-I{tree}/lib", f"-I{tree}/programs"]
    runs = {"fuzzer": ["-s1", "-i100"], "frametest": ["-s1", "-i100"], "decompress-partial": [], "decompress-partial-usingDict": []}
    # They also print addresses, and how far they are now and then.
    return [Run(Program(name, [f"{tree}/tests/{name}.c", *library], flags), arguments, quiet=True) for name, arguments in runs.items()]


def bzip2(work, _):
    tree = fetched("bzip2", work)
    names = ["blocksort", "huffman", "crctable", "randtable", "compress", "decompress", "bzlib", "bzip2"]
    program = Program("bzip2", [f"{tree}/{name}.c" for name in names], [f"-I{tree}", "-D_FILE_OFFSET_BITS=64"])
    runs = []
    for number in "123":
        for way, name in [(f"-{number}", f"sample{number}.ref"), ("-ds" if number == "3" else "-d", f"sample{number}.bz2")]:
            with open(f"{tree}/{name}", "rb") as file:
                runs.append(Run(program, [way], file.read()))
    return runs


def numbers(_work, _):
    """Arithmetic of random numbers in all modes of rounding, and the C library's functions."""
    source = [f"{OWN}/numbers.c"]
    return [
        Run(Program("rounding", source, ["-DROUNDING"]), ["1000000", "arithmetic"]),
        Run(Program("numbers", source), ["1000000", "arithmetic"]),
        Run(Program("numbers", source), ["50000"]),
    ]


def cplusplus(_work, _):
    """Our own programs in C++."""
    exceptions = Program("exceptions", [f"{OWN}/exceptions.cpp"])
    ways = ["argument", "noexcept", "thread", "handler", "exit", "uncaught"]
    return [*(Run(exceptions, [way]) for way in ways), Run(Program("library", [f"{OWN}/library.cpp"], ["-std=c++17"]))]


def threads(_work, _):
    """Ten million times compare and swap."""
    return [Run(Program("atomics", [f"{OWN}/atomics.cpp"], ["-std=c++17", "-latomic"]), ["2500000"])]


SUITES = {"lua": lua, "sqlite": sqlite, "zlib": zlib, "lz4": lz4, "bzip2": bzip2, "numbers": numbers, "c++": cplusplus,
          "threads": threads}
