// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;

/** {@code poll} and {@code select}, and waiting for what Java cannot wait for together. */
final class Poll {
  static final int IN = 1;
  static final int OUT = 4;
  static final int ERR = 8;
  static final int HUP = 16;

  /** Nothing more comes. */
  static final int READ_HUP = 0x2000;

  private static final int NOT_OPEN = 32;
  private static final int NORMAL = 0x40;

  /** Between two looks, in nanoseconds: first and longest time. */
  private static final long SHORTEST = 20000;

  private static final long LONGEST = 2000000;

  private Poll() {}

  /** Something that is tried again and again. */
  interface Attempt {
    /** What it gives; {@code -EAGAIN} as long as it has to wait. */
    int get() throws IOException;
  }

  /** Tries until there is a result, a signal comes ({@code -EINTR}), or the time has passed ({@code -EAGAIN}). */
  static int until(Cpu cpu, long nanos, Attempt attempt) throws IOException {
    long begin = System.nanoTime();
    long pause = SHORTEST;
    while (true) {
      int result = attempt.get();
      long rest = nanos == Waits.EVER ? LONGEST : nanos - (System.nanoTime() - begin);
      if (result != -Errors.EAGAIN || rest <= 0) {
        return result;
      }
      if (cpu.disturbed) {
        return -Errors.EINTR;
      }
      Waits.sleep(cpu, Math.min(rest, pause));
      pause = Math.min(2 * pause, LONGEST);
    }
  }

  /** {@code poll}. */
  static int poll(Cpu cpu, int at, int count, long nanos) throws IOException {
    if (count < 0 || count > Files.MOST) {
      return -Errors.EINVAL;
    }
    if (count > 0) {
      Memory.check(at, 8 * count);
    }
    int result = until(cpu, nanos, () -> look(at, count));
    return result == -Errors.EAGAIN ? 0 : result;
  }

  private static int look(int at, int count) {
    int found = 0;
    for (int i = 0; i < count; i++) {
      int file = Memory.readInt(at + 8 * i);
      int wanted = Memory.readInt(at + 8 * i + 4) & 0xffff;
      int ready = file < 0 ? 0 : Linux.files.ready(file);
      ready = ready < 0 ? NOT_OPEN : (ready | ((ready & IN) != 0 ? NORMAL : 0)) & (wanted | ERR | HUP);
      Memory.writeShort(at + 8 * i + 6, ready);
      found += ready != 0 ? 1 : 0;
    }
    return found > 0 ? found : -Errors.EAGAIN;
  }

  /** {@code select}: sets of files to read, to write, and with errors, which may be 0. */
  static int select(Cpu cpu, int count, int[] sets, long nanos) throws IOException {
    if (count < 0 || count > Files.MOST) {
      return -Errors.EINVAL;
    }
    int words = (count + 31) / 32;
    int[][] wanted = new int[sets.length][words];
    for (int set = 0; set < sets.length; set++) {
      for (int i = 0; sets[set] != 0 && i < words; i++) {
        wanted[set][i] = Memory.readInt(sets[set] + 4 * i) & (i == count / 32 ? (1 << count % 32) - 1 : -1);
      }
    }
    int[][] found = new int[sets.length][words];
    int result = until(cpu, nanos, () -> look(count, wanted, found));
    if (result < 0 && result != -Errors.EAGAIN) {
      return result;
    }
    for (int set = 0; set < sets.length; set++) {
      for (int i = 0; sets[set] != 0 && i < words; i++) {
        Memory.writeInt(sets[set] + 4 * i, found[set][i]);
      }
    }
    return Math.max(result, 0);
  }

  private static int look(int count, int[][] wanted, int[][] found) {
    // What ends or fails can be read and written without a wait.
    int[] bits = {IN | HUP | ERR, OUT | ERR, 0};
    int total = 0;
    for (int file = 0; file < count; file++) {
      int ready = 0;
      boolean asked = false;
      for (int set = 0; set < wanted.length; set++) {
        if ((wanted[set][file / 32] >> file % 32 & 1) == 0) {
          continue;
        }
        ready = asked ? ready : Linux.files.ready(file);
        asked = true;
        if (ready < 0) {
          return -Errors.EBADF;
        }
        if ((ready & bits[set]) != 0) {
          found[set][file / 32] |= 1 << file % 32;
          total++;
        }
      }
    }
    return total > 0 ? total : -Errors.EAGAIN;
  }
}
