// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The memory of an instance: what its pointers point to. An address that has no memory is an
 * {@link IndexOutOfBoundsException}.
 */
public final class Memory {
  private static final VarHandle SHORT = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle FLOAT = MethodHandles.byteArrayViewVarHandle(float[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle DOUBLE = MethodHandles.byteArrayViewVarHandle(double[].class, ByteOrder.LITTLE_ENDIAN);

  private final byte[] bytes;
  private final int base;

  /** For the run time: {@code bytes[0]} is at address {@code base}. */
  public Memory(byte[] bytes, int base) {
    this.bytes = bytes;
    this.base = base;
  }

  /** A byte. */
  public byte getByte(int address) {
    return bytes[address - base];
  }

  /** A {@code short}. */
  public short getShort(int address) {
    return (short) SHORT.get(bytes, address - base);
  }

  /** An {@code int}, or a pointer. */
  public int getInt(int address) {
    return (int) INT.get(bytes, address - base);
  }

  /** A {@code long long}. */
  public long getLong(int address) {
    return (long) LONG.get(bytes, address - base);
  }

  /** A {@code float}. */
  public float getFloat(int address) {
    return (float) FLOAT.get(bytes, address - base);
  }

  /** A {@code double}. */
  public double getDouble(int address) {
    return (double) DOUBLE.get(bytes, address - base);
  }

  /** Stores a byte. */
  public void putByte(int address, int value) {
    bytes[address - base] = (byte) value;
  }

  /** Stores a {@code short}. */
  public void putShort(int address, int value) {
    SHORT.set(bytes, address - base, (short) value);
  }

  /** Stores an {@code int}, or a pointer. */
  public void putInt(int address, int value) {
    INT.set(bytes, address - base, value);
  }

  /** Stores a {@code long long}. */
  public void putLong(int address, long value) {
    LONG.set(bytes, address - base, value);
  }

  /** Stores a {@code float}. */
  public void putFloat(int address, float value) {
    FLOAT.set(bytes, address - base, value);
  }

  /** Stores a {@code double}. */
  public void putDouble(int address, double value) {
    DOUBLE.set(bytes, address - base, value);
  }

  /** A copy of bytes. */
  public byte[] bytes(int address, int length) {
    int from = address - base;
    java.util.Objects.checkFromIndexSize(from, length, bytes.length);
    return Arrays.copyOfRange(bytes, from, from + length);
  }

  /** Copies bytes out of memory. */
  public void get(int address, byte[] to, int offset, int length) {
    System.arraycopy(bytes, address - base, to, offset, length);
  }

  /** Copies bytes into memory. */
  public void put(int address, byte[] from, int offset, int length) {
    System.arraycopy(from, offset, bytes, address - base, length);
  }

  /** The string in UTF-8 that ends with a zero. */
  public String string(int address) {
    int from = address - base;
    int end = from;
    while (bytes[end] != 0) {
      end++;
    }
    return new String(bytes, from, end - from, StandardCharsets.UTF_8);
  }
}
