// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.DataInputStream;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The program's memory: one array. The address of its first byte is {@link #BASE}; what lies below
 * is never there, so that an access through a null pointer fails.
 *
 * <p>All of it is static: a class loader holds one program.
 */
public final class Memory {
  /** Bytes of a page, the unit of mappings. */
  public static final int PAGE = 4096;

  /** The first address. */
  public static final int BASE = 4096;

  /** The end of memory. */
  public static final int END = Limits.memory();

  /** Memory. */
  public static final byte[] M = new byte[END - BASE];

  /** {@code short} at an index. */
  public static final VarHandle S =
      MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);

  /** {@code int} at an index. */
  public static final VarHandle I =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  /** {@code long} at an index. */
  public static final VarHandle L =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** {@code double} at an index. */
  public static final VarHandle D =
      MethodHandles.byteArrayViewVarHandle(double[].class, ByteOrder.LITTLE_ENDIAN);

  static int entry;
  static int headers;
  static int headerCount;

  /** Where {@code main} is; 0 where that is not known. */
  static int main;

  /** Whether instructions are counted. */
  static boolean isMetered;

  /** The first address behind the program. */
  static int programEnd;

  private Memory() {}

  /** Reads what the translator wrote, behind the number of classes; the names of its parts are there. */
  static void load(DataInputStream in) throws IOException {
    entry = in.readInt();
    headers = in.readInt();
    headerCount = in.readInt();
    main = in.readInt();
    isMetered = in.readInt() != 0;
    Functions.load(in);
    Code.load(in);
    Unwind.load(in);
    int segments = in.readInt();
    for (int i = 0; i < segments; i++) {
      int address = in.readInt();
      int length = in.readInt();
      int size = in.readInt();
      if (address < BASE || size > END - address) {
        throw new IOException(
            "the program needs memory up to address " + (address + (long) size) + ", there is as much as " + END
                + " bytes: give more with -Dtrimtab.memory=MIB or Settings.memory");
      }
      in.readFully(M, address - BASE, length);
      programEnd = Math.max(programEnd, address + size);
    }
  }

  /** A jump within a function leads to where the translator found no code. */
  public static void nowhere(int address) {
    throw Fault.noCode(address);
  }

  static byte readByte(int address) {
    return M[address - BASE];
  }

  static int readInt(int address) {
    return (int) I.get(M, address - BASE);
  }

  static void writeByte(int address, int value) {
    M[address - BASE] = (byte) value;
  }

  static void writeShort(int address, int value) {
    S.set(M, address - BASE, (short) value);
  }

  static void writeInt(int address, int value) {
    I.set(M, address - BASE, value);
  }

  static void writeLong(int address, long value) {
    writeInt(address, (int) value);
    writeInt(address + 4, (int) (value >> 32));
  }

  static long readLong(int address) {
    return (readInt(address) & 0xffffffffL) | (long) readInt(address + 4) << 32;
  }

  static byte[] readBytes(int address, int length) {
    check(address, length);
    return Arrays.copyOfRange(M, address - BASE, address - BASE + length);
  }

  static void writeBytes(int address, byte[] bytes) {
    check(address, bytes.length);
    System.arraycopy(bytes, 0, M, address - BASE, bytes.length);
  }

  static void clear(int address, int length) {
    check(address, length);
    Arrays.fill(M, address - BASE, address - BASE + length, (byte) 0);
  }

  /** Whether all of these addresses have memory. */
  static boolean has(int address, int length) {
    return length >= 0 && address >= BASE && address <= END && length <= END - address;
  }

  static void check(int address, int length) {
    if (!has(address, length)) {
      throw new IndexOutOfBoundsException(address);
    }
  }

  /** The string at an address. */
  static String string(int address) {
    int end = address;
    while (readByte(end) != 0) {
      end++;
    }
    return new String(M, address - BASE, end - address, StandardCharsets.UTF_8);
  }

  /** {@code lwl}: the word's upper bytes, from an index downwards. */
  public static int loadLeft(int old, int index) {
    int shift = 8 * (3 - (index & 3));
    int word = (int) I.get(M, index & ~3);
    return shift == 0 ? word : word << shift | old & (1 << shift) - 1;
  }

  /** {@code lwr}: the word's lower bytes, from an index upwards. */
  public static int loadRight(int old, int index) {
    int shift = 8 * (index & 3);
    int word = (int) I.get(M, index & ~3);
    return shift == 0 ? word : word >>> shift | old & ~(-1 >>> shift);
  }

  /** {@code swl}: only these bytes, as others may store those beside them. */
  public static void storeLeft(int value, int index) {
    switch (index & 3) {
      case 0:
        M[index] = (byte) (value >>> 24);
        break;
      case 1:
        S.set(M, index - 1, (short) (value >>> 16));
        break;
      case 2:
        S.set(M, index - 2, (short) (value >>> 8));
        M[index] = (byte) (value >>> 24);
        break;
      default:
        I.set(M, index - 3, value);
    }
  }

  /** {@code swr}. */
  public static void storeRight(int value, int index) {
    switch (index & 3) {
      case 0:
        I.set(M, index, value);
        break;
      case 1:
        M[index] = (byte) value;
        S.set(M, index + 1, (short) (value >>> 8));
        break;
      case 2:
        S.set(M, index, (short) value);
        break;
      default:
        M[index] = (byte) value;
    }
  }

  /** {@code ll}. */
  public static int loadLinked(Cpu cpu, int index) {
    if ((index & 3) != 0) {
      throw new Fault(Signals.BUS, "the address of an atomic access is no multiple of 4");
    }
    cpu.linked = index;
    cpu.linkedValue = Atomic.load(index);
    return cpu.linkedValue;
  }

  /** {@code sc}: it also succeeds where others stored something else and then the same again. */
  public static int storeConditional(Cpu cpu, int index, int value) {
    boolean isLinked = cpu.linked == index;
    cpu.linked = -1;
    return isLinked && Atomic.exchange(index, cpu.linkedValue, value) ? 1 : 0;
  }

  /** {@code sb} behind {@code sync}. */
  public static void storeByte(int value, int index) {
    Atomic.store(index, value, 1);
  }

  /** {@code sh} behind {@code sync}. */
  public static void storeShort(int value, int index) {
    Atomic.store(index, value, 2);
  }

  /** {@code sw} behind {@code sync}. */
  public static void storeInt(int value, int index) {
    Atomic.store(index, value, 4);
  }

  /** {@code wsbh}. */
  public static int swapHalves(int value) {
    return Integer.rotateRight(Integer.reverseBytes(value), 16);
  }

  /** {@code sltu}. */
  static int below(int a, int b) {
    return a + Integer.MIN_VALUE < b + Integer.MIN_VALUE ? 1 : 0;
  }
}
