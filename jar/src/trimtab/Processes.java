// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import trimtab.embed.Machine;
import trimtab.embed.Program;
import trimtab.embed.Settings;

/**
 * Processes that the program starts. Until such a process executes another program, which is that of another jar, it is a thread in the
 * memory of the program, which waits meanwhile: so do {@code posix_spawn}, {@code system} and {@code popen}. By {@code vfork} it is
 * the thread that calls this, which returns from there once more.
 */
final class Processes {
  /** A system call of our own: where the translator found {@code vfork}. */
  static final int VFORK = 1 << 20;

  private static final int MEMORY = 0x100;
  private static final int WAITS = 0x4000;
  private static final int WITHOUT_WAITING = 1;
  private static final int USAGE = 72;

  /** What a process ends with whose program cannot be started. */
  private static final int NOT_STARTED = 126;

  /** The children that nobody has waited for, by number. */
  private static final Map<Integer, Child> children = new TreeMap<>();

  /** What waits for the program's pipes without being a thread of it. */
  private static final List<Cpu> waiters = new ArrayList<>();

  private Processes() {}

  /** A process that this one started; guarded by the class. */
  static final class Child {
    final int number;

    /** Of {@code vfork}, what the thread is again later; null for others. */
    private final Caller caller;

    /** Whether whoever started it goes on: it executes a program of its own, or has ended. */
    boolean isApart;

    /** The program that it executes; null before. */
    Machine machine;

    boolean hasEnded;

    /** What it ended with, as {@code exit} has it. */
    int status;

    /** The signal that this program sent it; 0 for none. */
    int signal;

    Child(int number, Caller caller) {
      this.number = number;
      this.caller = caller;
    }

    /** As {@code wait} tells it. */
    int word() {
      return signal != 0 ? signal : (status & 255) << 8;
    }
  }

  /** A thread that called {@code vfork}, and where that returns to. */
  private static final class Caller {
    final int back;
    final int stack;
    final Files files;
    final long[] blocked;

    Caller(Cpu cpu, int back, int stack) {
      this.back = back;
      this.stack = stack;
      files = cpu.files;
      blocked = cpu.blocked.clone();
    }

    /** Has the thread be what it was, and return with the number of the process. */
    void again(Cpu cpu) {
      int number = cpu.child.number;
      cpu.child = null;
      cpu.files = files;
      System.arraycopy(blocked, 0, cpu.blocked, 0, blocked.length);
      Jump.away(cpu, back, stack, number);
    }
  }

  /** Another program, in the place of what a process was. */
  static final class Execution {
    final Machine machine;
    private final Settings settings;

    /** Its status, once it has ended. */
    private Integer status;

    Execution(Machine machine, Settings settings) {
      this.machine = machine;
      this.settings = settings;
    }

    /** Runs it to its end, once, and gives its status. */
    synchronized int run() {
      if (status == null) {
        status = runOnce();
      }
      return status;
    }

    private int runOnce() {
      try {
        return machine.run(settings);
      } catch (Throwable thrown) {
        // One whose memory does not fit, a damaged jar, or what its functions in Java throw.
        new PrintStream(settings.err(), true).println(settings.allArguments()[0] + ": " + thrown);
        return NOT_STARTED;
      }
    }
  }

  /** {@code vfork}: the thread is the new process from now on. {@code back} is where it returns to. */
  static int fork(Cpu cpu, int back, int stack) {
    if (back == 0) {
      // It was called through a pointer: no caller is prepared for a second return.
      return -Errors.ENOSYS;
    }
    if (cpu.child != null) {
      return -Errors.EAGAIN;
    }
    Child child = new Child(Threads.next(), new Caller(cpu, back, stack));
    cpu.child = child;
    cpu.files = cpu.files.copy();
    synchronized (Processes.class) {
      children.put(child.number, child);
    }
    return 0;
  }

  /** {@code exit}. */
  static int exit(Cpu cpu, int status, boolean all) {
    if (cpu.child != null && cpu.child.caller != null) {
      end(cpu.child, cpu.files, status);
      cpu.child.caller.again(cpu);
    }
    throw new Exit(status, all);
  }

  /** {@code clone}, for a process that shares the memory until it executes something. */
  static int start(Cpu parent, int flags, int stack, int own) {
    if ((flags & (MEMORY | WAITS)) != (MEMORY | WAITS) || stack == 0 || stack == own) {
      // A copy of the memory; or a second return that no caller is prepared for.
      return -Errors.ENOSYS;
    }
    Child child = new Child(Threads.next(), null);
    Cpu cpu = new Cpu();
    cpu.number = child.number;
    cpu.usage = new Usage();
    cpu.child = child;
    cpu.thread = parent.thread;
    cpu.control = parent.control;
    cpu.blocked = parent.blocked.clone();
    cpu.pending = new LinkedHashMap<>();
    cpu.files = parent.files.copy();
    int function = Memory.readInt(stack);
    int argument = Memory.readInt(stack + 4);
    Runnable code = () -> run(cpu, function, argument, stack);
    synchronized (Processes.class) {
      children.put(child.number, child);
    }
    try {
      thread(child, code).start();
    } catch (OutOfMemoryError e) {
      synchronized (Processes.class) {
        children.remove(child.number);
      }
      cpu.files.closeFrom(0);
      return -Errors.EAGAIN;
    }
    synchronized (Processes.class) {
      while (!child.isApart) {
        try {
          Processes.class.wait();
        } catch (InterruptedException e) {
          throw new Exit(128 + Signals.INT, true);
        }
      }
    }
    return child.number;
  }

  private static Thread thread(Child child, Runnable code) {
    Thread thread = new Thread(null, code, "process " + child.number, Limits.JAVA_THREAD_STACK);
    thread.setDaemon(true);
    return thread;
  }

  private static void run(Cpu cpu, int function, int argument, int stack) {
    Child child = cpu.child;
    cpu.top = stack;
    Threads.become(cpu);
    int status;
    try {
      Functions.call(cpu, function, argument, 0, 0, 0, stack);
      status = 0;
    } catch (Exit exit) {
      status = exit.next == null ? exit.status : run(child, exit.next);
    } catch (Throwable thrown) {
      Linux.files.complain(thrown);
      status = 128 + Signals.of(thrown);
    }
    end(child, cpu.files, status);
  }

  private static void end(Child child, Files files, int status) {
    // Whoever reads what it wrote finds the end.
    files.closeFrom(0);
    synchronized (Processes.class) {
      child.status = status;
      child.hasEnded = true;
      child.isApart = true;
      Processes.class.notifyAll();
    }
    Waits.wake(Processes.class, Integer.MAX_VALUE);
    Signals.raiseByKernel(Signals.CHLD);
  }

  private static int run(Child child, Execution next) {
    synchronized (Processes.class) {
      if (child.signal != 0 || Threads.hasEnded()) {
        return 0;
      }
      child.machine = next.machine;
      child.isApart = true;
      Processes.class.notifyAll();
    }
    return next.run();
  }

  /** {@code execve}: does not return if there is such a program. */
  static int execute(Cpu cpu, String path, int arguments, int environment) throws IOException {
    Files files = cpu.files;
    String name = files.names.path(path);
    Supplier<Program> known = Limits.programs.get(name);
    if (known == null) {
      return -Errors.ENOENT;
    }
    String[] words = strings(arguments);
    Settings settings = new Settings().name(words.length == 0 ? "" : words[0]);
    if (words.length > 1) {
      String[] others = new String[words.length - 1];
      System.arraycopy(words, 1, others, 0, others.length);
      settings.arguments(others);
    }
    settings.environment(variables(strings(environment)));
    settings.in(Inherited.input(files.find(0))).out(Inherited.output(files.find(1))).err(Inherited.output(files.find(2)));
    files.names.give(settings);
    Limits.give(settings);
    settings.process(number(cpu));
    if (Limits.deadline != 0) {
      settings.time(Duration.ofNanos(Math.max(1, Limits.deadline - System.nanoTime())));
    }
    Machine machine = machine(known);
    Shared.writeAll();
    files.closeFrom(3);
    Execution next = new Execution(machine, settings);
    Child child = cpu.child;
    if (child != null && child.caller != null) {
      Runnable code = () -> end(child, files, run(child, next));
      thread(child, code).start();
      child.caller.again(cpu);
    }
    throw new Exit(next);
  }

  /** The number of the process that a thread is of. */
  static int number(Cpu cpu) {
    return cpu.child == null ? Threads.PROCESS : cpu.child.number;
  }

  private static Machine machine(Supplier<Program> program) throws IOException {
    try {
      return program.get().machine();
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  /** Strings by their addresses, up to the address 0. */
  private static String[] strings(int address) {
    List<String> found = new ArrayList<>();
    for (int at = address; address != 0 && Memory.readInt(at) != 0; at += 4) {
      found.add(Memory.string(Memory.readInt(at)));
    }
    return found.toArray(new String[0]);
  }

  private static Map<String, String> variables(String[] environment) {
    Map<String, String> variables = new TreeMap<>();
    for (String variable : environment) {
      int end = variable.indexOf('=');
      if (end > 0) {
        variables.putIfAbsent(variable.substring(0, end), variable.substring(end + 1));
      }
    }
    return variables;
  }

  /** {@code wait4}: waits for the end of a child, or of any where the number is not positive. */
  static int await(Cpu cpu, int number, int status, int options, int usage) {
    while (true) {
      Child ended;
      synchronized (Processes.class) {
        if (number > 0 ? !children.containsKey(number) : children.isEmpty()) {
          return -Errors.ECHILD;
        }
        ended = ended(number);
        if (ended != null) {
          children.remove(ended.number);
        }
      }
      if (ended != null) {
        if (status != 0) {
          Memory.writeInt(status, ended.word());
        }
        if (usage != 0) {
          Memory.clear(usage, USAGE);
        }
        return ended.number;
      }
      if ((options & WITHOUT_WAITING) != 0) {
        return 0;
      }
      Waits.Result result = Waits.await(cpu, Processes.class, () -> ended(number) == null, Waits.EVER);
      if (result == Waits.Result.DISTURBED) {
        return -Errors.EINTR;
      }
    }
  }

  /** A child that has ended; null where there is none. */
  private static synchronized Child ended(int number) {
    return children.values().stream()
        .filter(child -> child.hasEnded && (number <= 0 || number == child.number))
        .findFirst()
        .orElse(null);
  }

  /** {@code kill}, for a child: any signal that would end a program ends it. */
  static int kill(int number, int signal) {
    Machine machine;
    synchronized (Processes.class) {
      Child child = children.get(number);
      if (child == null) {
        return -Errors.ESRCH;
      }
      if (signal == 0 || child.hasEnded || Signals.isUsuallyIgnored(signal)) {
        return 0;
      }
      child.signal = child.signal == 0 ? signal : child.signal;
      machine = child.machine;
    }
    if (machine != null) {
      machine.stop();
    }
    return 0;
  }

  /** The program has ended, and its children do so, too. */
  static void end() {
    List<Machine> machines = new ArrayList<>();
    List<Cpu> waiting;
    synchronized (Processes.class) {
      for (Child child : children.values()) {
        if (child.machine != null && !child.hasEnded) {
          machines.add(child.machine);
        }
      }
      waiting = new ArrayList<>(waiters);
    }
    machines.forEach(Machine::stop);
    waiting.forEach(Waits::disturb);
  }

  /** What can wait in the place of a thread of the program's; the program's end disturbs it. */
  static synchronized Cpu waiter() {
    Cpu waiter = new Cpu();
    waiter.usage = new Usage();
    waiter.disturbed = Threads.hasEnded();
    waiters.add(waiter);
    return waiter;
  }

  /** That waits no more. */
  static synchronized void remove(Cpu waiter) {
    waiters.remove(waiter);
  }
}
