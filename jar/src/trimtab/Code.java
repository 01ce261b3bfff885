// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.DataInputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.BitSet;

/** Which addresses have code: the program's own, and memory that it made executable. */
final class Code {
  /** Start and end of each run of the program's code, ascending. */
  private static int[] runs = {};

  /** Functions that the translator knows, but of which it saw no pointer; ascending. */
  private static int[] withoutPointers = {};

  /** Pages that can be executed, by their numbers. Never changed: another one takes its place. */
  private static volatile BitSet pages = new BitSet();

  private Code() {}

  /** Reads what the translator wrote. */
  static void load(DataInputStream in) throws IOException {
    runs = new int[2 * in.readInt()];
    for (int i = 0; i < runs.length; i++) {
      runs[i] = in.readInt();
    }
    withoutPointers = new int[in.readInt()];
    for (int i = 0; i < withoutPointers.length; i++) {
      withoutPointers[i] = in.readInt();
    }
  }

  /** {@code mmap}, {@code mprotect} and {@code munmap}: whether these pages can be executed from now on. */
  static synchronized void protect(int address, int length, boolean executable) {
    if (length <= 0 || !Memory.has(address, length)) {
      return;
    }
    int from = address / Memory.PAGE;
    int to = (address + length - 1) / Memory.PAGE + 1;
    if (executable ? pages.nextClearBit(from) >= to : pages.get(from, to).isEmpty()) {
      return;
    }
    BitSet changed = (BitSet) pages.clone();
    changed.set(from, to, executable);
    pages = changed;
  }

  /** Whether an instruction is there. */
  static boolean isThere(int address) {
    return (address & 3) == 0 && (isOwn(address) || isMadeExecutable(address) || isOnStack(address));
  }

  /**
   * Whether a jump out of a function may go on there. In the program's own code only at the start of a function: elsewhere
   * it is a part of the same function that the translator missed, and needs registers that the Java code has not kept.
   */
  static boolean isEntry(int address) {
    return (address & 3) == 0
        && (isOwn(address) ? Arrays.binarySearch(withoutPointers, address) >= 0 : isMadeExecutable(address));
  }

  private static boolean isOwn(int address) {
    for (int i = 0; i < runs.length; i += 2) {
      if (address >= runs[i] && address < runs[i + 1]) {
        return true;
      }
    }
    return false;
  }

  /** Pointers to functions within others lead to code that GCC puts onto the stack; {@link Memory} knows what it does. */
  private static boolean isOnStack(int address) {
    return Functions.INTERPRETS && address >= Memory.END - Limits.STACK && address < Memory.END;
  }

  private static boolean isMadeExecutable(int address) {
    return address >= 0 && pages.get(address / Memory.PAGE);
  }
}
