// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Arrays;

/** A pipe within the program; as much fits in as memory has room for. */
final class Pipe {
  private final ArrayDeque<byte[]> bytes = new ArrayDeque<>();
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
      if (result == Waits.Result.REFUSED && isEmpty()) {
        return 0;
      }
    }
  }

  private synchronized boolean isEmpty() {
    return bytes.isEmpty();
  }

  private synchronized boolean mayFill() {
    return bytes.isEmpty() && open;
  }

  /** Takes what is there, or looks at it; 0 at the end, else {@code -EAGAIN}. */
  synchronized int take(byte[] to, int at, int length, boolean peeks) {
    byte[] first = peeks ? bytes.peek() : bytes.poll();
    if (first == null) {
      return open && isRead ? -Errors.EAGAIN : 0;
    }
    int got = Math.min(length, first.length);
    System.arraycopy(first, 0, to, at, got);
    if (got < first.length && !peeks) {
      bytes.addFirst(Arrays.copyOfRange(first, got, first.length));
    }
    return got;
  }

  /** What can be done at an end without waiting: bits of {@link Poll}. */
  synchronized int ready(boolean writes) {
    if (writes) {
      return isRead ? Poll.OUT : Poll.OUT | Poll.ERR;
    }
    return (bytes.isEmpty() ? 0 : Poll.IN) | (open ? 0 : Poll.HUP);
  }

  /** Bytes that are there. */
  synchronized int available() {
    return bytes.stream().mapToInt(part -> part.length).sum();
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
      if (length > 0) {
        bytes.add(Arrays.copyOfRange(from, at, at + length));
      }
    }
    // One may leave bytes for another.
    Waits.wake(this, Integer.MAX_VALUE);
    return length;
  }

  /** Nobody can read any more. */
  synchronized void closeRead() {
    isRead = false;
    bytes.clear();
  }

  /** Nobody can write any more. */
  void close() {
    synchronized (this) {
      open = false;
    }
    Waits.wake(this, Integer.MAX_VALUE);
  }
}
