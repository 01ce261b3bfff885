// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

/** An instance of a program as its class loader has it: for {@link Program} and {@link Library}, which see. */
public interface Machine {
  /** Runs a program to its end. */
  int run(Settings settings);

  /** Ends the program. May be called from any thread. */
  void stop();

  /** Starts a program whose functions are then called. */
  void open(Settings settings);

  /** Ends such a program. */
  void close();

  /** Whether it has ended. */
  boolean isClosed();

  /** Calls a function with words only; {@code v0} is the lower word of what it gives. */
  long call(int function, int a0, int a1, int a2, int a3);

  /** Calls a function; the words from the fifth on go to the stack. */
  long call(int function, double f12, double f14, int[] words);

  /** The same, for {@code f0}. */
  double callReal(int function, double f12, double f14, int[] words);

  /** The program's memory. */
  Memory memory();

  /** Objects that it knows. */
  Handles handles();

  /** Gives a function of Java's an address, or has one with a given address. */
  int function(int address, Callback callback);

  /** Forgets a function of Java's. */
  void release(int address);
}
