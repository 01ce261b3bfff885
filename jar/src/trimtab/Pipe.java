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
  int read(Cpu cpu, int address, int length) {
    while (true) {
      int got = take(address, length);
      if (got > 0 || length == 0) {
        return got;
      }
      // Where no other thread could write, it would wait for ever.
      Waits.Result result = Waits.await(cpu, this, () -> mayFill() && Threads.areMany(), Waits.EVER);
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

  private synchronized int take(int address, int length) {
    byte[] first = bytes.poll();
    if (first == null) {
      return 0;
    }
    int got = Math.min(length, first.length);
    System.arraycopy(first, 0, Memory.M, address - Memory.BASE, got);
    if (got < first.length) {
      bytes.addFirst(Arrays.copyOfRange(first, got, first.length));
    }
    return got;
  }

  /**
   * {@code write} of Linux.
   *
   * @throws IOException where nobody can read any more
   */
  int write(int address, int length) throws IOException {
    synchronized (this) {
      if (!isRead) {
        throw new IOException(Files.BROKEN_PIPE);
      }
      if (length > 0) {
        bytes.add(Memory.readBytes(address, length));
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
