// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.DataInputStream;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;

/** The functions that pointers of the program lead to, by their addresses. */
public final class Functions {
  /** Whether instructions are executed one by one, though they were translated. */
  static final boolean INTERPRETS = Limits.interprets;

  /** Frames on Java's stack that take more of it than defining a class. */
  private static final int STACK_FRAMES = 500;

  /** What the translator wrote: addresses of functions, ascending, and the class of each. */
  private static int[] starts;

  private static byte[][] classes;

  /** Whether a function of Java's runs in the place of {@code main}. */
  private static boolean isMainReplaced;

  /** The object of the class that was initialized last: each hands its own over here. */
  public static Function made;

  private Functions() {}

  /** What was called before, by distance from the first function in words. For compiled code these are constants. */
  private static final class Known {
    static final int FIRST = starts[0];
    static final Function[] AT = new Function[(starts[starts.length - 1] - FIRST) / 4 + 1];

    /** Where the classes are defined. */
    static final MethodHandles.Lookup LOOKUP = lookup();

    private static MethodHandles.Lookup lookup() {
      try {
        return MethodHandles.privateLookupIn(Class.forName("program.Code0"), MethodHandles.lookup());
      } catch (ReflectiveOperationException e) {
        throw new LinkageError("the jar is damaged: " + e, e);
      }
    }
  }

  /** Reads what the translator wrote. */
  static void load(DataInputStream in) throws IOException {
    starts = new int[in.readInt()];
    classes = new byte[starts.length][];
    for (int i = 0; i < starts.length; i++) {
      starts[i] = in.readInt();
      classes[i] = new byte[in.readInt()];
      in.readFully(classes[i]);
    }
  }

  /** Has a function of Java's run in the place of {@code main}. */
  static void replaceMain() {
    isMainReplaced = true;
  }

  /** The function that a call to an address leads to. */
  public static Function called(int address, Cpu cpu) {
    Function known = known(address);
    return known != null ? known : unusual(address, cpu, true);
  }

  /** The same for a jump out of a function. */
  public static Function jumped(int address, Cpu cpu) {
    Function known = known(address);
    return known != null ? known : unusual(address, cpu, false);
  }

  /** Calls what is at an address. */
  static long call(Cpu cpu, int address, int a0, int a1, int a2, int a3, int stack) {
    return called(address, cpu).call(cpu, a0, a1, a2, a3, stack);
  }

  /** Whether a call of it leads to Java code. */
  static boolean leadsToJava(int address, Cpu cpu) {
    return find(address, cpu) != null;
  }

  /** The function that begins there, if it was called before. */
  private static Function known(int address) {
    int word = Integer.rotateRight(address - Known.FIRST, 2);
    return word >= 0 && word < Known.AT.length ? Known.AT[word] : null;
  }

  private static Function unusual(int address, Cpu cpu, boolean isCall) {
    Function function = find(address, cpu);
    if (function != null) {
      return function;
    }
    if (!(isCall || INTERPRETS ? Code.isThere(address) : Code.isEntry(address))) {
      throw Fault.noCode(address);
    }
    cpu.v25 = address;
    return Interpreter.FUNCTION;
  }

  private static Function find(int address, Cpu cpu) {
    if (isMainReplaced && address == Memory.main) {
      return Java.main();
    }
    if (!INTERPRETS) {
      Function function = translated(address);
      if (function == null && isTrampoline(address)) {
        function = translated(Memory.readInt(address + 20));
        if (function != null) {
          cpu.v15 = Memory.readInt(address + 16);
        }
      }
      if (function != null) {
        return function;
      }
    }
    return Java.isFunction(address) ? Java.function(address) : null;
  }

  /** The program's function that begins there, of those that have Java code. */
  private static Function translated(int address) {
    Function known = known(address);
    if (known != null) {
      return known;
    }
    int index = Arrays.binarySearch(starts, address);
    return index < 0 ? null : define(index);
  }

  /** Defines the class of a function when it is called first: of most functions, no pointer is ever used. */
  private static synchronized Function define(int index) {
    int word = (starts[index] - Known.FIRST) / 4;
    if (Known.AT[word] == null) {
      // Where the stack ends while a class is initialized, that class cannot be used ever after.
      needStack(STACK_FRAMES);
      try {
        Known.LOOKUP.ensureInitialized(Known.LOOKUP.defineClass(classes[index]));
      } catch (IllegalAccessException e) {
        throw new LinkageError("the jar is damaged: " + e, e);
      }
      Known.AT[word] = made;
      classes[index] = null;
    }
    return Known.AT[word];
  }

  /** Has a stack that is about to end do so now. */
  private static int needStack(int frames) {
    return frames == 0 ? 0 : needStack(frames - 1) + 1;
  }

  /**
   * Whether GCC's code is there for a pointer to a function within another one: it goes on at an address, with another
   * one, of the frame that this function uses, in {@code t7}; both follow the code.
   */
  private static boolean isTrampoline(int address) {
    return Memory.has(address, 24)
        && Memory.readInt(address) == 0x8f210014
        && Memory.readInt(address + 4) == 0x8f2f0010
        && Memory.readInt(address + 8) == 0x00200008
        && Memory.readInt(address + 12) == 0x0020c821;
  }
}
