// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;

/** A call fails with a number of {@link Errors}. */
final class LinuxException extends IOException {
  private static final long serialVersionUID = 1;

  final int error;

  LinuxException(int error) {
    super("error " + error);
    this.error = error;
  }
}
