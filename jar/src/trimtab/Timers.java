// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.util.Timer;
import java.util.TimerTask;

/** {@code alarm} and {@code setitimer}: a signal after a time, again and again if that is wanted. */
final class Timers {
  private static Timer timer;
  private static TimerTask task;

  /** When the signal comes, by {@code System.nanoTime}, and how long it is from one to the next; 0 for never. */
  private static long due;

  private static long period;

  private Timers() {}

  /** Sets the time until the signal and between signals, in nanoseconds; 0 is never. Gives what was left, and the time between. */
  static synchronized long[] set(long nanos, long between) {
    long[] before = get();
    if (task != null) {
      task.cancel();
      task = null;
    }
    due = 0;
    period = between;
    if (nanos > 0) {
      start(nanos);
    }
    return before;
  }

  /** Nanoseconds until the signal, 0 for never, and from one to the next. */
  static synchronized long[] get() {
    return new long[] {due == 0 ? 0 : Math.max(1000, due - System.nanoTime()), period};
  }

  private static void start(long nanos) {
    if (timer == null) {
      timer = new Timer("timer of a program", true);
    }
    due = System.nanoTime() + nanos;
    due = due == 0 ? 1 : due;
    task = new TimerTask() {
      @Override
      public void run() {
        ring(this);
      }
    };
    timer.schedule(task, Math.max(1, (nanos + 999999) / 1000000));
  }

  private static void ring(TimerTask rung) {
    synchronized (Timers.class) {
      if (rung != task || Threads.hasEnded()) {
        return;
      }
      task = null;
      due = 0;
      if (period > 0) {
        start(period);
      }
    }
    Signals.raiseByKernel(Signals.ALRM);
  }

  /** The program has ended. */
  static synchronized void end() {
    set(0, 0);
    if (timer != null) {
      timer.cancel();
    }
  }
}
