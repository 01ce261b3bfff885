# SPDX-License-Identifier: MIT OR Apache-2.0
"""What runs a program: this machine, our jar, an emulator; and the same program in Java. Each builds it in
a folder of its own."""

import pathlib

from processes import step
from sources import CALLED, HERE, IN_ONE_LOOP, KERNELS, TYPED, TYPES, is_cplusplus


class Built:
    """A program that is ready to run."""

    def __init__(self, command, files, note=None):
        self.command = [str(word) for word in command]
        # What has to be there beside the JVM and the operating system.
        self.size = sum(pathlib.Path(file).stat().st_size for file in files)
        self.note = note


class Engine:
    """By default as many rounds and processes as the user asked for."""

    most_rounds = most_turns = 1 << 30
    # Whether it is the same source, so that it must compute the same.
    compares = True

    def has(self, program):
        """Whether it is to run the program; where it tries and cannot, the reason is reported."""
        return True


class Native(Engine):
    name = "native"

    def build(self, source, folder, log):
        file = folder / "native"
        step(["g++" if is_cplusplus(source) else "gcc", "-O2", *source, "-o", file, "-lm"], HERE, log, "gcc")
        return Built([file], [file])


class Java(Engine):
    """Programs that are also there in Java."""

    name = "java"

    def __init__(self, java):
        self.java = java

    def has(self, program):
        return "-" in program and program.split("-")[1] in TYPES

    def build(self, source, folder, log):
        kernel, kind = log.stem.split("-")
        for name in (TYPED[kernel], "Rounds"):
            text = (KERNELS / "types" / f"{name}.java").read_text(encoding="utf-8")
            (folder / f"{name}.java").write_text(text.replace("NUMBER", kind), encoding="utf-8")
        classes = folder / "classes"
        step(["javac", "-d", classes, *folder.glob("*.java")], HERE, log, "javac")
        return Built([self.java, "-cp", classes, TYPED[kernel]], sorted(classes.iterdir()))


class Mips(Engine):
    """All ways of running a program for MIPS that is compiled alike share its file."""

    file = "mips"
    options = ["-O2"]

    def compile(self, source, folder, log):
        file = folder.parent / self.file
        if not file.exists():
            compiler = "g++" if is_cplusplus(source) else "gcc"
            command = [f"mipsel-linux-gnu-{compiler}", *self.options, "-static", *source, "-o", file, "-lm"]
            step(command, HERE, log, "gcc for MIPS")
        return file


class Jar(Mips):
    name = "jar"

    def __init__(self, trimtab, java, java_options=()):
        self.trimtab, self.java = trimtab, [java, *java_options]

    def translate(self, file, jar, log, *options):
        step([self.trimtab, "--quiet", "jar", file, "-o", jar, *options], HERE, log, "trimtab jar")
        # The folder of the process, as for all, is where a program writes.
        return Built([*self.java, "-Dtrimtab.root=.", "-Dtrimtab.write=true", "-jar", jar], [jar])

    def build(self, source, folder, log):
        return self.translate(self.compile(source, folder, log), folder / "program.jar", log)


class ProfiledJar(Jar):
    """Cut by a profile of two rounds of what is measured."""

    name = "jar-profile"

    def build(self, source, folder, log):
        file, profile = self.compile(source, folder, log), folder / "profile"
        counting = self.translate(file, folder / "counting.jar", log, "--profile-generate").command
        run = [counting[0], f"-Dtrimtab.profile={profile}", *counting[1:], "2"]
        step(run, folder, log, "the jar that counts")
        return self.translate(file, folder / "program.jar", log, "--profile-use", profile)


class JarWithCalls(Jar):
    """Compiled for size, as the paper on co-location has it, and with the functions and calls that the source has: else
    compilers leave few."""

    name = "jar-calls"
    file = "mips-calls"
    options = ["-Os", "-fno-inline", "-fno-ipa-sra", "-fno-ipa-cp"]

    def has(self, program):
        return program.split("-")[0] in CALLED


class CoLocatedJar(JarWithCalls):
    """The same with the functions that call each other most as one method."""

    name = "jar-co-located"
    together = CALLED

    def has(self, program):
        return program.split("-")[0] in self.together

    def build(self, source, folder, log):
        names = ",".join(self.together[log.stem.split("-")[0]])
        return self.translate(self.compile(source, folder, log), folder / "program.jar", log, "--co-locate", names)


class OneLoopJar(CoLocatedJar):
    """Of these only such as one loop calls: else the method has loops with several ways in, which HotSpot hardly optimises."""

    name = "jar-one-loop"
    together = IN_ONE_LOOP


class Qemu(Mips):
    name = "qemu-mipsel"
    # An emulator is as fast at first as later.
    most_rounds = 3

    def build(self, source, folder, log):
        file = self.compile(source, folder, log)
        return Built(["qemu-mipsel", file], [file])
