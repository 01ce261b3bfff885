// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;

/** A pipe within the program; as much fits in as memory has room for. */
final class Pipe {
  private static final int FIRST = 4096;

  /** A ring, in which bytes begin at {@code first}. */
  private byte[] ring = new byte[FIRST];

  private int first;
  private int count;
  private boolean open = true;
  private boolean isRead = true;

  /** Reads what is there, or waits for it: {@code read} of Linux. */
  int read(Cpu cpu, byte[] to, int at, int length) {
    while (true) {
      int got = take(to, at, length, false);
      if (got > 0 || length == 0) {
        return Math.max(got, 0);
      }
      // Where no other thread could write, it would wait for ever.
      Waits.Result result = Waits.await(cpu, this, () -> mayFill() && (Threads.areMany() || Processes.areAny()), Waits.EVER);
      if (result == Waits.Result.DISTURBED) {
        return -Errors.EINTR;
      }
      if (result == Waits.Result.REFUSED && available() == 0) {
        return 0;
      }
    }
  }

  private synchronized boolean mayFill() {
    return count == 0 && open;
  }

  /** Takes what is there, or looks at it; 0 at the end, else {@code -EAGAIN}. */
  synchronized int take(byte[] to, int at, int length, boolean peeks) {
    if (count == 0) {
      return hasEnded() ? 0 : -Errors.EAGAIN;
    }
    int got = Math.min(length, count);
    int straight = Math.min(got, ring.length - first);
    System.arraycopy(ring, first, to, at, straight);
    System.arraycopy(ring, 0, to, at + straight, got - straight);
    if (!peeks) {
      first = (first + got) % ring.length;
      count -= got;
    }
    return got;
  }

  /** Puts bytes behind those that are there. */
  private void put(byte[] from, int at, int length) {
    if (length > ring.length - count) {
      grow(length);
    }
    int end = (first + count) % ring.length;
    int straight = Math.min(length, ring.length - end);
    System.arraycopy(from, at, ring, end, straight);
    System.arraycopy(from, at + straight, ring, 0, length - straight);
    count += length;
  }

  private void grow(int length) {
    byte[] larger = new byte[Math.max(count + length, 2 * ring.length)];
    take(larger, 0, count, true);
    ring = larger;
    first = 0;
  }

  /** Whether nobody writes any more, or nobody reads. */
  synchronized boolean hasEnded() {
    return !open || !isRead;
  }

  /** What can be done at an end without waiting: bits of {@link Poll}. */
  synchronized int ready(boolean writes) {
    if (writes) {
      return isRead ? Poll.OUT : Poll.OUT | Poll.ERR;
    }
    return (count == 0 ? 0 : Poll.IN) | (open ? 0 : Poll.HUP);
  }

  /** Bytes that are there. */
  synchronized int available() {
    return count;
  }

  /**
   * {@code write} of Linux.
   *
   * @throws IOException where nobody can read any more
   */
  int write(byte[] from, int at, int length) throws IOException {
    synchronized (this) {
      if (!isRead) {
        throw new IOException(Errors.BROKEN_PIPE);
      }
      put(from, at, length);
    }
    // One may leave bytes for another.
    Waits.wake(this, Integer.MAX_VALUE);
    return length;
  }

  /** Nobody can read any more. */
  synchronized void closeRead() {
    isRead = false;
    count = 0;
  }

  /** Nobody can write any more. */
  void close() {
    synchronized (this) {
      open = false;
    }
    Waits.wake(this, Integer.MAX_VALUE);
  }
}
