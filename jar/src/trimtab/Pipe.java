// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;

/** A pipe within the program. Who waits at an end waits for ever where nobody else is there, as in Linux, or for a signal. */
final class Pipe {
  /** Bytes that fit into a pipe, and into a socket of a pair. */
  static final int SIZE = 1 << 16;

  static final int SOCKET_SIZE = 208 << 10;

  /** So many are written as a whole; where there is less room, {@code poll} does not say that one can write. */
  private static final int WHOLE = 4096;

  private final int size;

  /** A ring, in which bytes begin at {@code first}. It grows up to the size. */
  private byte[] ring = new byte[WHOLE];

  private int first;
  private int count;
  private boolean open = true;
  private boolean isRead = true;

  Pipe(int size) {
    this.size = size;
  }

  /** Reads what is there, or waits for it: {@code read} of Linux. */
  int read(Cpu cpu, byte[] to, int at, int length) {
    while (true) {
      int got = length == 0 ? 0 : take(to, at, length, false);
      if (got != -Errors.EAGAIN) {
        return got;
      }
      if (Waits.await(cpu, this, this::mayFill, Waits.EVER) == Waits.Result.DISTURBED) {
        return -Errors.EINTR;
      }
    }
  }

  private synchronized boolean mayFill() {
    return count == 0 && open;
  }

  /** Takes what is there, or looks at it; 0 at the end, else {@code -EAGAIN}. */
  int take(byte[] to, int at, int length, boolean peeks) {
    int got;
    synchronized (this) {
      if (count == 0) {
        return hasEnded() ? 0 : -Errors.EAGAIN;
      }
      got = Math.min(length, count);
      copy(to, at, got);
      if (!peeks) {
        first = (first + got) % ring.length;
        count -= got;
      }
    }
    Waits.wake(this, Integer.MAX_VALUE);
    return got;
  }

  private void copy(byte[] to, int at, int length) {
    int straight = Math.min(length, ring.length - first);
    System.arraycopy(ring, first, to, at, straight);
    System.arraycopy(ring, 0, to, at + straight, length - straight);
  }

  /**
   * Puts as many bytes as fit behind those that are there; {@code -EAGAIN} where it has to wait for room.
   *
   * @throws IOException where nobody can read any more
   */
  int put(byte[] from, int at, int length) throws IOException {
    int fits;
    synchronized (this) {
      if (!isRead) {
        throw new IOException(Errors.BROKEN_PIPE);
      }
      if (isFull(length)) {
        return -Errors.EAGAIN;
      }
      fits = Math.min(length, size - count);
      grow(count + fits);
      int end = (first + count) % ring.length;
      int straight = Math.min(fits, ring.length - end);
      System.arraycopy(from, at, ring, end, straight);
      System.arraycopy(from, at + straight, ring, 0, fits - straight);
      count += fits;
    }
    // One may leave bytes for another.
    Waits.wake(this, Integer.MAX_VALUE);
    return fits;
  }

  private boolean isFull(int length) {
    return size - count < Math.min(length, WHOLE);
  }

  private synchronized boolean mayDrain(int length) {
    return isRead && isFull(length);
  }

  private void grow(int wanted) {
    if (wanted > ring.length) {
      byte[] larger = new byte[Math.min(size, Math.max(wanted, 2 * ring.length))];
      copy(larger, 0, count);
      ring = larger;
      first = 0;
    }
  }

  /** Whether nobody writes any more, or nobody reads. */
  synchronized boolean hasEnded() {
    return !open || !isRead;
  }

  /** What can be done at an end without waiting: bits of {@link Poll}. */
  synchronized int ready(boolean writes) {
    if (writes) {
      return (isFull(WHOLE) ? 0 : Poll.OUT) | (isRead ? 0 : Poll.OUT | Poll.ERR);
    }
    return (count == 0 ? 0 : Poll.IN) | (open ? 0 : Poll.HUP);
  }

  /** Bytes that are there. */
  synchronized int available() {
    return count;
  }

  /**
   * {@code write} of Linux: all of it, if it may wait.
   *
   * @throws IOException where nobody can read any more
   */
  int write(Cpu cpu, byte[] from, int at, int length, boolean waits) throws IOException {
    int done = 0;
    while (true) {
      int rest = length - done;
      int put = put(from, at + done, rest);
      done += Math.max(put, 0);
      if (done == length || !waits) {
        return done > 0 || length == 0 ? done : put;
      }
      if (Waits.await(cpu, this, () -> mayDrain(rest), Waits.EVER) == Waits.Result.DISTURBED) {
        return done > 0 ? done : -Errors.EINTR;
      }
    }
  }

  /** Nobody can read any more. */
  void closeRead() {
    synchronized (this) {
      isRead = false;
      count = 0;
    }
    Waits.wake(this, Integer.MAX_VALUE);
  }

  /** Nobody can write any more. */
  void close() {
    synchronized (this) {
      open = false;
    }
    Waits.wake(this, Integer.MAX_VALUE);
  }
}
