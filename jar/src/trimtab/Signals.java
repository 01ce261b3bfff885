// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.util.Map;

/** Signals within the program: what it sends itself, and what its instructions cause. */
final class Signals {
  static final int INT = 2;
  static final int ILL = 4;
  static final int TRAP = 5;
  static final int ABRT = 6;
  static final int FPE = 8;
  static final int KILL = 9;
  static final int BUS = 10;
  static final int SEGV = 11;
  static final int PIPE = 13;
  static final int ALRM = 14;
  static final int TERM = 15;
  static final int CHLD = 18;
  static final int XCPU = 30;
  private static final int WINCH = 20;
  private static final int URG = 21;
  private static final int STOP = 23;
  private static final int CONT = 25;

  private static final int COUNT = 128;
  private static final int NODEFER = 0x40000000;
  private static final int RESETHAND = 0x80000000;
  private static final int SIGINFO = 8;
  private static final int RESTART = 0x10000000;

  /** Where {@code ucontext} has the signals that were held back. */
  private static final int CONTEXT_MASK = 616;

  /** Codes: by whom a signal was sent, or that an instruction caused it. */
  private static final int SENT = 0;

  private static final int SENT_TO_THREAD = -6;
  private static final int BY_KERNEL = 0x80;
  private static final int FAULT = 1;

  /** Handler, flags and mask of each signal: {@code struct sigaction} of the kernel's. */
  private static final int[] handlers = new int[COUNT + 1];

  private static final int[] flags = new int[COUNT + 1];
  private static final long[] masks = new long[2 * (COUNT + 1)];

  private Signals() {}

  /** {@code rt_sigaction}. */
  static synchronized int action(int signal, int set, int old, int size) {
    if (signal < 1 || signal > COUNT || size != 16) {
      return -Errors.EINVAL;
    }
    if (old != 0) {
      Memory.writeInt(old, flags[signal]);
      Memory.writeInt(old + 4, handlers[signal]);
      Memory.writeLong(old + 8, masks[2 * signal]);
      Memory.writeLong(old + 16, masks[2 * signal + 1]);
    }
    if (set != 0) {
      if (signal == KILL || signal == STOP) {
        return -Errors.EINVAL;
      }
      flags[signal] = Memory.readInt(set);
      handlers[signal] = Memory.readInt(set + 4);
      masks[2 * signal] = Memory.readLong(set + 8);
      masks[2 * signal + 1] = Memory.readLong(set + 16);
    }
    return 0;
  }

  /** {@code rt_sigprocmask}. */
  static int mask(Cpu cpu, int how, int set, int old, int size) {
    if (size != 16) {
      return -Errors.EINVAL;
    }
    long[] blocked = cpu.blocked;
    if (old != 0) {
      Memory.writeLong(old, blocked[0]);
      Memory.writeLong(old + 8, blocked[1]);
    }
    if (set != 0) {
      for (int i = 0; i < 2; i++) {
        long bits = Memory.readLong(set + 8 * i);
        switch (how) {
          case 1:
            blocked[i] |= bits;
            break;
          case 2:
            blocked[i] &= ~bits;
            break;
          case 3:
            blocked[i] = bits;
            break;
          default:
            return -Errors.EINVAL;
        }
      }
      blocked[0] &= ~(1L << (KILL - 1) | 1L << (STOP - 1));
      // The end of the call delivers what was held back.
      cpu.disturbed = true;
    }
    return 0;
  }

  /** {@code rt_sigpending}. */
  static int pending(Cpu cpu, int set) {
    long[] bits = new long[2];
    synchronized (cpu) {
      for (int signal : cpu.pending.keySet()) {
        bits[(signal - 1) >> 6] |= 1L << (signal - 1);
      }
    }
    Memory.writeLong(set, bits[0]);
    Memory.writeLong(set + 8, bits[1]);
    return 0;
  }

  /** A thread sends one to another, or to itself: {@code tgkill}. */
  static int send(int number, int signal) {
    return send(number, signal, SENT_TO_THREAD);
  }

  private static int send(int number, int signal, int code) {
    Cpu target = Threads.of(number);
    if (target == null) {
      return -Errors.ESRCH;
    }
    if (signal == 0) {
      return 0;
    }
    if (signal < 0 || signal > COUNT) {
      return -Errors.EINVAL;
    }
    synchronized (target) {
      boolean isBlocked = target.isBlocked(signal);
      if (isBlocked || !isIgnored(signal)) {
        target.pending.putIfAbsent(signal, code);
      }
      // Where it is held back, unblocking looks for it. To the thread itself, the end of the call delivers it.
      if (!isBlocked) {
        Waits.disturb(target);
      }
    }
    return 0;
  }

  /** The program sends itself one: {@code kill}. */
  static int raise(Cpu cpu, int signal) {
    boolean isKnown = signal > 0 && signal <= COUNT;
    Cpu target = isKnown ? Threads.forSignal(cpu, signal) : cpu;
    return send(target.number, signal, SENT);
  }

  /** One that no program sends: of a timer, or of a child that has ended. */
  static void raiseByKernel(int signal) {
    Cpu target = Threads.forSignal(signal);
    if (target != null) {
      send(target.number, signal, BY_KERNEL);
    }
  }

  /** A call that may wait. */
  interface Call {
    int get() throws IOException;
  }

  /** Makes a call while other signals are held back: those at an address, if there is one. What comes meanwhile is handled before. */
  static int masked(Cpu cpu, int set, int stack, Call call) throws IOException {
    if (set == 0) {
      return call.get();
    }
    long[] before = cpu.blocked.clone();
    mask(cpu, 3, set, 0, 16);
    try {
      int ran = cpu.handled;
      deliver(cpu, stack);
      int result = cpu.handled == ran ? call.get() : -Errors.EINTR;
      deliver(cpu, stack);
      return result;
    } finally {
      System.arraycopy(before, 0, cpu.blocked, 0, before.length);
      cpu.disturbed = true;
    }
  }

  /** Waits until a handler has run. */
  static int suspend(Cpu cpu, int stack) {
    int ran = cpu.handled;
    while (cpu.handled == ran) {
      Waits.sleep(cpu, Waits.EVER);
      deliver(cpu, stack);
    }
    return -Errors.EINTR;
  }

  /**
   * Does what has to be done for signals of the thread that are not held back, or ends it with the program.
   *
   * @return whether a call that was disturbed goes on: no handler ran that says otherwise
   */
  static boolean deliver(Cpu cpu, int stack) {
    cpu.disturbed = false;
    Threads.stopAtEnd();
    boolean goesOn = true;
    while (true) {
      Map.Entry<Integer, Integer> first = next(cpu);
      if (first == null) {
        return goesOn;
      }
      goesOn &= isIgnored(first.getKey()) || (flags[first.getKey()] & RESTART) != 0;
      handle(cpu, first.getKey(), first.getValue(), stack);
    }
  }

  /** Takes the first signal that is not held back; null where there is none. */
  private static Map.Entry<Integer, Integer> next(Cpu cpu) {
    synchronized (cpu) {
      for (Map.Entry<Integer, Integer> entry : cpu.pending.entrySet()) {
        if (!cpu.isBlocked(entry.getKey())) {
          cpu.pending.remove(entry.getKey());
          return entry;
        }
      }
      return null;
    }
  }

  private static boolean isIgnored(int signal) {
    return handlers[signal] == 1 || handlers[signal] == 0 && isUsuallyIgnored(signal);
  }

  /** Whether it does nothing to a program that has no handler for it. */
  static boolean isUsuallyIgnored(int signal) {
    return signal == CHLD || signal == WINCH || signal == URG || signal == CONT;
  }

  /** Runs what the program wants to be run for a signal, or ends it. */
  private static void handle(Cpu cpu, int signal, int code, int stack) {
    int handler = handlers[signal];
    if (isIgnored(signal)) {
      return;
    }
    if (handler == 0) {
      throw new Exit(128 + signal, true);
    }
    int flag = flags[signal];
    if ((flag & RESETHAND) != 0) {
      handlers[signal] = 0;
    }
    long[] blocked = cpu.blocked;
    long[] before = blocked.clone();
    blocked[0] |= masks[2 * signal];
    blocked[1] |= masks[2 * signal + 1];
    if ((flag & NODEFER) == 0) {
      blocked[(signal - 1) >> 6] |= 1L << (signal - 1);
    }
    // Below what the interrupted function may have on the stack: what the handler is told.
    int info = (stack - 2048) & ~15;
    Memory.clear(info, 1024);
    Memory.writeInt(info, signal);
    Memory.writeInt(info + 4, code);
    if (code <= 0) {
      Memory.writeInt(info + 12, Threads.PROCESS);
      Memory.writeInt(info + 16, Linux.USER);
    }
    // A handler may change the signals that are held back when it returns.
    int context = info + 128;
    Memory.writeLong(context + CONTEXT_MASK, before[0]);
    Memory.writeLong(context + CONTEXT_MASK + 8, before[1]);
    cpu.handled++;
    double first = cpu.v98;
    double second = cpu.v99;
    boolean tells = (flag & SIGINFO) != 0;
    if (Functions.INTERPRETS && !Functions.leadsToJava(handler, cpu)) {
      Interpreter.handle(cpu, handler, signal, tells ? info : 0, tells ? context : 0, info - Interpreter.INFO);
    } else {
      Functions.call(cpu, handler, signal, tells ? info : 0, tells ? context : 0, 0, info - 64);
    }
    cpu.v98 = first;
    cpu.v99 = second;
    blocked[0] = tells ? Memory.readLong(context + CONTEXT_MASK) : before[0];
    blocked[1] = tells ? Memory.readLong(context + CONTEXT_MASK + 8) : before[1];
  }

  /** The signal for something that Java throws; 0 where it is none. */
  static int of(Throwable thrown) {
    if (thrown instanceof Fault) {
      return ((Fault) thrown).signal;
    }
    if (thrown instanceof Unwinding) {
      return ABRT;
    }
    if (thrown instanceof IndexOutOfBoundsException || thrown instanceof StackOverflowError) {
      return SEGV;
    }
    return thrown instanceof ArithmeticException ? FPE : 0;
  }

  /**
   * Runs the program's handler for what an instruction caused. Without one, or where it returns, the
   * program is at its end, as there is no way back to the instruction.
   */
  static Jump caught(Throwable thrown, Cpu cpu, int stack) {
    int signal = of(thrown);
    if (signal != 0 && handlers[signal] > 1) {
      int handler = handlers[signal];
      try {
        handle(cpu, signal, FAULT, stack);
        cpu.disturbed = true;
      } catch (Jump jump) {
        return jump;
      }
      if (handlers[signal] == handler) {
        handlers[signal] = 0;
      }
    }
    throw Program.<RuntimeException>sneaky(thrown);
  }
}
