// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts instructions, in programs that were translated so: each block takes its number from what the thread has left,
 * and asks for more here.
 */
public final class Fuel {
  /** What a thread gets at once: after as many instructions it looks whether it is to end. */
  private static final int SLICE = 1 << 20;

  /** What all threads were given. */
  private static final AtomicLong given = new AtomicLong();

  private Fuel() {}

  /** A thread has used up what it had. */
  public static void spent(Cpu cpu) {
    if (cpu.disturbed) {
      Threads.stopAtEnd();
    }
    if (Thread.currentThread().isInterrupted()) {
      throw new Exit(128 + Signals.INT, true);
    }
    long rest = Limits.instructions - given.get();
    if (rest <= 0 && cpu.fuel < 0) {
      throw new Exit(128 + Signals.XCPU, true);
    }
    int slice = (int) Math.max(0, Math.min(SLICE, rest));
    given.addAndGet(slice);
    cpu.fuel += slice;
  }
}
