// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.DataInputStream;
import java.io.IOException;

/**
 * Takes exceptions of C++ through the functions that they leave, in the place of the C library's unwinder. A function that
 * catches or cleans up is asked when the exception comes to it, by the personality routine of its language: whether anything
 * catches it is not known before, and where nothing does, objects were destroyed when the program ends.
 *
 * <p>Source of numbers and of what happens when: the Itanium C++ ABI, "Exception Handling".
 */
public final class Unwind {
  private static final int SEARCH = 1;
  private static final int CLEANUP = 2;
  private static final int HANDLER = 4;
  private static final int FORCED = 8;

  private static final int HANDLER_FOUND = 6;
  private static final int INSTALL_CONTEXT = 7;
  private static final int CONTINUE = 8;

  /** What the program sees as {@code struct _Unwind_Context}: its parts, and its size. */
  private static final int ADDRESS = 0;

  private static final int TABLE = 4;
  private static final int START = 8;
  private static final int FIRST = 12;
  private static final int SECOND = 16;
  private static final int FRAME = 20;
  private static final int CONTEXT = 32;

  /** {@code private_1} and {@code private_2} of {@code struct _Unwind_Exception}. */
  private static final int STOP = 12;

  private static final int ARGUMENT = 16;

  /** Arguments that are passed in registers have room on the stack as well. */
  private static final int ARGUMENTS = 16;

  private static int beginCatch;
  private static int terminate;

  /** Functions that look at exceptions: for each the first address, the one behind its last, its table, and its routine. */
  private static int[] functions;

  private Unwind() {}

  static void load(DataInputStream in) throws IOException {
    beginCatch = in.readInt();
    terminate = in.readInt();
    functions = new int[4 * in.readInt()];
    for (int i = 0; i < functions.length; i++) {
      functions[i] = in.readInt();
    }
  }

  /** Where the function is in {@link #functions} that holds an address. */
  private static int function(int address) {
    int low = 0;
    int high = functions.length / 4;
    while (high - low > 1) {
      int middle = (low + high) >>> 1;
      if (Integer.compareUnsigned(functions[4 * middle], address) <= 0) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return 4 * low;
  }

  /**
   * An exception has left a call of a function that looks at them. Returns where control goes on at the landing pad, with
   * its registers in {@code cpu}; else throws it on.
   *
   * @param address where a call in that region of the function returns to
   * @param stack the function's pointer of the stack
   */
  public static void land(Throwable thrown, Cpu cpu, int address, int stack) {
    Unwinding unwinding = (Unwinding) thrown;
    int context = context(stack, stack);
    int at = function(address - 1);
    Memory.writeInt(context + ADDRESS, address);
    Memory.writeInt(context + TABLE, functions[at + 2]);
    Memory.writeInt(context + START, functions[at]);
    boolean isForced = unwinding.stop != 0;
    if (isForced) {
      ask(cpu, unwinding.stop, CLEANUP | FORCED, unwinding, context);
    }
    int found = isForced ? CONTINUE : ask(cpu, functions[at + 3], SEARCH, unwinding, context);
    if (found == HANDLER_FOUND || found == CONTINUE) {
      int phase = CLEANUP | (isForced ? FORCED : 0) | (found == HANDLER_FOUND ? HANDLER : 0);
      found = ask(cpu, functions[at + 3], phase, unwinding, context);
      if (found == INSTALL_CONTEXT) {
        cpu.v4 = Memory.readInt(context + FIRST);
        cpu.v5 = Memory.readInt(context + SECOND);
        return;
      }
      if (found == CONTINUE) {
        throw unwinding;
      }
    }
    // The tables, or the object, are damaged.
    end(cpu, unwinding, context);
    throw unwinding;
  }

  /** Makes room for what the program sees of a frame, below what is in use of the stack. */
  private static int context(int stack, int frame) {
    int context = (stack - CONTEXT - 64) & ~15;
    Memory.clear(context, CONTEXT);
    Memory.writeInt(context + FRAME, frame);
    return context;
  }

  /**
   * Something comes to a function that {@code setjmp} has noted: where a thread ends, it may go on there.
   *
   * @param frame the stack's pointer when the function began
   */
  static Jump stop(Cpu cpu, Unwinding unwinding, int stack, int frame) {
    if (unwinding.stop != 0) {
      try {
        ask(cpu, unwinding.stop, CLEANUP | FORCED, unwinding, context(stack, frame));
      } catch (Jump jump) {
        return jump;
      }
    }
    throw unwinding;
  }

  private static int ask(Cpu cpu, int routine, int phase, Unwinding unwinding, int context) {
    int stack = context - 64;
    long language = Memory.readLong(unwinding.object);
    Memory.writeInt(stack + ARGUMENTS, unwinding.object);
    Memory.writeInt(stack + ARGUMENTS + 4, context);
    Memory.writeInt(stack + ARGUMENTS + 8, unwinding.argument);
    return (int) Functions.call(cpu, routine, 1, phase, (int) language, (int) (language >> 32), stack);
  }

  /** Nothing has caught an exception: has C++ say so and end the program. Returns where there is no C++. */
  static void end(Cpu cpu, Unwinding unwinding, int stack) {
    if (beginCatch != 0 && terminate != 0) {
      Functions.call(cpu, beginCatch, unwinding.object, 0, 0, 0, stack - 64);
      Functions.call(cpu, terminate, 0, 0, 0, 0, stack - 64);
    }
  }

  /** {@code _Unwind_RaiseException}. */
  public static int raise(Cpu cpu, int object, int b, int c) {
    return force(cpu, object, 0, 0);
  }

  /** {@code _Unwind_ForcedUnwind}, by which threads end that are cancelled or call {@code pthread_exit}. */
  public static int force(Cpu cpu, int object, int stop, int argument) {
    Memory.writeInt(object + STOP, stop);
    Memory.writeInt(object + ARGUMENT, argument);
    return resume(cpu, object, 0, 0);
  }

  /** {@code _Unwind_Resume}, {@code _Unwind_Resume_or_Rethrow}. */
  public static int resume(Cpu cpu, int object, int b, int c) {
    throw new Unwinding(object, Memory.readInt(object + STOP), Memory.readInt(object + ARGUMENT));
  }

  /** {@code _Unwind_GetCFA}. */
  public static int frame(Cpu cpu, int context, int b, int c) {
    return Memory.readInt(context + FRAME);
  }

  /** {@code _Unwind_GetGR}. */
  public static int register(Cpu cpu, int context, int number, int c) {
    return Memory.readInt(context + (number == 4 ? FIRST : SECOND));
  }

  /** {@code _Unwind_SetGR}. */
  public static int setRegister(Cpu cpu, int context, int number, int value) {
    Memory.writeInt(context + (number == 4 ? FIRST : SECOND), value);
    return 0;
  }

  /** {@code _Unwind_GetIP}. */
  public static int address(Cpu cpu, int context, int b, int c) {
    return Memory.readInt(context + ADDRESS);
  }

  /** {@code _Unwind_GetIPInfo}: it is the address behind an instruction. */
  public static int addressInfo(Cpu cpu, int context, int isBefore, int c) {
    Memory.writeInt(isBefore, 0);
    return Memory.readInt(context + ADDRESS);
  }

  /** {@code _Unwind_SetIP}: where the landing pad is, the translator knew. */
  public static int setAddress(Cpu cpu, int context, int address, int c) {
    return 0;
  }

  /** {@code _Unwind_GetLanguageSpecificData}. */
  public static int table(Cpu cpu, int context, int b, int c) {
    return Memory.readInt(context + TABLE);
  }

  /** {@code _Unwind_GetRegionStart}. */
  public static int start(Cpu cpu, int context, int b, int c) {
    return Memory.readInt(context + START);
  }

  /** {@code _Unwind_GetTextRelBase}, {@code _Unwind_GetDataRelBase}. */
  public static int zero(Cpu cpu, int context, int b, int c) {
    return 0;
  }
}
