// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Files that are mapped so that what is stored there reaches the file ({@code MAP_SHARED}). Memory is a copy: pages that changed are
 * written by {@code msync} and {@code munmap}, before the file is read, and at the program's end.
 */
final class Shared {
  /** A part of a file in memory. */
  private static final class Mapping {
    final int start;
    final Open open;
    final long offset;

    /** What the file has, as far as is known. */
    final byte[] known;

    Mapping(int start, Open open, long offset, byte[] known) {
      this.start = start;
      this.open = open;
      this.offset = offset;
      this.known = known;
    }

    int end() {
      return start + known.length;
    }

    /** The part from one address to another. */
    Mapping part(int from, int to) {
      return new Mapping(from, open, offset + (from - start), Arrays.copyOfRange(known, from - start, to - start));
    }
  }

  private static final List<Mapping> mappings = new ArrayList<>();

  private Shared() {}

  /** Notes that a file's bytes are at an address. */
  static synchronized void add(int start, Open open, long offset, byte[] bytes) {
    if (bytes.length > 0) {
      add(new Mapping(start, open, offset, bytes));
    }
  }

  /** The file stays open as long as it is mapped. */
  private static void add(Mapping mapping) {
    mapping.open.users.incrementAndGet();
    mappings.add(mapping);
  }

  /** Writes what changed between two addresses. */
  static synchronized void write(int from, int to) throws IOException {
    for (Mapping mapping : mappings) {
      if (mapping.start < to && from < mapping.end()) {
        write(mapping);
      }
    }
  }

  /** Writes what changed of a file, before others look at it. */
  static synchronized void write(String path) throws IOException {
    for (Mapping mapping : mappings) {
      if (path.equals(mapping.open.path)) {
        write(mapping);
      }
    }
  }

  /** Writes all that changed, before other programs look at it. */
  static synchronized void writeAll() {
    for (Mapping mapping : mappings) {
      try {
        write(mapping);
      } catch (IOException e) {
        // Linux has no way to tell the program either.
      }
    }
  }

  private static void write(Mapping mapping) throws IOException {
    byte[] known = mapping.known;
    for (int at = 0; at < known.length; at += Memory.PAGE) {
      int size = Math.min(Memory.PAGE, known.length - at);
      int index = mapping.start - Memory.BASE + at;
      if (!Arrays.equals(Memory.M, index, index + size, known, at, at + size)) {
        System.arraycopy(Memory.M, index, known, at, size);
        Linux.files.writeBack(mapping.open, known, at, size, mapping.offset + at);
      }
    }
  }

  /** These addresses are another memory from now on; what changed there is written before. */
  static synchronized void remove(int from, int to) throws IOException {
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

  /** Memory was moved. */
  static synchronized void move(int from, int to) {
    for (Mapping mapping : new ArrayList<>(mappings)) {
      if (mapping.start == from) {
        mappings.remove(mapping);
        mappings.add(new Mapping(to, mapping.open, mapping.offset, mapping.known));
      }
    }
  }

  /** Whether there is any. */
  static boolean areAny() {
    return !mappings.isEmpty();
  }
}
