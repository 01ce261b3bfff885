// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.util.Map;
import java.util.TreeMap;

/** Which addresses the program has taken: its heap from below, mapped memory and stack from above. */
final class Maps {
  private static int heapStart;
  private static int heapEnd;
  private static int lowest;

  /** Free ranges of what was mapped: start and end. */
  private static final TreeMap<Integer, Integer> free = new TreeMap<>();

  private Maps() {}

  static synchronized void start() {
    heapStart = page(Memory.programEnd);
    heapEnd = heapStart;
    lowest = Memory.END - Limits.STACK;
  }

  private static int page(int length) {
    return (length + Memory.PAGE - 1) & -Memory.PAGE;
  }

  /** Where the pages end that begin at an address and hold as many bytes. */
  static int end(int address, int length) {
    return address + page(length);
  }

  /** {@code brk}. */
  static synchronized int heap(int end) {
    if (end >= heapStart && end <= lowest) {
      if (end < heapEnd) {
        Memory.clear(end, heapEnd - end);
      }
      heapEnd = end;
    }
    return heapEnd;
  }

  /** {@code mmap} of memory without a file. */
  static synchronized int map(int address, int length, boolean fixed) {
    if (length <= 0 || page(length) <= 0) {
      return length == 0 ? -Errors.EINVAL : -Errors.ENOMEM;
    }
    int size = page(length);
    if (fixed) {
      if ((address & Memory.PAGE - 1) != 0 || !Memory.has(address, size)) {
        return -Errors.ENOMEM;
      }
      Memory.clear(address, size);
      return address;
    }
    for (Map.Entry<Integer, Integer> range : free.descendingMap().entrySet()) {
      int start = range.getKey();
      int end = range.getValue();
      if (end - start >= size) {
        free.remove(start);
        if (end - start > size) {
          free.put(start, end - size);
        }
        Memory.clear(end - size, size);
        return end - size;
      }
    }
    if (size > lowest - page(heapEnd)) {
      return -Errors.ENOMEM;
    }
    lowest -= size;
    return lowest;
  }

  /** {@code munmap}. */
  static synchronized int unmap(int address, int length) {
    if ((address & Memory.PAGE - 1) != 0 || length <= 0) {
      return -Errors.EINVAL;
    }
    int start = address;
    int end = address + page(length);
    if (start < lowest || end > Memory.END - Limits.STACK || end < start) {
      return 0;
    }
    Memory.clear(start, end - start);
    Map.Entry<Integer, Integer> before = free.lowerEntry(start + 1);
    if (before != null && before.getValue() >= start) {
      start = before.getKey();
      end = Math.max(end, before.getValue());
    }
    Map.Entry<Integer, Integer> after = free.ceilingEntry(start);
    while (after != null && after.getKey() <= end) {
      end = Math.max(end, after.getValue());
      free.remove(after.getKey());
      after = free.ceilingEntry(start);
    }
    free.remove(start);
    if (start == lowest) {
      lowest = end;
    } else {
      free.put(start, end);
    }
    return 0;
  }

  /** {@code mremap}. */
  static synchronized int remap(int address, int length, int wanted, boolean mayMove) {
    if (page(wanted) == page(length)) {
      return address;
    }
    if (wanted < length) {
      unmap(address + page(wanted), page(length) - page(wanted));
      return address;
    }
    if (!mayMove) {
      return -Errors.ENOMEM;
    }
    Memory.check(address, page(length));
    int moved = map(0, wanted, false);
    if (moved < 0 && moved > -4096) {
      return moved;
    }
    System.arraycopy(Memory.M, address - Memory.BASE, Memory.M, moved - Memory.BASE, page(length));
    Code.protect(moved, wanted, Code.isThere(address));
    Code.protect(address, length, false);
    unmap(address, length);
    return moved;
  }
}
