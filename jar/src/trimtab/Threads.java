// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The program's threads, each of which is one of Java's, and the program's end. */
final class Threads {
  /** The number of the process, and of its first thread. */
  static final int PROCESS = Limits.process;

  private static final int MEMORY = 0x100;
  private static final int HANDLERS = 0x800;
  private static final int THREAD = 0x10000;
  private static final int SET_POINTER = 0x80000;
  private static final int TELL_PARENT = 0x100000;
  private static final int CLEAR_CHILD = 0x200000;
  private static final int TELL_CHILD = 0x1000000;
  private static final int SHARED = MEMORY | HANDLERS | THREAD;

  /** The threads that there are, by number. */
  private static final Map<Integer, Cpu> running = new TreeMap<>();

  private static int last = PROCESS - 1;

  /** Nanoseconds that those have computed that have ended. */
  private static long usedBefore;

  private static String program;
  private static volatile boolean ended;
  private static int status;
  private static Throwable failure;

  /** The program that comes in the place of this one; null for none. */
  private static volatile Processes.Execution successor;

  /** The program's thread that this thread of Java's is; null for others. */
  private static final ThreadLocal<Cpu> current = new ThreadLocal<>();

  private Threads() {}

  /** Starts the first thread, at the program's entry. */
  static void first(int stack, String name) {
    program = name;
    Cpu cpu = new Cpu();
    add(cpu);
    start(cpu, () -> Functions.call(cpu, Memory.entry, 0, 0, 0, 0, stack), stack, name, Limits.JAVA_STACK);
  }

  /**
   * {@code clone}, for a thread. The C libraries put the function that it begins with, and the argument, at the
   * start of its stack. The caller's own stack is at {@code own}.
   */
  static int clone(Cpu parent, int flags, int stack, int tellParent, int pointer, int tellChild, int own) {
    if ((flags & SHARED) != SHARED || stack == 0) {
      return Processes.start(parent, flags, stack, own);
    }
    int function = Memory.readInt(stack);
    int argument = Memory.readInt(stack + 4);
    Cpu cpu = new Cpu();
    cpu.thread = (flags & SET_POINTER) != 0 ? pointer : parent.thread;
    cpu.control = parent.control;
    cpu.clearAtEnd = (flags & CLEAR_CHILD) != 0 ? tellChild : 0;
    int number = add(cpu);
    System.arraycopy(parent.blocked, 0, cpu.blocked, 0, 2);
    if ((flags & TELL_PARENT) != 0) {
      Memory.writeInt(tellParent, number);
    }
    if ((flags & TELL_CHILD) != 0) {
      Memory.writeInt(tellChild, number);
    }
    try {
      String name = program + " thread " + (number - PROCESS);
      start(cpu, () -> Functions.call(cpu, function, argument, 0, 0, 0, stack), stack, name, Limits.JAVA_THREAD_STACK);
    } catch (OutOfMemoryError e) {
      remove(cpu);
      return -Errors.EAGAIN;
    }
    return number;
  }

  private static void start(Cpu cpu, Runnable code, int stack, String name, long size) {
    Thread thread = new Thread(null, () -> run(cpu, code, stack), name, size);
    // The program may end while others compute.
    thread.setDaemon(true);
    thread.start();
  }

  private static void run(Cpu cpu, Runnable code, int stack) {
    cpu.top = stack;
    become(cpu);
    try {
      code.run();
      leave(cpu, 0);
    } catch (Exit exit) {
      leave(cpu, exit);
    } catch (Throwable thrown) {
      if (Signals.of(thrown) == 0) {
        end(255, thrown);
      } else {
        fail(cpu, thrown, stack);
      }
    }
  }

  /** An instruction failed, and nothing in the thread's frames could go on from there. */
  private static void fail(Cpu cpu, Throwable thrown, int stack) {
    try {
      // Far below: the frames are gone, and a handler may look at what they left.
      int room = cpu.number == PROCESS ? Limits.STACK - (64 << 10) : 0;
      if (thrown instanceof Unwinding) {
        Unwind.end(cpu, (Unwinding) thrown, stack - room);
      } else {
        Signals.caught(thrown, cpu, stack - room);
      }
    } catch (Exit exit) {
      leave(cpu, exit);
      return;
    } catch (Throwable same) {
      // No handler, or one that returned: the program ends by the signal.
    }
    Linux.files.complain(thrown);
    end(128 + Signals.of(thrown), null);
  }

  private static synchronized int add(Cpu cpu) {
    cpu.number = next();
    cpu.usage = new Usage();
    cpu.files = Linux.files;
    cpu.blocked = new long[2];
    cpu.pending = new LinkedHashMap<>();
    running.put(cpu.number, cpu);
    cpu.disturbed = ended;
    return cpu.number;
  }

  private static synchronized void remove(Cpu cpu) {
    running.remove(cpu.number);
    usedBefore += cpu.usage.nanos();
  }

  /** Nanoseconds that all threads have computed. */
  static synchronized long used() {
    return usedBefore + running.values().stream().mapToLong(cpu -> cpu.usage.nanos()).sum();
  }

  /** The next number of a thread or process. */
  static synchronized int next() {
    return ++last;
  }

  /** This thread of Java's is that one of the program's. */
  static void become(Cpu cpu) {
    current.set(cpu);
  }

  /** Ends a thread or the program, as was asked. */
  private static void leave(Cpu cpu, Exit exit) {
    if (exit.all) {
      end(exit);
    } else {
      leave(cpu, exit.status);
    }
  }

  /** Ends the program, and has another one come in its place if that was asked. */
  static void end(Exit exit) {
    synchronized (Threads.class) {
      successor = ended ? successor : exit.next;
    }
    end(exit.status, null);
  }

  /** The program that comes in the place of this one; null for none. */
  static Processes.Execution successor() {
    return successor;
  }

  /** Ends a thread; with the last one, the program. */
  private static void leave(Cpu cpu, int given) {
    if (cpu.clearAtEnd != 0 && Memory.has(cpu.clearAtEnd, 4)) {
      Atomic.store(cpu.clearAtEnd - Memory.BASE, 0, 4);
      Waits.wake(cpu.clearAtEnd, 1);
    }
    boolean isLast;
    synchronized (Threads.class) {
      if (cpu.number == PROCESS && !ended) {
        status = given;
      }
      remove(cpu);
      isLast = running.isEmpty();
    }
    if (isLast) {
      end(status, null);
    }
  }

  /** Ends the program: threads that wait no longer do, and others stop at their next system call. */
  static void end(int given, Throwable thrown) {
    List<Cpu> others;
    synchronized (Threads.class) {
      if (ended) {
        return;
      }
      ended = true;
      status = given;
      failure = thrown;
      others = new ArrayList<>(running.values());
      Threads.class.notifyAll();
    }
    Timers.end();
    Processes.end();
    Host.atEnd();
    for (Cpu other : others) {
      Waits.disturb(other);
    }
  }

  /** Whether the program has ended. */
  static boolean hasEnded() {
    return ended;
  }

  /** Waits for the program's end for as long; whether it has ended. */
  static synchronized boolean endsWithin(long millis) {
    long begin = System.nanoTime();
    while (!ended) {
      long rest = millis - (System.nanoTime() - begin) / 1000000;
      if (rest <= 0) {
        return false;
      }
      try {
        Threads.class.wait(rest);
      } catch (InterruptedException e) {
        return false;
      }
    }
    return true;
  }

  /** The program's thread that asks; null where it is one of Java's. */
  static Cpu current() {
    return current.get();
  }

  /** Waits for the program's end, and gives its status. If the thread is interrupted, that is the program's end. */
  static int status() {
    if (!waitForEnd()) {
      Thread.currentThread().interrupt();
      end(128 + Signals.INT, null);
    }
    if (failure != null) {
      Program.<RuntimeException>sneaky(failure);
    }
    return successor == null ? status : successor.run();
  }

  private static synchronized boolean waitForEnd() {
    try {
      while (!ended) {
        Threads.class.wait();
      }
      return true;
    } catch (InterruptedException e) {
      return false;
    }
  }

  /** Stops the thread that asks, if the program has ended. */
  static synchronized void stopAtEnd() {
    if (ended) {
      throw new Exit(0, true);
    }
  }

  /** The thread of a number; null where there is none. */
  static synchronized Cpu of(int number) {
    return running.get(number);
  }

  /**
   * A thread that does not hold a signal back: the first one if it waits, the one that asks, any other. If all do,
   * the one that asks.
   */
  static synchronized Cpu forSignal(Cpu cpu, int signal) {
    Cpu first = running.get(PROCESS);
    if (first != null && first.waits && !first.isBlocked(signal)) {
      return first;
    }
    if (!cpu.isBlocked(signal)) {
      return cpu;
    }
    return running.values().stream().filter(it -> !it.isBlocked(signal)).findFirst().orElse(cpu);
  }

  /** The same where no thread of the program's sends it; null where there is none any more. */
  static synchronized Cpu forSignal(int signal) {
    Cpu any = running.values().stream().findFirst().orElse(null);
    return any == null ? null : forSignal(any, signal);
  }
}
