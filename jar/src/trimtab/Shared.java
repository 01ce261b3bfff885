// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Files that are mapped. Memory is a copy: of those whose stores reach the file ({@code MAP_SHARED}), what changed is written by
 * {@code msync} and {@code munmap}, before the program reads the file, and at its end; what it writes to the file is copied to
 * memory. All is guarded by the program's {@link Files}.
 */
final class Shared {
  /** A part of a file in memory. */
  private static final class Mapping {
    int start;
    int length;
    final Open open;
    final long offset;

    /** What the file has, as far as is known and there is a file; null where stores do not reach it. */
    byte[] known;

    Mapping(int start, int length, Open open, long offset, byte[] known) {
      this.start = start;
      this.length = length;
      this.open = open;
      this.offset = offset;
      this.known = known;
    }

    int end() {
      return start + length;
    }

    /** The part from one address to another. */
    Mapping part(int from, int to) {
      int begin = from - start;
      byte[] part = known == null ? null : Arrays.copyOfRange(known, cut(begin), cut(to - start));
      return new Mapping(from, to - from, open, offset + begin, part);
    }

    private int cut(int at) {
      return Math.min(at, known.length);
    }

    /** The distance from the start that belongs to a position of the file, from 0 to the length. */
    int at(long position) {
      return (int) Math.max(0, Math.min(position - offset, length));
    }

    boolean isOf(Open other) {
      return known != null && other.info != null && open.info.id() == other.info.id();
    }
  }

  private static final List<Mapping> mappings = new ArrayList<>();

  private Shared() {}

  /**
   * Fills memory with the bytes of a file, and notes it.
   *
   * @param isShared whether stores reach the file
   */
  static void add(int start, int length, Open open, long offset, boolean isShared) throws IOException {
    synchronized (Linux.files) {
      Mapping mapping = new Mapping(start, length, open, offset, isShared ? new byte[0] : null);
      read(mapping, 0, length);
      add(mapping);
    }
  }

  /** The file stays open as long as it is mapped. */
  private static void add(Mapping mapping) {
    mapping.open.users.incrementAndGet();
    mappings.add(mapping);
  }

  /** Writes what changed between two addresses. */
  static void write(int from, int to) throws IOException {
    synchronized (Linux.files) {
      for (Mapping mapping : mappings) {
        if (mapping.start < to && from < mapping.end()) {
          write(mapping, 0, mapping.length);
        }
      }
    }
  }

  /** Writes what changed of a file between two positions, before others look at it. */
  static void write(Open open, long from, long to) throws IOException {
    synchronized (Linux.files) {
      for (Mapping mapping : mappings) {
        if (mapping.isOf(open)) {
          write(mapping, mapping.at(from), mapping.at(to));
        }
      }
    }
  }

  /** Writes all that changed, before other programs look at it. */
  static void writeAll() {
    synchronized (Linux.files) {
      for (Mapping mapping : mappings) {
        try {
          write(mapping, 0, mapping.length);
        } catch (IOException e) {
          // Linux has no way to tell the program either.
        }
      }
    }
  }

  /** Writes what changed between two distances from the start, page by page. */
  private static void write(Mapping mapping, int from, int to) throws IOException {
    if (mapping.known == null || !mapping.open.mayWrite()) {
      return;
    }
    // What is behind the file's end does not reach it.
    int size = mapping.at(mapping.open.channel.size());
    if (size > mapping.known.length) {
      mapping.known = Arrays.copyOf(mapping.known, size);
    }
    int end = Math.min(to, size);
    for (int at = from & -Memory.PAGE; at < end; at += Memory.PAGE) {
      writeChanged(mapping, at, Math.min(at + Memory.PAGE, size));
    }
  }

  /** Writes from the first to the last byte that changed between two distances. */
  private static void writeChanged(Mapping mapping, int from, int to) throws IOException {
    byte[] known = mapping.known;
    int index = mapping.start - Memory.BASE;
    int same = Arrays.mismatch(Memory.M, index + from, index + to, known, from, to);
    if (same < 0) {
      return;
    }
    int first = from + same;
    int last = to;
    while (Memory.M[index + last - 1] == known[last - 1]) {
      last--;
    }
    System.arraycopy(Memory.M, index + first, known, first, last - first);
    long position = mapping.offset + first;
    Contents.writeAll(mapping.open.channel, known, first, last - first, position);
    for (Mapping other : mappings) {
      if (other != mapping && other.isOf(mapping.open)) {
        read(other, other.at(position), other.at(position + last - first));
      }
    }
  }

  /** The file has other bytes between two positions than memory knows. */
  static void read(Open open, long from, long to) throws IOException {
    synchronized (Linux.files) {
      for (Mapping mapping : mappings) {
        if (mapping.isOf(open)) {
          read(mapping, mapping.at(from), mapping.at(to));
        }
      }
    }
  }

  /** Copies the file's bytes between two distances to memory. */
  private static void read(Mapping mapping, int from, int to) throws IOException {
    int index = mapping.start - Memory.BASE;
    int end = from + Contents.readAll(mapping.open.channel, Memory.M, index + from, to - from, mapping.offset + from);
    if (mapping.known != null && end > from) {
      mapping.known = Arrays.copyOf(mapping.known, Math.max(mapping.known.length, end));
      System.arraycopy(Memory.M, index + from, mapping.known, from, end - from);
    }
  }

  /** The file ends at a position now: what is behind it in memory is gone. */
  static void cut(Open open, long size) {
    synchronized (Linux.files) {
      for (Mapping mapping : mappings) {
        if (mapping.isOf(open)) {
          int end = mapping.at(size);
          Memory.clear(mapping.start + end, mapping.length - end);
          mapping.known = Arrays.copyOf(mapping.known, Math.min(end, mapping.known.length));
        }
      }
    }
  }

  /** These addresses are another memory from now on; what changed there is written before. */
  static void remove(int from, int to) throws IOException {
    synchronized (Linux.files) {
      write(from, to);
      for (Mapping mapping : new ArrayList<>(mappings)) {
        if (mapping.start >= to || from >= mapping.end()) {
          continue;
        }
        mappings.remove(mapping);
        if (mapping.start < from) {
          add(mapping.part(mapping.start, from));
        }
        if (to < mapping.end()) {
          add(mapping.part(to, mapping.end()));
        }
        Linux.files.release(mapping.open);
      }
    }
  }

  /** Memory between two addresses was moved to another one, or is longer now. */
  static void move(int from, int end, int to, int newEnd) throws IOException {
    synchronized (Linux.files) {
      for (Mapping mapping : mappings) {
        if (mapping.start < from || mapping.end() > end) {
          continue;
        }
        boolean isLast = mapping.end() == end;
        mapping.start += to - from;
        if (isLast && newEnd > mapping.end()) {
          int before = mapping.length;
          mapping.length = newEnd - mapping.start;
          read(mapping, before, mapping.length);
        }
      }
    }
  }

  /** Whether there is any. */
  static boolean areAny() {
    return !mappings.isEmpty();
  }
}
