// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

/** The program has ended. */
final class Exit extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** What it gives to who started it. */
  final int status;

  Exit(int status) {
    super(null, null, false, false);
    this.status = status;
  }
}
