# SPDX-License-Identifier: MIT OR Apache-2.0
"""Test suites of C compilers, for the scripts beside: fetched once, and what their programs want."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile

import debian
from debian import HERE

TORTURE = "gcc/testsuite/gcc.c-torture/execute"
C_TESTSUITE = "https://github.com/c-testsuite/c-testsuite"
C_TESTSUITE_COMMIT = "5c7275656d751de0e68b2d340a95b5681858ed07"


def say(text):
    print(f"{os.path.relpath(sys.argv[0])}: {text}", file=sys.stderr, flush=True)


def fail(text):
    say(text)
    sys.exit(1)


def run(command, folder, limit=600, environment=None, errors=subprocess.STDOUT):
    """Runs a command; gives its exit code, or less than 0 for a signal, and what it printed."""
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=errors, timeout=limit, env=environment)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return "late", b""


def torture(package, folder, sources=None):
    """The programs of gcc.c-torture/execute with its folder ieee: of a folder, or else of Debian's source package of gcc."""
    place = sources or os.path.join(folder, "execute")
    if not os.path.isdir(place):
        fetch_torture(package, place)
    return sorted(glob.glob(f"{place}/*.c") + glob.glob(f"{place}/ieee/*.c"))


def fetch_torture(package, place):
    say(f"fetching the source of {package}")
    tree = debian.source(package, os.path.dirname(place))
    if not tree:
        sys.exit(1)
    # Debian's source has gcc's own archive inside.
    for path in sorted(glob.glob(f"{tree}/*.tar.*")):
        unpack(path, place + ".tmp")
    inside = os.path.join(tree, TORTURE)
    if os.path.isdir(inside):
        shutil.move(inside, place + ".tmp")
    if not os.path.isdir(place + ".tmp"):
        fail(f"the source package {package} has no {TORTURE}")
    os.rename(place + ".tmp", place)
    shutil.rmtree(os.path.dirname(tree))


def unpack(path, place):
    """Unpacks the suite from an archive."""
    with tarfile.open(path) as archive:
        for member in archive:
            if f"/{TORTURE}/" in f"/{member.name}" and member.isfile():
                write_member(archive, member, place)


def write_member(archive, member, place):
    name = f"/{member.name}".split(f"/{TORTURE}/", 1)[1]
    path = os.path.join(place, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        shutil.copyfileobj(archive.extractfile(member), file)


def c_testsuite(folder):
    """The programs of c-testsuite; beside each is a file `.expected` with what it prints."""
    place = os.path.join(folder, "c-testsuite")
    if not os.path.isdir(place):
        say(f"fetching {C_TESTSUITE}")
        partial = place + ".tmp"
        shutil.rmtree(partial, ignore_errors=True)
        git = ["git", "-C", partial]
        for command in [
            ["git", "init", "--quiet", partial],
            [*git, "fetch", "--quiet", "--depth", "1", C_TESTSUITE, C_TESTSUITE_COMMIT],
            [*git, "checkout", "--quiet", "FETCH_HEAD"],
        ]:
            code, text = run(command, folder)
            if code:
                fail(f"{' '.join(command)} failed: {text.decode(errors='replace').strip()}")
        os.rename(partial, place)
    return sorted(glob.glob(f"{place}/tests/single-exec/*.c"))


def flags_of(path):
    """What a program of the torture suite wants to be compiled with, by its comments."""
    with open(path, errors="replace") as file:
        text = file.read()
    found = re.findall(r'dg-(?:additional-)?options\s+"([^"]*)"\s*}', text)
    flags = [word for words in found for word in words.split() if not word.startswith("-O")]
    # The suite is of C as it was.
    return flags if any(flag.startswith("-std") for flag in flags) else [*flags, "-std=gnu89"]
