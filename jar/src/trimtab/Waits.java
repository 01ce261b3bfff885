// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;

/** Threads that wait: for a futex, which is an address; for a pipe, which is an object; or for a time. */
final class Waits {
  /** No end to the time. */
  static final long EVER = Long.MAX_VALUE;

  private static final int PRIVATE_AND_CLOCK = 0x180;
  private static final int REAL_TIME = 0x100;

  /** Who waits for what, in order. */
  private static final Map<Object, ArrayDeque<Cpu>> queues = new HashMap<>();

  private Waits() {}

  /** How a wait ended. */
  enum Result {
    /** What it was to wait for was already there. */
    REFUSED,
    WOKEN,
    LATE,
    /** There is a signal to deliver. */
    DISTURBED
  }

  /**
   * Waits until others wake it.
   *
   * @param waits asked when no other can wake: whether to wait at all
   * @param nanos how long
   */
  static Result await(Cpu cpu, Object key, BooleanSupplier waits, long nanos) {
    synchronized (queues) {
      if (!waits.getAsBoolean()) {
        return Result.REFUSED;
      }
      enqueue(cpu, key);
    }
    sleep(cpu, nanos);
    synchronized (queues) {
      boolean woken = cpu.woken;
      cpu.woken = false;
      if (!woken) {
        dequeue(cpu);
      }
      return woken ? Result.WOKEN : cpu.disturbed ? Result.DISTURBED : Result.LATE;
    }
  }

  private static void enqueue(Cpu cpu, Object key) {
    cpu.waitsFor = key;
    queues.computeIfAbsent(key, it -> new ArrayDeque<>()).add(cpu);
  }

  private static void dequeue(Cpu cpu) {
    ArrayDeque<Cpu> queue = queues.get(cpu.waitsFor);
    queue.remove(cpu);
    if (queue.isEmpty()) {
      queues.remove(cpu.waitsFor);
    }
  }

  /** Wakes the first that wait. Says how many. */
  static int wake(Object key, int most) {
    synchronized (queues) {
      ArrayDeque<Cpu> queue = queues.get(key);
      int count = 0;
      while (queue != null && count < most && !queue.isEmpty()) {
        Cpu cpu = queue.peek();
        dequeue(cpu);
        synchronized (cpu) {
          cpu.woken = true;
          cpu.notifyAll();
        }
        count++;
      }
      return count;
    }
  }

  /** Has others that wait for one thing wait for another. */
  private static int move(Object from, Object to, int most) {
    ArrayDeque<Cpu> queue = queues.get(from);
    int count = 0;
    while (queue != null && count < most && !queue.isEmpty() && !from.equals(to)) {
      Cpu cpu = queue.peek();
      dequeue(cpu);
      enqueue(cpu, to);
      count++;
    }
    return count;
  }

  /** Waits for a time, or until it is woken or disturbed. */
  static void sleep(Cpu cpu, long nanos) {
    long begin = System.nanoTime();
    synchronized (cpu) {
      cpu.waits = true;
      cpu.usage.pause();
      try {
        while (!cpu.woken && !cpu.disturbed) {
          long rest = nanos == EVER ? EVER : nanos - (System.nanoTime() - begin);
          if (rest <= 0) {
            return;
          }
          cpu.wait(rest / 1000000, (int) (rest % 1000000));
        }
      } catch (InterruptedException e) {
        throw new Exit(128 + Signals.INT, true);
      } finally {
        cpu.waits = false;
        cpu.usage.resume();
      }
    }
  }

  /** Ends the wait of a thread, for a signal or the program's end. */
  static void disturb(Cpu cpu) {
    synchronized (cpu) {
      cpu.disturbed = true;
      cpu.notifyAll();
    }
  }

  /** {@code futex}; {@code wide} says that its times have 64 bits. */
  static int futex(Cpu cpu, int address, int operation, int value, int fourth, int stack, boolean wide) {
    if ((address & 3) != 0) {
      return -Errors.EINVAL;
    }
    Memory.check(address, 4);
    switch (operation & ~PRIVATE_AND_CLOCK) {
      case 0: // FUTEX_WAIT
        return wait(cpu, address, value, fourth == 0 ? EVER : Clocks.time(fourth, wide));
      case 9: // FUTEX_WAIT_BITSET
        boolean real = (operation & REAL_TIME) != 0;
        long rest = fourth == 0 ? EVER : Math.max(0, Clocks.time(fourth, wide) - Clocks.clock(real));
        return wait(cpu, address, value, rest);
      case 1: // FUTEX_WAKE
      case 10: // FUTEX_WAKE_BITSET
        return wake(address, value);
      case 3: // FUTEX_REQUEUE
      case 4: // FUTEX_CMP_REQUEUE
        int other = Memory.readInt(stack + 16);
        synchronized (queues) {
          if ((operation & 127) == 4 && read(address) != Memory.readInt(stack + 20)) {
            return -Errors.EAGAIN;
          }
          return wake(address, value) + move(address, other, fourth);
        }
      case 5: // FUTEX_WAKE_OP
        return wakeBoth(address, value, fourth, Memory.readInt(stack + 16), Memory.readInt(stack + 20));
      default:
        return -Errors.ENOSYS;
    }
  }

  private static int read(int address) {
    return Atomic.load(address - Memory.BASE);
  }

  private static int wait(Cpu cpu, int address, int value, long nanos) {
    switch (await(cpu, address, () -> read(address) == value, nanos)) {
      case REFUSED:
        return -Errors.EAGAIN;
      case WOKEN:
        return 0;
      case LATE:
        return -Errors.ETIMEDOUT;
      default:
        return -Errors.EINTR;
    }
  }

  /** {@code FUTEX_WAKE_OP}: changes a second word, and wakes who waits for it if it was as asked. */
  private static int wakeBoth(int address, int most, int mostOthers, int other, int operation) {
    if ((other & 3) != 0) {
      return -Errors.EINVAL;
    }
    Memory.check(other, 4);
    int argument = operation << 8 >> 20;
    int compared = operation << 20 >> 20;
    if ((operation & 0x80000000) != 0) {
      argument = 1 << argument;
    }
    int old;
    int changed;
    do {
      old = read(other);
      switch (operation >>> 28 & 7) {
        case 0:
          changed = argument;
          break;
        case 1:
          changed = old + argument;
          break;
        case 2:
          changed = old | argument;
          break;
        case 3:
          changed = old & ~argument;
          break;
        case 4:
          changed = old ^ argument;
          break;
        default:
          return -Errors.ENOSYS;
      }
    } while (!Atomic.exchange(other - Memory.BASE, old, changed));
    int woken = wake(address, most);
    return compares(operation >>> 24 & 15, old, compared) ? woken + wake(other, mostOthers) : woken;
  }

  private static boolean compares(int how, int a, int b) {
    switch (how) {
      case 0:
        return a == b;
      case 1:
        return a != b;
      case 2:
        return a < b;
      case 3:
        return a <= b;
      case 4:
        return a > b;
      default:
        return a >= b;
    }
  }
}
