// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

/** An instruction that cannot go on: the program gets a signal. */
public final class Fault extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The number of the signal. */
  final int signal;

  Fault(int signal, String message) {
    super(message);
    this.signal = signal;
  }

  /** {@code teq} and the like: compilers use them for divisions by zero. */
  public static void trap(int code) {
    if (code == 6 || code == 7) {
      throw new Fault(Signals.FPE, code == 7 ? "division by zero" : "overflow");
    }
    throw new Fault(Signals.TRAP, "trap " + code);
  }

  /** {@code break}. */
  public static void breakpoint(int code) {
    if (code == 6 || code == 7) {
      throw new Fault(Signals.FPE, code == 7 ? "division by zero" : "overflow");
    }
    throw new Fault(Signals.TRAP, "break " + code);
  }

  /** An instruction that was not translated. */
  public static void unknown(int pc, int word) {
    throw new Fault(
        Signals.ILL,
        String.format("not supported: the instruction %08x at 0x%x", word, pc));
  }

  /** A call of what is no function. */
  static Fault noCode(int address) {
    return new Fault(
        Signals.SEGV, String.format("no function that the translator knows begins at 0x%x", address));
  }
}
