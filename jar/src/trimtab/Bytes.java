// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.util.Arrays;

/**
 * What the C library's functions do that work on bytes. The JVM has instructions for these that handle many bytes at once; few
 * bytes are handled here, as calling its code takes longer. What lies outside of memory is an {@link IndexOutOfBoundsException}, as elsewhere.
 */
public final class Bytes {
  private static final long ONES = 0x0101010101010101L;
  private static final long TOPS = 0x8080808080808080L;

  private Bytes() {}

  /** {@code memcpy} and {@code memmove}. */
  public static int copy(Cpu cpu, int to, int from, int count) {
    int a = to - Memory.BASE;
    int b = from - Memory.BASE;
    byte[] m = Memory.M;
    // All is read before anything is written: the places may overlap.
    if (Integer.compareUnsigned(count, 32) > 0) {
      System.arraycopy(m, b, m, a, count);
    } else if (count > 16) {
      long first = (long) Memory.L.get(m, b);
      long second = (long) Memory.L.get(m, b + 8);
      long third = (long) Memory.L.get(m, b + count - 16);
      long last = (long) Memory.L.get(m, b + count - 8);
      Memory.L.set(m, a, first);
      Memory.L.set(m, a + 8, second);
      Memory.L.set(m, a + count - 16, third);
      Memory.L.set(m, a + count - 8, last);
    } else if (count >= 8) {
      long first = (long) Memory.L.get(m, b);
      long last = (long) Memory.L.get(m, b + count - 8);
      Memory.L.set(m, a, first);
      Memory.L.set(m, a + count - 8, last);
    } else if (count >= 4) {
      int first = (int) Memory.I.get(m, b);
      int last = (int) Memory.I.get(m, b + count - 4);
      Memory.I.set(m, a, first);
      Memory.I.set(m, a + count - 4, last);
    } else if (count > 0) {
      byte first = m[b];
      byte middle = m[b + (count >> 1)];
      byte last = m[b + count - 1];
      m[a] = first;
      m[a + (count >> 1)] = middle;
      m[a + count - 1] = last;
    }
    return to;
  }

  /** {@code mempcpy}. */
  public static int copyToEnd(Cpu cpu, int to, int from, int count) {
    return copy(cpu, to, from, count) + count;
  }

  /** {@code memset}. */
  public static int fill(Cpu cpu, int to, int value, int count) {
    int a = to - Memory.BASE;
    byte[] m = Memory.M;
    if (Integer.compareUnsigned(count, 32) > 0) {
      // It is looked at first whether all of it is there: Java would say that an argument is wrong.
      Memory.check(to, count);
      Arrays.fill(m, a, a + count, (byte) value);
    } else if (count >= 8) {
      long all = (value & 255) * ONES;
      for (int i = 0; i < count - 8; i += 8) {
        Memory.L.set(m, a + i, all);
      }
      Memory.L.set(m, a + count - 8, all);
    } else {
      for (int i = 0; i < count; i++) {
        m[a + i] = (byte) value;
      }
    }
    return to;
  }

  /** {@code memcmp}: the difference of the first bytes that differ. */
  public static int compare(Cpu cpu, int one, int other, int count) {
    int a = one - Memory.BASE;
    int b = other - Memory.BASE;
    byte[] m = Memory.M;
    if (Integer.compareUnsigned(count, 32) > 0) {
      // What is behind the first difference need not be there.
      Memory.check(one, 1);
      Memory.check(other, 1);
      int there = (int) Math.min(count & 0xffffffffL, m.length - Math.max(a, b));
      int differs = Arrays.mismatch(m, a, a + there, m, b, b + there);
      if (differs >= 0) {
        return (m[a + differs] & 255) - (m[b + differs] & 255);
      }
      Memory.check(Math.max(one, other), count);
      return 0;
    }
    int at = 0;
    for (; at <= count - 8; at += 8) {
      long x = (long) Memory.L.get(m, a + at) ^ (long) Memory.L.get(m, b + at);
      if (x != 0) {
        at += Long.numberOfTrailingZeros(x) >> 3;
        return (m[a + at] & 255) - (m[b + at] & 255);
      }
    }
    for (; at < count; at++) {
      int difference = (m[a + at] & 255) - (m[b + at] & 255);
      if (difference != 0) {
        return difference;
      }
    }
    return 0;
  }

  /** {@code strlen}. */
  public static int length(Cpu cpu, int string, int unused, int unused2) {
    int start = string - Memory.BASE;
    byte[] m = Memory.M;
    int at = start;
    for (; (at & 7) != 0; at++) {
      if (m[at] == 0) {
        return at - start;
      }
    }
    while (true) {
      long x = (long) Memory.L.get(m, at);
      long zeros = x - ONES & ~x & TOPS;
      if (zeros != 0) {
        return at - start + (Long.numberOfTrailingZeros(zeros) >> 3);
      }
      at += 8;
    }
  }

  /** {@code strnlen}. */
  public static int lengthUpTo(Cpu cpu, int string, int most, int unused) {
    int end = find(cpu, string, 0, most);
    return end == 0 ? most : end - string;
  }

  /** {@code memchr}: where the first such byte is, or 0. */
  public static int find(Cpu cpu, int bytes, int value, int count) {
    int at = bytes - Memory.BASE;
    byte[] m = Memory.M;
    long behind = at + (count & 0xffffffffL);
    int end = (int) Math.min(behind, m.length);
    long pattern = (value & 255) * ONES;
    for (; at < end && (at & 7) != 0; at++) {
      if (m[at] == (byte) value) {
        return at + Memory.BASE;
      }
    }
    for (; at <= end - 8; at += 8) {
      long x = (long) Memory.L.get(m, at) ^ pattern;
      long zeros = x - ONES & ~x & TOPS;
      if (zeros != 0) {
        return at + (Long.numberOfTrailingZeros(zeros) >> 3) + Memory.BASE;
      }
    }
    for (; at < end; at++) {
      if (m[at] == (byte) value) {
        return at + Memory.BASE;
      }
    }
    // Behind the end of memory nothing is found.
    return count != 0 && behind > m.length ? m[Math.max(at, m.length)] : 0;
  }

  /** {@code strchr}: where the first such byte of a string is, or 0. */
  public static int findInString(Cpu cpu, int string, int value, int unused) {
    int at = findOrEnd(cpu, string, value, 0);
    return Memory.M[at - Memory.BASE] == (byte) value ? at : 0;
  }

  /** {@code strchrnul}: where the first such byte of a string is, or its end. */
  public static int findOrEnd(Cpu cpu, int string, int value, int unused) {
    int at = string - Memory.BASE;
    byte[] m = Memory.M;
    for (; (at & 7) != 0; at++) {
      if (m[at] == 0 || m[at] == (byte) value) {
        return at + Memory.BASE;
      }
    }
    long pattern = (value & 255) * ONES;
    while (true) {
      long x = (long) Memory.L.get(m, at);
      long y = x ^ pattern;
      long found = (x - ONES & ~x | y - ONES & ~y) & TOPS;
      if (found != 0) {
        return at + (Long.numberOfTrailingZeros(found) >> 3) + Memory.BASE;
      }
      at += 8;
    }
  }

  /** {@code strspn}: how many bytes of a string are first that another one has. */
  public static int within(Cpu cpu, int string, int set, int unused) {
    return span(string, set, true);
  }

  /** {@code strcspn}: how many bytes of a string are first that another one does not have. */
  public static int without(Cpu cpu, int string, int set, int unused) {
    return span(string, set, false);
  }

  private static int span(int string, int set, boolean isIn) {
    byte[] m = Memory.M;
    // A bit for each byte that the other string has.
    long first = 0;
    long second = 0;
    long third = 0;
    long fourth = 0;
    for (int at = set - Memory.BASE; m[at] != 0; at++) {
      long bit = 1L << m[at];
      switch (m[at] >> 6) {
        case 0 -> first |= bit;
        case 1 -> second |= bit;
        case -2 -> third |= bit;
        default -> fourth |= bit;
      }
    }
    int start = string - Memory.BASE;
    for (int at = start; ; at++) {
      int x = m[at];
      long bits = x >= 0 ? x < 64 ? first : second : x < -64 ? third : fourth;
      if (x == 0 || (bits >>> x & 1) != 0 != isIn) {
        return at - start;
      }
    }
  }

  /** {@code strncmp}: the difference of the first bytes that differ. */
  public static int compareStringsUpTo(Cpu cpu, int one, int other, int count) {
    int a = one - Memory.BASE;
    int b = other - Memory.BASE;
    byte[] m = Memory.M;
    for (int left = count; left != 0; left--) {
      byte x = m[a++];
      byte y = m[b++];
      if (x != y || x == 0) {
        return (x & 255) - (y & 255);
      }
    }
    return 0;
  }

  /** {@code strcmp}: the difference of the first bytes that differ. */
  public static int compareStrings(Cpu cpu, int one, int other, int unused) {
    int a = one - Memory.BASE;
    int b = other - Memory.BASE;
    byte[] m = Memory.M;
    while (true) {
      byte x = m[a++];
      byte y = m[b++];
      if (x != y || x == 0) {
        return (x & 255) - (y & 255);
      }
    }
  }

  /** {@code strcpy}. */
  public static int copyString(Cpu cpu, int to, int from, int unused) {
    return copy(cpu, to, from, length(cpu, from, 0, 0) + 1);
  }
}
