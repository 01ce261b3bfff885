// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

/** The program has ended. */
public final class ProgramExit extends ProgramException {
  private static final long serialVersionUID = 1;
  private final int status;

  /** For the run time. */
  public ProgramExit(int status) {
    super("the program has ended with status " + status);
    this.status = status;
  }

  /** Its exit status: 128 and a signal's number where that ended it. */
  public int status() {
    return status;
  }
}
