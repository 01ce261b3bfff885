# SPDX-License-Identifier: MIT OR Apache-2.0
"""The programs: small kernels of jar/bench, some of these in several types of numbers, and real ones from
sources of Debian's packages."""

import pathlib
import shutil

import debian
from processes import CannotRun, step

HERE = pathlib.Path(debian.HERE)
KERNELS = HERE / "jar" / "bench"
# Real programs: package, folder of its sources, and which of these.
PROGRAMS = {
    "bzip2": ("bzip2", ".", "blocksort huffman crctable randtable compress decompress bzlib"),
    "jpeg": ("libstb", ".", ""),
    "lua": ("lua5.4", "src", "* !lua !luac"),
    "lz4": ("lz4", "lib", "lz4"),
    "mujs": ("mujs", ".", "one"),
    "speedtest": ("sqlite3", ".", "sqlite3"),
    "sqlite": ("sqlite3", ".", "sqlite3"),
    "zlib": (
        "zlib",
        ".",
        "adler32 compress crc32 deflate infback inffast inflate inftrees trees uncompr zutil",
    ),
}
# What is also there in Java, with each of these types: path-int, life-double ...
TYPED = {"path": "Path", "life": "Life"}
TYPES = ["int", "short", "float", "double"]
# What also runs with its output to a file.
WRITING = ["adpcm", "keys"]
SQLITE = ["-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"]
# Also what SQLite has in files while it sorts.
OPTIONS = {"sqlite": SQLITE, "speedtest": [*SQLITE, "-DSQLITE_TEMP_STORE=3"]}
# Functions that call each other most.
CALLED = {
    "calls": ["kernel", "first", "second", "third"],
    "path": ["kernel", "search", "take", "reach", "rise", "place", "before"],
    "adpcm": ["kernel", "encode", "decode", "clamp"],
    "keys": ["x25519", "invert", "multiply", "add", "subtract", "carry", "bits"],
}
# Of these, functions that are called in one loop only, and from nowhere else.
IN_ONE_LOOP = {
    "path": ["kernel", "search", "take", "reach", "rise"],
    "adpcm": ["kernel", "encode"],
    "keys": ["x25519", "add", "subtract"],
}
# What only runs where it is asked for: it compares ways to translate.
FURTHER = ["calls"]


def names():
    """All programs, kernels first, but for further ones."""
    kernels = sorted(file.stem for file in KERNELS.iterdir() if file.suffix in (".c", ".cpp"))
    kernels += [f"{kernel}-file" for kernel in WRITING]
    return kernels + [f"{kernel}-{kind}" for kernel in TYPED for kind in TYPES] + sorted(PROGRAMS)


def is_cplusplus(source):
    """Whether a program's compiler is that of C++."""
    return any(word.endswith(".cpp") for word in source)


def debian_source(package, work, log):
    """Unpacks a source package below the work directory."""
    with open(log, "a", encoding="utf-8") as file:
        tree = debian.source(package, work, file)
    if not tree:
        raise CannotRun(f"the source of {package} cannot be fetched; see {log}")
    return pathlib.Path(tree)


def sqlite_in_one_file(tree, work, log):
    """All of SQLite in one file; that needs tclsh."""
    build = work / "sqlite-build"
    if not (build / "sqlite3.c").exists():
        shutil.rmtree(build, ignore_errors=True)
        shutil.copytree(tree, build, symlinks=True)
        step(["./configure", "--disable-tcl"], build, log, "SQLite's configure")
        step(["make", "sqlite3.c"], build, log, "SQLite's make")
    return build


def arguments(name, work, log):
    """What a compiler is given for a program: its files and options."""
    for own in (KERNELS / f"{name}.c", KERNELS / f"{name}.cpp", KERNELS / "further" / f"{name}.c"):
        if own.exists():
            return [str(own)]
    if "-" in name:
        kernel, kind = name.split("-")
        if kind == "file":
            return [str(KERNELS / f"{kernel}.c"), f'-DOUTPUT="{name}.out"']
        return [str(KERNELS / f"{kernel}.c"), f"-DNUMBER={kind}"]
    package, folder, files = PROGRAMS[name]
    tree = debian_source(package, work, log)
    if package == "sqlite3":
        tree = sqlite_in_one_file(tree, work, log)
    if name == "lua":
        # Debian's own header, which only says where shared objects are.
        (work / "lua5.4-deb-multiarch.h").write_text('#define DEB_HOST_MULTIARCH "none"\n', encoding="utf-8")
    sources = tree / folder
    if files.startswith("*"):
        without = {word[1:] for word in files.split()[1:]}
        found = sorted(str(file) for file in sources.glob("*.c") if file.stem not in without)
    else:
        found = [str(sources / f"{file}.c") for file in files.split()]
    driver = str(KERNELS / "programs" / f"{name}.c")
    return ["-w", f"-I{sources}", f"-I{work}", *OPTIONS.get(name, []), driver, *found]
