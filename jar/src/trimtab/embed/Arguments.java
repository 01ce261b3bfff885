// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

/**
 * What a function of Java's is given by C, by the rules of o32. They are read in their order, each with the method for
 * its type.
 */
public final class Arguments {
  private final Memory memory;
  private final Handles handles;
  private final int[] registers;
  private final int stack;
  private final double first;
  private final double second;

  /** Words that were read. */
  private int words;

  /** Floating-point numbers that were read before any other argument. */
  private int reals;

  private double result;
  private boolean isReal;

  /** For the run time. */
  public Arguments(
      Memory memory, Handles handles, int a0, int a1, int a2, int a3, int stack, double first, double second) {
    this.memory = memory;
    this.handles = handles;
    this.registers = new int[] {a0, a1, a2, a3};
    this.stack = stack;
    this.first = first;
    this.second = second;
  }

  private int word() {
    int at = words++;
    return at < 4 ? registers[at] : memory.getInt(stack + 4 * at);
  }

  /** The next argument, an integer of at most 32 bits. */
  public int integer() {
    reals = 2;
    return word();
  }

  /** The next argument, a pointer. */
  public int pointer() {
    return integer();
  }

  /** The next argument, an integer of 64 bits. */
  public long longInteger() {
    reals = 2;
    return wide();
  }

  private long wide() {
    words = (words + 1) & ~1;
    long low = word() & 0xffffffffL;
    return low | (long) word() << 32;
  }

  /** The next argument, a {@code double}. */
  public double real() {
    if (reals < 2) {
      words = ((words + 1) & ~1) + 2;
      return reals++ == 0 ? first : second;
    }
    return Double.longBitsToDouble(wide());
  }

  /** The next argument, a {@code float}. */
  public float single() {
    if (reals < 2) {
      words++;
      return Float.intBitsToFloat((int) Double.doubleToRawLongBits(reals++ == 0 ? first : second));
    }
    return Float.intBitsToFloat(word());
  }

  /** The next argument, a pointer to a string; null for a null pointer. */
  public String string() {
    int address = pointer();
    return address == 0 ? null : memory.string(address);
  }

  /** The next argument, a {@code java_object}. */
  public Object object() {
    return handles.get(integer());
  }

  /** Makes an object the function's result: C releases it. */
  public long result(Object value) {
    return handles.put(value);
  }

  /** The program's memory. */
  public Memory memory() {
    return memory;
  }

  /** Makes a {@code double} the function's result. */
  public long result(double value) {
    isReal = true;
    result = value;
    return 0;
  }

  /** Makes a {@code float} the function's result. */
  public long result(float value) {
    return result(Double.longBitsToDouble(Float.floatToRawIntBits(value) & 0xffffffffL));
  }

  /** Whether the result is a floating-point number: for the run time. */
  public boolean isReal() {
    return isReal;
  }

  /** That number, as a register holds it: for the run time. */
  public double real0() {
    return result;
  }
}
