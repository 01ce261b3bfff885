# SPDX-License-Identifier: MIT OR Apache-2.0
"""Peers: WebAssembly on the JVM, from the same C source. Maven brings them into the work directory."""

import pathlib
import re
import shutil
import subprocess

from engines import Built, Engine
from processes import CannotRun, step
from sources import HERE, KERNELS, is_cplusplus

PEERS = KERNELS / "peers"
# What wasi-libc has only where it is asked for.
WASI = ["-D_WASI_EMULATED_SIGNAL", "-D_WASI_EMULATED_PROCESS_CLOCKS"]
WASI_LIBRARIES = ["-lwasi-emulated-signal", "-lwasi-emulated-process-clocks"]
# It has no setjmp: clang makes it of exceptions of WebAssembly. Nor has it locks of files.
JUMPS = ["-mllvm", "-wasm-enable-sjlj", "-mllvm", "-wasm-use-legacy-eh=false", "-mexception-handling"]
JUMPS += [f"-I{PEERS}/wasi", "-DL_tmpnam=20", str(PEERS / "wasi" / "lacks.c")]
NO_FILES = ["-DSQLITE_OS_OTHER=1", str(PEERS / "wasi" / "files.c")]
LACKS = {"lua": JUMPS, "mujs": JUMPS, "sqlite": NO_FILES, "speedtest": NO_FILES}


class Wasm:
    """Programs compiled for wasm32-wasi, which all peers run."""

    def __init__(self, work):
        self.work, self.files, self.clang = work, {}, None

    def find_clang(self):
        """The newest clang that has a run time for WebAssembly."""
        for version in range(30, 13, -1):
            clang = shutil.which(f"clang-{version}")
            if not clang:
                continue
            ask = [clang, "--target=wasm32-wasi", "-print-libgcc-file-name"]
            library = subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip()
            if pathlib.Path(library).exists():
                return clang
        raise CannotRun("no clang has a library for WebAssembly: ./setup --for jar")

    def compile(self, source, folder, log):
        file = folder.parent / "program.wasm"
        if not file.exists():
            self.clang = self.clang or self.find_clang()
            clang = self.clang.replace("clang-", "clang++-") if is_cplusplus(source) else self.clang
            command = [clang, "--target=wasm32-wasi", "--sysroot=/usr", "-O2", "-w", "-Wl,-s", *WASI]
            source = [*LACKS.get(log.stem, []), *source]
            step([*command, *source, "-o", file, "-lm", *WASI_LIBRARIES], HERE, log, "clang for WebAssembly")
        return file


def fetch(name, work):
    """The folder with a peer's jars."""
    folder = work / "peers" / name
    done = folder / "complete"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        maven = ["mvn", "-q", "-B", "-f", PEERS / "pom.xml", "-P", name, "dependency:copy-dependencies"]
        if not shutil.which("mvn"):
            raise CannotRun("there is no mvn: ./setup --for jar")
        step([*maven, f"-DoutputDirectory={folder}"], HERE, work / f"{name}.log", f"Maven, for {name},")
        done.touch()
    return folder


def path(jars):
    """A class path."""
    return ":".join(str(jar) for jar in jars)


class Chicory(Engine):
    """Chicory, and Endive, which continued it under another name. Translated before the program runs."""

    def __init__(self, name, package, wasm, java):
        self.name, self.package, self.wasm, self.java = name, package, wasm, java
        self.host = None

    def prepare(self, log):
        """The peer's jars and our classes that use them."""
        jars = sorted(fetch(self.name, self.wasm.work).glob("*.jar"))
        host = self.wasm.work / "peers" / f"{self.name}-host"
        shutil.rmtree(host, ignore_errors=True)
        host.mkdir(parents=True)
        for file in ("Translate.java", "Chicory.java"):
            text = (PEERS / file).read_text(encoding="utf-8")
            (host / file).write_text(text.replace("com.dylibso.chicory", self.package), encoding="utf-8")
        step(["javac", "-cp", path(jars), "-d", host, host / "Translate.java"], HERE, log, "javac")
        self.host = host
        self.jars = jars

    def build(self, source, folder, log):
        file = self.wasm.compile(source, folder, log)
        if not self.host:
            self.prepare(log)
        classes, java = folder / "classes", folder / "java"
        classes.mkdir()
        java.mkdir()
        translate = [self.java, "-cp", path([*self.jars, self.host]), "Translate", file, classes, java]
        interpreted = int(step(translate, HERE, log, "its translator").split()[-1])
        sources = [self.host / "Chicory.java", *java.rglob("*.java")]
        needed = [jar for jar in self.jars if re.match("(runtime|wasi|wasm|log)-", jar.name)]
        step(["javac", "-cp", path([*needed, classes]), "-d", classes, *sources], HERE, log, "javac")
        program = folder / "program.jar"
        step(["jar", "--create", "--file", program, "-C", classes, "."], HERE, log, "jar")
        note = f"it interprets {interpreted} functions" if interpreted else None
        return Built([self.java, "-cp", path([*needed, program]), "Chicory"], [*needed, program], note)


class Jdbc(Engine):
    """SQLite in Java, by others: what sqlite.c does, through JDBC."""

    def __init__(self, name, driver, work, java):
        self.name, self.driver, self.work, self.java = name, driver, work, java
        # The SQLite of 2010 that NestedVM translated gives other answers.
        self.compares = name != "nestedvm"

    def has(self, program):
        return program == "sqlite"

    def build(self, source, folder, log):
        jars = sorted(fetch(self.name, self.work).glob("*.jar"))
        step(["javac", "-d", folder, PEERS / "Jdbc.java"], HERE, log, "javac")
        # The second is for NestedVM: no native code.
        driver = [f"-Djdbc.drivers={self.driver}", "-Dsqlite.purejava=true"]
        note = next(jar.stem for jar in jars if "sqlite" in jar.name)
        return Built([self.java, *driver, "-cp", path([*jars, folder]), "Jdbc", "jdbc:sqlite::memory:"], jars, note)


def version(java):
    """The number of a JVM's release, or 0."""
    done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found.group(1)) if found else 0


class GraalWasm(Engine):
    """GraalWasm as an interpreter, or with Graal's compiler on a JVM that takes one (JVMCI)."""

    # It interprets at the same speed all the time, and slowly.
    most_turns = most_rounds = 2
    option = []

    def __init__(self, wasm, java):
        self.wasm, self.java, self.name = wasm, java, "graalwasm"

    def check(self):
        if version(self.java) < 21:
            raise CannotRun("it needs Java 21 or later: name one by --graal-java")

    def needs(self, jars):
        return [jar for jar in jars if not jar.name.startswith("compiler-")]

    def modules(self, jars):
        return ["-cp", path(jars)]

    def build(self, source, folder, log):
        self.check()
        file = self.wasm.compile(source, folder, log)
        jars = self.needs(sorted(fetch("graalwasm", self.wasm.work).glob("*.jar")))
        host = folder / "host"
        step(["javac", "-cp", path(jars), "-d", host, PEERS / "GraalWasm.java"], HERE, log, "javac")
        command = [self.java, *self.modules(jars), "-Dpolyglot.engine.WarnInterpreterOnly=false"]
        return Built([*self.with_host(command, host), "GraalWasm", file], [*jars, file], f"Java {version(self.java)}")

    def with_host(self, command, host):
        at = command.index("-cp") + 1
        return [*command[:at], f"{command[at]}:{host}", *command[at + 1 :]]


class GraalWasmJit(GraalWasm):
    most_turns = most_rounds = 1 << 30
    # What the version of the compiler in the pom is for.
    release = 25

    def __init__(self, wasm, java):
        super().__init__(wasm, java)
        self.name = "graalwasm-jit"

    def check(self):
        if version(self.java) != self.release:
            raise CannotRun(f"its compiler needs Java {self.release} with JVMCI: name one by --graal-java")

    def needs(self, jars):
        return jars

    def modules(self, jars):
        on = ["-XX:+UnlockExperimentalVMOptions", "-XX:+EnableJVMCI", f"--upgrade-module-path={path(jars)}"]
        return [*on, "--add-modules=org.graalvm.polyglot,org.graalvm.wasm", "-cp", ""]

    def with_host(self, command, host):
        at = command.index("-cp") + 1
        return [*command[:at], str(host), *command[at + 1 :]]
