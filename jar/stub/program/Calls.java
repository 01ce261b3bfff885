// SPDX-License-Identifier: MIT OR Apache-2.0
package program;

/** Stands for the class of this name that the translator makes. */
public final class Calls {
  private Calls() {}

  /** Calls the function at an address. */
  public static long to(
      trimtab.Cpu cpu, int address, int a0, int a1, int a2, int a3, int stack) {
    throw new UnsupportedOperationException("this is no program: the translator makes this class");
  }
}
