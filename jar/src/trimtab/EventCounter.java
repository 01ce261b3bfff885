// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** What {@code eventfd} makes: a number of 64 bits that writing adds to, and reading takes. */
final class EventCounter implements Endpoint {
  private static final int SIZE = 8;

  /** Reading takes 1, and not all. */
  private final boolean isSemaphore;

  private long count;

  EventCounter(int count, boolean isSemaphore) {
    this.count = count & 0xffffffffL;
    this.isSemaphore = isSemaphore;
  }

  @Override
  public synchronized int read(byte[] bytes, int at, int length, boolean peeks) {
    if (length < SIZE) {
      return -Errors.EINVAL;
    }
    if (count == 0) {
      return -Errors.EAGAIN;
    }
    long taken = isSemaphore ? 1 : count;
    count -= taken;
    ByteBuffer.wrap(bytes, at, SIZE).order(ByteOrder.LITTLE_ENDIAN).putLong(taken);
    return SIZE;
  }

  @Override
  public synchronized int write(byte[] bytes, int at, int length) {
    if (length < SIZE) {
      return -Errors.EINVAL;
    }
    long added = ByteBuffer.wrap(bytes, at, SIZE).order(ByteOrder.LITTLE_ENDIAN).getLong();
    if (added == -1) {
      return -Errors.EINVAL;
    }
    // The most that fits is one less than what has all bits.
    if (Long.compareUnsigned(added, -2 - count) > 0) {
      return -Errors.EAGAIN;
    }
    count += added;
    return SIZE;
  }

  @Override
  public synchronized int ready() {
    return (count != 0 ? Poll.IN : 0) | (Long.compareUnsigned(count, -2) < 0 ? Poll.OUT : 0);
  }

  @Override
  public int shutDown(int how) {
    return -Errors.ENOTSOCK;
  }

  @Override
  public void close() {}
}
