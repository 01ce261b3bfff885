// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

/** What floating-point instructions do that Java has no instruction for. */
public final class Float {
  /** What is no number, and quiet, as MIPS has it; to other processors it is a signalling one. */
  public static final double NONE = Double.longBitsToDouble(0x7ff7ffffffffffffL);

  /** The same of 32 bits. */
  public static final float SMALL_NONE = java.lang.Float.intBitsToFloat(0x7fbfffff);

  private Float() {}

  /**
   * A result of arithmetic, whose bits will be seen. What is no number is not as large as itself: processors need one jump
   * for that, and two for what is not equal.
   */
  public static double quiet(double value) {
    return value >= value ? value : NONE;
  }

  /** A result of arithmetic, whose bits will be seen. */
  public static float quiet(float value) {
    return value >= value ? value : SMALL_NONE;
  }

  /** A pair of registers as a number. */
  public static double join(int high, int low) {
    return Double.longBitsToDouble((long) high << 32 | low & 0xffffffffL);
  }

  /** The even register of a pair. */
  public static int low(double value) {
    return (int) Double.doubleToRawLongBits(value);
  }

  /** The odd register of a pair. */
  public static int high(double value) {
    return (int) (Double.doubleToRawLongBits(value) >>> 32);
  }

  /** A 64-bit number without a sign: what is made of its halves is exact, so the sum is rounded once. */
  public static double unsigned(long value) {
    return (value >>> 32) * 4294967296.0 + (value & 0xffffffffL);
  }

  /** The integer of a whole number; what does not fit becomes the largest one, as MIPS has it. */
  private static int fit(double value) {
    return value >= -2147483648.0 ? (int) value : Integer.MAX_VALUE;
  }

  /** {@code trunc.w}. */
  public static int towardsZero(double value) {
    return value > -2147483649.0 ? (int) value : Integer.MAX_VALUE;
  }

  /** {@code round.w}. */
  public static int nearest(double value) {
    return fit(Math.rint(value));
  }

  /** {@code ceil.w}. */
  public static int up(double value) {
    return fit(Math.ceil(value));
  }

  /** {@code floor.w}. */
  public static int down(double value) {
    return fit(Math.floor(value));
  }

  /** {@code cvt.w}: as the control register says. */
  public static int current(double value, Cpu cpu) {
    switch (cpu.control & 3) {
      case 0:
        return nearest(value);
      case 1:
        return towardsZero(value);
      case 2:
        return up(value);
      default:
        return down(value);
    }
  }

  /** {@code c.un}. */
  public static int unordered(double a, double b) {
    return a != a || b != b ? 1 : 0;
  }

  /** {@code c.ueq}. */
  public static int unorderedOrEqual(double a, double b) {
    return a != a || b != b || a == b ? 1 : 0;
  }

  /** {@code c.un}. */
  public static int unordered(float a, float b) {
    return a != a || b != b ? 1 : 0;
  }

  /** {@code c.ueq}. */
  public static int unorderedOrEqual(float a, float b) {
    return a != a || b != b || a == b ? 1 : 0;
  }
}
