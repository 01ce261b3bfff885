// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

import java.io.IOException;

/** What a program wrote does not fit: it hears {@code ENOSPC}. For each {@link FileTree}. */
public final class NoSpaceException extends IOException {
  private static final long serialVersionUID = 1;

  /** With what there is room for. */
  public NoSpaceException(String message) {
    super(message);
  }
}
