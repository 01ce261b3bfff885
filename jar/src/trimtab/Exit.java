// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

/** A thread has ended, or the program. */
final class Exit extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** Whether it is the program. */
  final boolean all;

  /** What it gives to who started it. */
  final int status;

  Exit(int status, boolean all) {
    super(null, null, false, false);
    this.all = all;
    this.status = status;
  }
}
