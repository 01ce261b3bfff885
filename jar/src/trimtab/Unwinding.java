// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

/** An exception of C++, or the end of a thread, on its way through the functions that it leaves. */
public final class Unwinding extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** {@code exception_class} of GNU's C++, but for its last byte. */
  private static final long CPLUSPLUS = 0x474e5543432b2bL;

  /** From the object's part for the unwinder back to its type. */
  private static final int TYPE = 48;

  /** Where the object's part for the unwinder is: {@code struct _Unwind_Exception}. */
  final int object;

  /** The function that says where a thread's end has gone far enough; 0 for an exception that is thrown. */
  final int stop;

  /** What that function is given. */
  final int argument;

  Unwinding(int object, int stop, int argument) {
    super(null, null, false, false);
    this.object = object;
    this.stop = stop;
    this.argument = argument;
  }

  @Override
  public String getMessage() {
    try {
      if (Memory.readLong(object) >>> 8 == CPLUSPLUS) {
        return "an exception of the C++ type " + Memory.string(Memory.readInt(Memory.readInt(object - TYPE) + 4));
      }
    } catch (IndexOutOfBoundsException e) {
      // It was freed, or never was one.
    }
    return "an exception of an unknown language";
  }
}
