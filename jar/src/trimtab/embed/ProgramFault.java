// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

/** An instruction of the program's failed: an access to what is no memory, a division by zero. */
public final class ProgramFault extends ProgramException {
  private static final long serialVersionUID = 1;
  private final int signal;

  /** For the run time. */
  public ProgramFault(int signal, Throwable cause) {
    super("signal " + signal + ": " + cause.getMessage(), cause);
    this.signal = signal;
    // Where it failed: methods of C functions have their names.
    setStackTrace(cause.getStackTrace());
  }

  /** The signal's number: 11 is SIGSEGV. */
  public int signal() {
    return signal;
  }
}
