// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

/** The functions of the program that were running when something was thrown. */
final class Backtrace {
  private static final int MOST = 30;

  private Backtrace() {}

  /** A line for each, the innermost first, with its file and line where the program has them. */
  static String of(Throwable thrown) {
    StringBuilder lines = new StringBuilder();
    StackTraceElement[] frames = thrown.getStackTrace();
    String whole = "";
    for (int i = 0; i < frames.length && i < MOST; i++) {
      if (!frames[i].getClassName().startsWith("program.Code")) {
        continue;
      }
      // A part of a function, as a loop, is a method of its own, which the method of the function calls.
      String method = frames[i].getMethodName();
      String name = method.replaceFirst("[$](loop|part)[0-9]+$", "");
      // The method of several functions: it is one of them.
      name = name.replace("$or$", " or ");
      if (!name.equals(whole)) {
        lines.append("    in ").append(name);
        if (frames[i].getLineNumber() > 0) {
          lines.append(" (").append(frames[i].getFileName()).append(':').append(frames[i].getLineNumber()).append(')');
        }
        lines.append('\n');
      }
      whole = name.equals(method) ? "" : name;
    }
    return lines.toString();
  }
}
