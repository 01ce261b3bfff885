# SPDX-License-Identifier: MIT OR Apache-2.0
"""Steps that build something, and measured processes."""

import os
import signal
import subprocess
import threading
import time


class CannotRun(Exception):
    """An engine has no figure for a program; the message says why."""


def step(command, folder, log, what):
    """Runs what builds something; gives its output. What it says is kept in a log."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"$ {' '.join(map(str, command))}\n{said}")
    if done.returncode != 0:
        raise CannotRun(f"{what} failed: {reason(said)}; see {log}")
    return done.stdout


def reason(said):
    """The line of a tool's output that says what is wrong."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    wrong = [line for line in lines if "rror" in line or "xception" in line]
    return (wrong or lines or ["it said nothing"])[0][:160]


class Turn:
    """One process of many rounds: `first` is from its start to the end of its first round, in seconds, and
    `first_cpu` what all its threads used of the processors until then."""

    def __init__(self, first, first_cpu, seconds, result, memory_mib):
        self.first, self.first_cpu, self.seconds = first, first_cpu, seconds
        self.result, self.memory_mib = result, memory_mib


def processor_seconds(pid):
    """What a running process has used, by all its threads."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        # The name, in parentheses, may have blanks.
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def turn(command, count, limit, folder):
    """Runs a program for some rounds, in a folder where it may write. A limit of seconds ends it; what was finished by then counts."""
    start = time.monotonic()
    process = subprocess.Popen(
        [*command, str(count)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    said = []
    reader = threading.Thread(target=lambda: said.append(process.stderr.read()))
    reader.start()
    timer = threading.Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
    timer.start()
    first, first_cpu, lines = None, None, []
    for line in process.stdout:
        # The last one may be cut by the limit.
        if line.endswith("\n"):
            if not lines:
                first, first_cpu = time.monotonic() - start, processor_seconds(process.pid)
            lines.append(line.split())
    # Popen does not tell what a child used.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    timer.cancel()
    reader.join()
    if process.returncode != 0 and not (lines and process.returncode == -signal.SIGKILL):
        late = f"no round was done after {limit} s"
        raise CannotRun(late if process.returncode == -signal.SIGKILL else reason(said[0]))
    results = {line[1] for line in lines}
    if len(results) != 1:
        raise CannotRun(f"rounds computed different things: {results}")
    return Turn(first, first_cpu, [float(line[0]) for line in lines], results.pop(), usage.ru_maxrss / 1024)
