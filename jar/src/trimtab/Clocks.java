// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.time.Instant;

/** System calls about time, and times in memory. */
final class Clocks {
  private static final long GIGA = 1000000000L;

  /** Nanoseconds of a tick of {@code times}. */
  private static final long TICK = 10000000;

  /** {@code CLOCK_TAI}. */
  private static final int LAST = 11;

  /** In the place of a time. */
  private static final long NONE = Long.MIN_VALUE;

  private Clocks() {}

  /** Performs a call, or gives {@link Linux#OTHER}. */
  static int call(Cpu cpu, int number, int a0, int a1, int a2, int a3) {
    switch (number) {
      case CallNumbers.TIME:
        return (int) (System.currentTimeMillis() / 1000);
      case CallNumbers.GETTIMEOFDAY:
        long now = System.currentTimeMillis();
        if (a0 != 0) {
          Memory.writeInt(a0, (int) (now / 1000));
          Memory.writeInt(a0 + 4, (int) (now % 1000 * 1000));
        }
        return 0;
      case CallNumbers.CLOCK_GETTIME:
        return write(a1, clock(cpu, a0), false);
      case CallNumbers.CLOCK_GETTIME64:
        return write(a1, clock(cpu, a0), true);
      case CallNumbers.CLOCK_GETRES:
      case CallNumbers.CLOCK_GETRES_TIME64:
        boolean isKnown = clock(cpu, a0) != NONE;
        return isKnown && a1 == 0 ? 0 : write(a1, isKnown ? 1 : NONE, number == CallNumbers.CLOCK_GETRES_TIME64);
      case CallNumbers.TIMES:
        if (a0 != 0) {
          Memory.clear(a0, 16);
          Memory.writeInt(a0, (int) (Threads.used() / TICK));
        }
        return (int) (System.nanoTime() / TICK) & 0x7fffffff;
      case CallNumbers.GETRUSAGE:
        return usage(cpu, a0, a1);
      case CallNumbers.NANOSLEEP:
        return sleep(cpu, time(a0, false), a1, false);
      case CallNumbers.CLOCK_NANOSLEEP:
        return sleep(cpu, time(a2, false), a0, a1, a3, false);
      case CallNumbers.CLOCK_NANOSLEEP_TIME64:
        return sleep(cpu, time(a2, true), a0, a1, a3, true);
      case CallNumbers.ALARM:
        long[] before = Timers.set(a0 * GIGA, 0);
        return (int) ((before[0] + GIGA - 1) / GIGA);
      case CallNumbers.SETITIMER:
        return timer(a0, a1, a2);
      case CallNumbers.GETITIMER:
        return timer(a0, 0, a1);
      default:
        return Linux.OTHER;
    }
  }

  /** {@code setitimer} and {@code getitimer} of the clock that always runs; {@code struct itimerval} has the time between first. */
  private static int timer(int which, int set, int old) {
    if (which != 0) {
      return -Errors.EINVAL;
    }
    long[] before = set == 0 ? Timers.get() : Timers.set(micros(set + 8), micros(set));
    if (old != 0) {
      for (int i = 0; i < 2; i++) {
        long nanos = before[1 - i];
        Memory.writeInt(old + 8 * i, (int) (nanos / GIGA));
        Memory.writeInt(old + 8 * i + 4, (int) (nanos % GIGA / 1000));
      }
    }
    return 0;
  }

  /** The time of a {@code struct timeval}, in nanoseconds. */
  static long micros(int address) {
    return nanos(Memory.readInt(address), 1000 * Memory.readInt(address + 4));
  }

  /** The time of a {@code struct timespec}, whose members may have 64 bits, in nanoseconds. */
  static long time(int address, boolean wide) {
    return wide
        ? nanos(Memory.readLong(address), Memory.readInt(address + 8))
        : nanos(Memory.readInt(address), Memory.readInt(address + 4));
  }

  /** A clock's time in nanoseconds; {@link #NONE} where there is no such clock. */
  private static long clock(Cpu cpu, int clock) {
    if (clock < 0) {
      // Of a thread or process by its number, or of the one that asks.
      int number = ~(clock >> 3);
      if ((clock & 4) == 0) {
        return number == 0 || number == Threads.PROCESS ? Threads.used() : NONE;
      }
      Cpu thread = number == 0 ? cpu : Threads.of(number);
      return thread == null ? NONE : thread.usage.nanos();
    }
    switch (clock) {
      case 2: // CLOCK_PROCESS_CPUTIME_ID
        return Threads.used();
      case 3: // CLOCK_THREAD_CPUTIME_ID
        return cpu.usage.nanos();
      case 10: // CLOCK_SGI_CYCLE
        return NONE;
      default:
        return clock > LAST ? NONE : clock(isReal(clock));
    }
  }

  /** Whether a clock counts from the year 1970 on. */
  private static boolean isReal(int clock) {
    return clock == 0 || clock == 5 || clock == 8 || clock == LAST;
  }

  /** The time of day, or one that always goes on. */
  static long clock(boolean isReal) {
    if (!isReal) {
      return System.nanoTime();
    }
    Instant now = Instant.now();
    return now.getEpochSecond() * GIGA + now.getNano();
  }

  private static int write(int address, long nanos, boolean isWide) {
    if (nanos == NONE) {
      return -Errors.EINVAL;
    }
    if (isWide) {
      Memory.writeLong(address, nanos / GIGA);
      Memory.writeLong(address + 8, nanos % GIGA);
    } else {
      Memory.writeInt(address, (int) (nanos / GIGA));
      Memory.writeInt(address + 4, (int) (nanos % GIGA));
    }
    return 0;
  }

  /** {@code getrusage}: all of it counts as the program's own, and nothing as its children's. */
  private static int usage(Cpu cpu, int who, int address) {
    if (who < -1 || who > 1) {
      return -Errors.EINVAL;
    }
    long nanos = who == 0 ? Threads.used() : who == 1 ? cpu.usage.nanos() : 0;
    Memory.clear(address, 72);
    Memory.writeInt(address, (int) (nanos / GIGA));
    Memory.writeInt(address + 4, (int) (nanos % GIGA / 1000));
    return 0;
  }

  /** A time; what is too long for a {@code long} is ever. */
  private static long nanos(long seconds, int rest) {
    return seconds > Waits.EVER / GIGA - 1 ? Waits.EVER : seconds * GIGA + rest;
  }

  /** Until a time of a clock, or for a time. */
  private static int sleep(Cpu cpu, long nanos, int clock, int flags, int left, boolean wide) {
    return (flags & 1) != 0
        ? sleep(cpu, nanos == Waits.EVER ? nanos : nanos - clock(isReal(clock)), 0, wide)
        : sleep(cpu, nanos, left, wide);
  }

  /** Sleeps; what is left when it is disturbed is written to an address, if there is one. */
  private static int sleep(Cpu cpu, long nanos, int left, boolean wide) {
    long begin = System.nanoTime();
    Waits.sleep(cpu, nanos);
    if (!cpu.disturbed) {
      return 0;
    }
    long rest = Math.max(0, nanos - (System.nanoTime() - begin));
    if (left != 0 && wide) {
      Memory.writeLong(left, rest / GIGA);
      Memory.writeLong(left + 8, rest % GIGA);
    } else if (left != 0) {
      Memory.writeInt(left, (int) (rest / GIGA));
      Memory.writeInt(left + 4, (int) (rest % GIGA));
    }
    return -Errors.EINTR;
  }
}
