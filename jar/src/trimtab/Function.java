// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

/** What a pointer of the program's leads to. Of each function that the translator knows there is a class of its own. */
public abstract class Function {
  /** Made by its classes. */
  protected Function() {}

  /** Calls it with what any function may be given; gives {@code v0} and {@code v1} back. */
  public abstract long call(Cpu cpu, int a0, int a1, int a2, int a3, int stack);
}
