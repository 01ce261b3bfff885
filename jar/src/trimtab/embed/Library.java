// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

import java.nio.charset.StandardCharsets;

/**
 * An instance of a library: a program of which Java calls the functions. Instances have nothing in common.
 *
 * <p>One thread at a time is in it, others wait; a function of Java's that it calls may call it again.
 */
public abstract class Library implements AutoCloseable {
  private final Machine machine;
  private final int malloc;
  private final int free;
  private final Memory memory;

  /** Starts an instance: its constructors run, not its {@code main}. */
  protected Library(Program program, Settings settings, int malloc, int free) {
    machine = program.machine();
    machine.open(settings);
    memory = machine.memory();
    this.malloc = malloc;
    this.free = free;
  }

  /** Calls a function with at most four words. */
  protected final long call(int function, int a0, int a1, int a2, int a3) {
    return machine.call(function, a0, a1, a2, a3);
  }

  /** Calls a function with any arguments. */
  protected final long call(int function, double f12, double f14, int... words) {
    return machine.call(function, f12, f14, words);
  }

  /** Calls a function that gives a {@code double}. */
  protected final double callDouble(int function, double f12, double f14, int... words) {
    return machine.callReal(function, f12, f14, words);
  }

  /** Calls a function that gives a {@code float}. */
  protected final float callFloat(int function, double f12, double f14, int... words) {
    double real = machine.callReal(function, f12, f14, words);
    return Float.intBitsToFloat((int) Double.doubleToRawLongBits(real));
  }

  /** A {@code float} as a register for {@code double} has it. */
  protected static double register(float value) {
    return Double.longBitsToDouble(Float.floatToRawIntBits(value) & 0xffffffffL);
  }

  /** The instance's memory. */
  public final Memory memory() {
    return memory;
  }

  /** Java objects that C knows by numbers. */
  public final Handles handles() {
    return machine.handles();
  }

  /** Memory by {@code malloc}, all zero. */
  public final int alloc(int size) {
    int address = (int) machine.call(malloc, Math.max(1, size), 0, 0, 0);
    if (address == 0) {
      throw new OutOfMemoryError("the library has no " + size + " bytes: give it more by Settings.memory");
    }
    memory.put(address, new byte[size], 0, size);
    return address;
  }

  /** Gives memory back by {@code free}. */
  public final void free(int address) {
    machine.call(free, address, 0, 0, 0);
  }

  /** A string in memory of its own, to be given back by {@link #free}; 0 for null. */
  public final int string(String text) {
    if (text == null) {
      return 0;
    }
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    int address = alloc(bytes.length + 1);
    memory.put(address, bytes, 0, bytes.length);
    return address;
  }

  /** The string at an address; null for a null pointer. */
  public final String string(int address) {
    return address == 0 ? null : memory.string(address);
  }

  /** For memory and functions that are given back together. */
  public final Arena arena() {
    return new Arena(this);
  }

  /** A function pointer that leads to Java, until {@link #release}. */
  public final int function(Callback callback) {
    return machine.function(0, callback);
  }

  /** Forgets a function pointer: who calls it then gets SIGSEGV. */
  public final void release(int function) {
    machine.release(function);
  }

  /** Whether the program has ended: no function can be called any more. */
  public final boolean isClosed() {
    return machine.isClosed();
  }

  /** Ends the instance: what {@code atexit} noted is done, and streams are flushed. */
  @Override
  public final void close() {
    machine.close();
  }
}
