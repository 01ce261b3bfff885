# SPDX-License-Identifier: MIT OR Apache-2.0
"""C programs for MIPS, in qemu-mipsel and as jars: whether both do the same. For scripts with many programs: the run time of jars is
compiled once, programs are linked and translated in groups, as most of that is for the C library, and one JVM runs many, each
isolated from the others."""

import base64
import concurrent.futures
import os
import queue
import shutil
import subprocess
import sys
import threading

from suites import HERE, fail, run, say

CC = "mipsel-linux-gnu-gcc"
NM, OBJCOPY = "mipsel-linux-gnu-nm", "mipsel-linux-gnu-objcopy"
# Seconds that a program may take in qemu, and as a jar.
LIMIT = 10
JAR_LIMIT = 60
# Programs that are linked as one.
GROUP = 32


def need(*tools):
    """Ends with a message where one of these tools is missing."""
    for tool in [CC, "qemu-mipsel", "java", "javac", *tools]:
        if not shutil.which(tool):
            say(f"there is no {tool}; install it with: ./setup --for all")
            sys.exit(2)


def text_of(said):
    return said.decode(errors="replace").strip()


class Lines:
    """A process that answers a line with a line; started when it is needed."""

    def __init__(self, command, limit):
        self.command, self.limit, self.process = command, limit, None

    def ask(self, line):
        """The answer, or none where the process ended or took too long."""
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        watch = threading.Timer(self.limit, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except OSError:
            answer = ""
        watch.cancel()
        if not answer.endswith("\n"):
            self.close()
            return None
        return answer[:-1]

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


class Worker:
    """What translates and runs programs, one group after the other."""

    def __init__(self, folder, translator, number, interpret):
        self.folder = os.path.join(folder, str(number))
        os.mkdir(self.folder)
        # The run time is in each jar; this one is for what starts them.
        run_time = os.path.join(self.folder, "run-time.jar")
        self.translator = Lines([translator, run_time], 300)
        self.translator.ask("")
        classes = os.path.join(self.folder, "classes")
        code, said = run(["javac", "-cp", run_time, "-d", classes, f"{HERE}/bench/RunJars.java"], HERE)
        if code:
            fail(f"javac failed: {text_of(said)}")
        java = ["java", "-XX:+UseSerialGC", "-Xmx700m", "-XX:MaxMetaspaceSize=400m"]
        if not interpret:
            # Short runs do not repay the better of the JVM's two compilers.
            java.append("-XX:TieredStopAtLevel=1")
        how = [str(JAR_LIMIT), *(["interpret"] if interpret else [])]
        self.java = Lines([*java, "-cp", f"{run_time}:{classes}", "RunJars", *how], JAR_LIMIT + 30)

    def check(self, programs):
        """What became of each program: ("same", ""), ("differs", how), or the reason to pass it over, and details."""
        results = [self.compile(index, program) for index, program in enumerate(programs)]
        alone = [index for index, program in enumerate(programs) if program.alone]
        together = [index for index in range(len(programs)) if index not in alone]
        for group in [together, *([index] for index in alone)]:
            group = [index for index in group if results[index] is None]
            self.check_linked(programs, group, results)
        return results

    def compile(self, index, program):
        """Compiles a program so that its functions have names of their own; gives the reason to pass it over, if any."""
        why = program.compile(self.folder, f"{index}.o")
        if why:
            return why
        # They cannot become local: the linker takes an access to a local symbol for one of another kind.
        code, said = run([NM, "--defined-only", "--extern-only", "--format=just-symbols", f"{index}.o"], self.folder)
        names = [f"{name} {name}_{index}\n" for name in text_of(said).split()]
        with open(f"{self.folder}/names", "w") as file:
            file.write("".join(names))
        code, said = run([OBJCOPY, "--redefine-syms=names", f"{index}.o"], self.folder)
        return ("does not link", text_of(said)) if code else None

    def check_linked(self, programs, group, results):
        """Links a group as one program, whose argument says which it is, and notes what became of each. If that does not work
        for all, it is done for each half."""
        if not group:
            return
        elf = os.path.join(self.folder, "program")
        with open(f"{elf}.c", "w") as file:
            file.write("".join(f"int main_{index}();\n" for index in group))
            cases = "".join(f"case {index}: return main_{index}(argc - 1, argv + 1);\n" for index in group)
            file.write(f"int atoi(const char *);\nint main(int argc, char **argv) {{ switch (atoi(argv[1])) {{ {cases} }} return 99; }}\n")
        objects = [f"{index}.o" for index in group]
        code, said = run([CC, "-O2", "-static", "program.c", *objects, "-o", elf, "-lm", "-pthread"], self.folder)
        what, how = ("does not link", text_of(said)) if code else (None, self.translator.ask(elf))
        if what is None and how != "ok":
            what, how = "differs", f"is not translated: {how}"
        if what is None:
            for index in group:
                results[index] = self.compare(programs[index], elf, index)
        elif len(group) == 1:
            results[group[0]] = what, how
        else:
            middle = len(group) // 2
            self.check_linked(programs, group[:middle], results)
            self.check_linked(programs, group[middle:], results)
            return
        if len(group) > 1:
            for index in group:
                if results[index][0] == "differs":
                    within = results[index][1]
                    self.check_linked(programs, [index], results)
                    if results[index][0] != "differs":
                        results[index] = "differs", f"only where it is linked with {len(group) - 1} others: {within}"
        elif results[group[0]][0] == "differs":
            programs[group[0]].keep(self.folder)

    def compare(self, program, elf, index):
        """What became of a program that was translated."""
        plain = self.qemu(elf, index)
        why = program.unfit(*plain)
        if why:
            return why
        status, out, errors = self.run_jar(elf, index)
        if (status, out) == plain:
            return "same", ""
        if self.qemu(elf, index) != plain:
            return "prints something else each time", ""
        if status != plain[0]:
            return "differs", f"ends with {status}, in qemu with {plain[0]}; {errors}"
        return "differs", f"prints {out[:500]}, in qemu {plain[1][:500]}"

    def qemu(self, elf, index):
        """How a program ends, as shells number it, and what it prints."""
        code, out = run(["qemu-mipsel", elf, str(index)], self.folder, LIMIT, errors=subprocess.DEVNULL)
        return (128 - code if isinstance(code, int) and code < 0 else code), out

    def run_jar(self, elf, index):
        """The same of its jar, and what is in its error output."""
        answer = self.java.ask(f"{elf}.jar {index}")
        if answer is None:
            return "nothing", b"", "the JVM ended, or took too long"
        status, out, errors = answer.split(" ")
        if status == "158":
            # It may compute on.
            self.java.close()
        status = int(status) if status.isdigit() else status
        return status, base64.b64decode(out), text_of(base64.b64decode(errors))

    def close(self):
        self.translator.close()
        self.java.close()


def build_translator():
    """What translates many programs."""
    build = ["cargo", "build", "--quiet", "--release", "--package", "trimtab-jar", "--example", "jars"]
    if subprocess.run(build, cwd=HERE, check=False).returncode:
        sys.exit(1)
    return os.path.join(HERE, os.environ.get("CARGO_TARGET_DIR", "target"), "release/examples/jars")


def check_all(programs, folder, interpret=False):
    """What became of each program, in their order; says how far it is. Jars can interpret all instructions. A program says how it is compiled (`compile`), whether it must not be linked
    with others (`alone`), whether it is passed over by what it does in qemu (`unfit`), what is kept where it differs (`keep`), and
    what it is (`line`)."""
    translator = build_translator()
    count = os.cpu_count() or 1
    free, done = queue.Queue(), []
    workers = [Worker(folder, translator, number, interpret) for number in range(count)]
    for worker in workers:
        free.put(worker)

    def check(group):
        worker = free.get()
        try:
            results = worker.check(group)
        finally:
            free.put(worker)
        for program, (what, details) in zip(group, results):
            if what == "differs":
                say(program.line(details))
        done.append(len(group))
        say(f"{sum(done)} of {len(programs)}")
        return results

    try:
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            groups = [programs[at:at + GROUP] for at in range(0, len(programs), GROUP)]
            return [result for results in pool.map(check, groups) for result in results]
    finally:
        for worker in workers:
            worker.close()
