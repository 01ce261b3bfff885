// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

/** A thread has ended, or the program. */
final class Exit extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** Whether it is the program. */
  final boolean all;

  /** What it gives to who started it. */
  final int status;

  /** The program that comes in its place; null for none. */
  final Processes.Execution next;

  Exit(int status, boolean all) {
    super(null, null, false, false);
    this.all = all;
    this.status = status;
    next = null;
  }

  Exit(Processes.Execution next) {
    super(null, null, false, false);
    all = true;
    status = 0;
    this.next = next;
  }
}
