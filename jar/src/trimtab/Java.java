// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
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

  /** Such a function, by its address. */
  static Function function(int address) {
    return new At((address - FIRST) >> 2);
  }

  /** What runs in the place of {@code main}. */
  static Function main() {
    return new At(MAIN);
  }

  /** Such a function. */
  private static final class At extends Function {
    private final int number;

    At(int number) {
      this.number = number;
    }

    @Override
    public long call(Cpu cpu, int a0, int a1, int a2, int a3, int stack) {
      return Java.call(cpu, number, a0, a1, a2, a3, stack);
    }
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

  /** Calls such a function by its number. */
  private static long call(Cpu cpu, int number, int a0, int a1, int a2, int a3, int stack) {
    int top = cpu.top;
    cpu.top = stack;
    try {
      switch (number) {
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
          return given(cpu, FIRST + (number << 2), a0, a1, a2, a3, stack);
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
      Functions.call(cpu, function, argument, 0, 0, 0, below(cpu.top));
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
