// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

/** Something that the program did. */
public class ProgramException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** With a message. */
  public ProgramException(String message) {
    super(message);
  }

  /** With a message, and what it comes from. */
  public ProgramException(String message, Throwable cause) {
    super(message, cause);
  }
}
