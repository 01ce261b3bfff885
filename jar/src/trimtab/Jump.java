// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

/** A jump to a frame further up, as {@code longjmp} makes it. */
public final class Jump extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final int to;
  private final int stack;
  private final int value;

  private Jump(int to, int stack, int value) {
    super("longjmp to 0x" + Integer.toHexString(to) + ", where no function is that could be returned to", null, false, false);
    this.to = to;
    this.stack = stack;
    this.value = value;
  }

  /** Leaves for the frame with this stack pointer, at this address, with this value in {@code v0}. */
  public static void away(Cpu cpu, int to, int stack, int value) {
    throw new Jump(to, stack, value);
  }

  /**
   * Whether a function that caught something is where it belongs. The function's part of the stack
   * is from {@code stack} to {@code low}.
   *
   * @return the address to go on at; the stack's pointer and the value are in {@code cpu}
   */
  public static int land(Throwable thrown, Cpu cpu, int stack, int low) {
    Jump jump;
    if (thrown instanceof Jump) {
      jump = (Jump) thrown;
    } else if (thrown instanceof Exit) {
      throw (Exit) thrown;
    } else if (thrown instanceof Unwinding) {
      jump = Unwind.stop(cpu, (Unwinding) thrown, stack, low);
    } else {
      jump = Signals.caught(thrown, cpu, stack);
    }
    // At its start the stack's pointer is that of the caller, which may be another call of the same function.
    boolean isAbove = stack == low ? jump.stack != low : Integer.compareUnsigned(jump.stack, low) >= 0;
    if (Integer.compareUnsigned(jump.stack, stack) < 0 || isAbove) {
      throw jump;
    }
    cpu.jump = jump;
    cpu.v29 = jump.stack;
    cpu.v2 = jump.value;
    return jump.to;
  }

  /** Throws on what a function caught in vain. */
  public static void again(Cpu cpu) {
    throw cpu.jump;
  }

  /** Where cases of a switch are: numbers with a blank between each two. */
  public static int[] table(String numbers) {
    String[] words = numbers.split(" ");
    int[] table = new int[words.length];
    for (int i = 0; i < table.length; i++) {
      table[i] = Integer.parseInt(words[i]);
    }
    return table;
  }

  /** There is no such place in the function: never reached. */
  public static void lost() {
    throw new IllegalStateException("a part of a function was entered at no place of it");
  }
}
