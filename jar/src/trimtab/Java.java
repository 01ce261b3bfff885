// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import program.Calls;
import trimtab.embed.Arguments;
import trimtab.embed.Callback;
import trimtab.embed.Handles;
import trimtab.embed.ProgramException;

/** Functions of Java's, as the program calls them: at addresses where it has no memory. */
public final class Java {
  /** The first address; {@code jar/c/trimtab.h} and the translator know it. */
  static final int FIRST = 0xf0000000;

  /** From here on addresses are given as they are asked for; below, the translator chose them. */
  private static final int GIVEN = FIRST + (1 << 25);

  /** Added to the number of such a function, so that it is no number of the program's own. */
  private static final int NUMBER = Integer.MIN_VALUE;

  /** The number of what is no function of Java's: the interpreter, for the address that is in {@code t9}. */
  static final int INTERPRETED = NUMBER + (1 << 28);

  private static final int MAIN = 0;
  private static final int RELEASE = 1;
  private static final int RETAIN = 2;
  private static final int THROW = 3;
  private static final int TRY = 4;
  private static final int MESSAGE = 5;

  /** So many addresses rest before one is given again: a pointer that C kept then still leads nowhere. */
  private static final int RESTING = 4096;

  private static final Map<Integer, Callback> functions = new ConcurrentHashMap<>();

  /** Addresses that were given back, the oldest first. */
  private static final ArrayDeque<Integer> free = new ArrayDeque<>();

  private static int next = GIVEN;

  static final Handles handles = new Handles();
  static final trimtab.embed.Memory memory = new trimtab.embed.Memory(Memory.M, Memory.BASE);

  private Java() {}

  /** Whether an address is one of such functions. */
  static boolean isFunction(int address) {
    return address >>> 26 == FIRST >>> 26 && (address & 3) == 0;
  }

  /** The number of such a function's address. */
  static int number(int address) {
    return NUMBER + ((address - FIRST) >> 2);
  }

  /** The number of what runs in the place of {@code main}. */
  static int main() {
    return NUMBER + MAIN;
  }

  /** Gives a function an address, or has it at this one. */
  static int add(int address, Callback callback) {
    int at = address == 0 ? address() : address;
    functions.put(at, callback);
    return at;
  }

  private static int address() {
    synchronized (free) {
      boolean isFull = next >>> 26 != FIRST >>> 26;
      if (free.size() > RESTING || isFull && !free.isEmpty()) {
        return free.poll();
      }
      if (isFull) {
        throw new IllegalStateException("the program has 8,388,608 functions of Java's: it must release some");
      }
      int at = next;
      next += 4;
      return at;
    }
  }

  static void remove(int address) {
    if (functions.remove(address) != null && Integer.compareUnsigned(address, GIVEN) >= 0) {
      synchronized (free) {
        free.add(address);
      }
    }
  }

  /** Called by the program's class for calls, where a pointer leads to no function of its own. */
  public static long call(Cpu cpu, int number, int a0, int a1, int a2, int a3, int stack) {
    if (number == INTERPRETED) {
      return Interpreter.call(cpu, cpu.v25, a0, a1, a2, a3, stack);
    }
    int top = cpu.top;
    cpu.top = stack;
    try {
      switch (number - NUMBER) {
        case MAIN:
          return Host.atMain(cpu);
        case RELEASE:
          handles.release(a0);
          return 0;
        case RETAIN:
          handles.retain(a0);
          return a0;
        case THROW:
          throw new ProgramException(Memory.string(a0));
        case TRY:
          return attempt(cpu, a0, a1);
        case MESSAGE:
          return message(a0, a1, a2);
        default:
          return given(cpu, FIRST + (number - NUMBER << 2), a0, a1, a2, a3, stack);
      }
    } finally {
      cpu.top = top;
    }
  }

  private static long given(Cpu cpu, int address, int a0, int a1, int a2, int a3, int stack) {
    Callback callback = functions.get(address);
    if (callback == null) {
      throw Fault.noCode(address);
    }
    Arguments arguments = new Arguments(memory, handles, a0, a1, a2, a3, stack, cpu.v104, cpu.v105);
    long result = callback.call(arguments);
    if (arguments.isReal()) {
      cpu.v98 = arguments.real0();
    }
    return result;
  }

  /** {@code java_try}: calls a function of the program's; the number of what was thrown, 0 for nothing. */
  private static long attempt(Cpu cpu, int function, int argument) {
    try {
      Calls.to(cpu, function, argument, 0, 0, 0, below(cpu.top));
      return 0;
    } catch (Exit | Jump thrown) {
      throw thrown;
    } catch (Throwable thrown) {
      if (Signals.of(thrown) != 0) {
        throw thrown;
      }
      return handles.put(thrown);
    }
  }

  /** {@code java_message}: what an object says of itself, as much as fits. */
  private static long message(int handle, int buffer, int size) {
    byte[] text = String.valueOf(handles.get(handle)).getBytes(StandardCharsets.UTF_8);
    if (size > 0) {
      int length = Math.min(size - 1, text.length);
      Memory.writeBytes(buffer, Arrays.copyOf(text, length + 1));
    }
    return text.length;
  }

  /** Where the stack of a function begins that is called from Java, below what is in use. */
  static int below(int stack) {
    return (stack - 64) & ~15;
  }
}
