// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

/**
 * How long a thread has computed: the time since it began, but for what it waited. Java knows what the processor did only by a module
 * that not each JVM has.
 */
final class Usage {
  private final long begin = System.nanoTime();
  private long waited;

  /** When its wait began, and how many waits there are within each other. */
  private long since;

  private int waits;

  /** It waits from now on. */
  synchronized void pause() {
    if (waits++ == 0) {
      since = System.nanoTime();
    }
  }

  /** It waits no more. */
  synchronized void resume() {
    if (--waits == 0) {
      waited += System.nanoTime() - since;
    }
  }

  /** Nanoseconds. */
  synchronized long nanos() {
    return (waits > 0 ? since : System.nanoTime()) - begin - waited;
  }
}
