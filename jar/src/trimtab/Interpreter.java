// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import static trimtab.Memory.BASE;
import static trimtab.Memory.I;
import static trimtab.Memory.M;
import static trimtab.Memory.S;

import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Executes instructions one by one where there is no Java code for them: what the program generates while it runs, and
 * functions that the translator did not find. An object is one call from Java code, with all registers.
 *
 * <p>Source: <i>MIPS Architecture for Programmers, Volume II-A: The MIPS32 Instruction Set</i>, release 5.
 */
final class Interpreter {
  /** Calls that can be within each other: each returns to an address of its own, where no memory is. */
  private static final int MOST = BASE / 4 - 2;

  /** {@code ra}, {@code sp} and {@code t7} among the registers. */
  private static final int RA = 31;
  private static final int SP = 29;
  private static final int CHAIN = 15;

  /** In the frame of a signal: the code that returns from its handler, and what the handler is told. */
  private static final int RETURN = 16;

  static final int INFO = 24;

  /** From there on, the registers, 64 bits each; before them the address of the instruction. */
  private static final int REGISTERS = 128 + 40;

  /** How many instructions ran, by the address at which Java code called. */
  private static final Map<Integer, LongAdder> counts = new ConcurrentSkipListMap<>();

  final Cpu cpu;

  /** The integer registers; the first stays 0. */
  final int[] r = new int[32];

  int hi;
  int lo;

  /** The floating-point registers; a double is in two of them, the low word in the even one. */
  final int[] f = new int[32];

  /** The condition flags: bit {@code n} is flag {@code n}. */
  int flags;

  /** The address of the instruction. */
  private int pc;

  /** The address to which this call returns. */
  private final int home;

  /** The stack's pointer at the call. */
  private final int stack;

  /** The one that goes on when this one ends. */
  private final Interpreter before;

  private long executed;

  /** Of these, how many were taken from what the thread may execute. */
  private long metered;

  /** A jump to a call further up, as {@code longjmp} makes it: that one goes on with these registers. */
  private static final class Leap extends RuntimeException {
    private static final long serialVersionUID = 1;
    final transient Interpreter from;

    Leap(Interpreter from) {
      super("longjmp to a frame that is no longer there", null, false, false);
      this.from = from;
    }
  }

  /** The function at the address in {@code t9}, which has no Java code. */
  static final Function FUNCTION =
      new Function() {
        @Override
        public long call(Cpu cpu, int a0, int a1, int a2, int a3, int stack) {
          return Interpreter.call(cpu, cpu.v25, a0, a1, a2, a3, stack);
        }
      };

  private Interpreter(Cpu cpu, int address, int stack, int home) {
    this.cpu = cpu;
    this.before = cpu.interpreter;
    this.pc = address;
    this.stack = stack;
    this.home = home;
    r[SP] = stack;
    r[RA] = home;
    r[25] = address;
  }

  /** Calls what is at an address, with what any function may be given; gives {@code v0} and {@code v1} back. */
  static long call(Cpu cpu, int address, int a0, int a1, int a2, int a3, int stack) {
    Interpreter interpreter = new Interpreter(cpu, address, stack, 4 * (cpu.interpreters + 1));
    int[] r = interpreter.r;
    r[4] = a0;
    r[5] = a1;
    r[6] = a2;
    r[7] = a3;
    r[CHAIN] = cpu.v15;
    interpreter.setReal(12, cpu.v104);
    interpreter.setReal(14, cpu.v105);
    interpreter.runFrom(address);
    cpu.v98 = interpreter.real(0);
    cpu.v99 = interpreter.real(2);
    return r[2] & 0xffffffffL | (long) r[3] << 32;
  }

  /**
   * Runs a handler of a signal, as Linux does: with what the interrupted function has in registers, and on the stack a frame
   * that says so, by which the C library's unwinder goes on to that function.
   *
   * @param frame where on the stack that begins: {@code siginfo} and {@code ucontext} are {@link #INFO} behind it
   */
  static void handle(Cpu cpu, int handler, int signal, int info, int context, int frame) {
    Interpreter interrupted = cpu.interpreter;
    Memory.writeInt(frame + RETURN, 0x2402_0000 | CallNumbers.RT_SIGRETURN); // li v0
    Memory.writeInt(frame + RETURN + 4, 0x0000_000c); // syscall
    Interpreter interpreter = new Interpreter(cpu, handler, frame, frame + RETURN);
    if (interrupted != null) {
      int registers = frame + INFO + REGISTERS;
      Memory.writeLong(registers - 8, interrupted.pc);
      for (int i = 0; i < 32; i++) {
        Memory.writeLong(registers + 8 * i, interrupted.r[i]);
      }
      interpreter.take(interrupted);
      interpreter.pc = handler;
      interpreter.r[SP] = frame;
      interpreter.r[RA] = frame + RETURN;
      interpreter.r[25] = handler;
    }
    interpreter.r[4] = signal;
    interpreter.r[5] = info;
    interpreter.r[6] = context;
    interpreter.runFrom(handler);
  }

  /** Runs until it returns. */
  private void runFrom(int address) {
    if (cpu.interpreters == MOST) {
      throw new StackOverflowError();
    }
    cpu.interpreters++;
    cpu.interpreter = this;
    try {
      runToEnd();
    } finally {
      cpu.interpreters--;
      cpu.interpreter = before;
      counts.computeIfAbsent(address, unused -> new LongAdder()).add(executed);
    }
  }

  /** How many instructions were interpreted, by the address at which Java code called. */
  static Map<Integer, LongAdder> counts() {
    return counts;
  }

  private void runToEnd() {
    while (true) {
      try {
        runToFault();
        return;
      } catch (Leap leap) {
        if (isAbove(leap.from.r[SP])) {
          throw leap;
        }
        take(leap.from);
      }
    }
  }

  /** Where all is interpreted, there is no Java code further up that has a handler run for what failed. */
  private void runToFault() {
    try {
      run();
    } catch (IndexOutOfBoundsException | Fault thrown) {
      throw Functions.INTERPRETS ? Signals.caught(thrown, cpu, r[SP]) : thrown;
    }
  }

  /** Whether a stack's pointer belongs to a call further up. */
  private boolean isAbove(int pointer) {
    return home != 4 && Integer.compareUnsigned(pointer, stack) > 0;
  }

  private void take(Interpreter other) {
    System.arraycopy(other.r, 0, r, 0, r.length);
    System.arraycopy(other.f, 0, f, 0, f.length);
    hi = other.hi;
    lo = other.lo;
    flags = other.flags;
    pc = other.pc;
  }

  private void run() {
    while (pc != home) {
      int word = fetch(pc);
      executed++;
      if (isJump(word)) {
        jump(word);
      } else {
        step(word);
        pc += 4;
        if ((pc & Memory.PAGE - 1) == 0) {
          check(pc);
        }
      }
    }
  }

  private static int fetch(int address) {
    return (int) I.get(M, address - BASE);
  }

  private static void check(int address) {
    if (!Code.isThere(address)) {
      throw Fault.noCode(address);
    }
  }

  /** Whether an instruction has a delay slot. */
  private static boolean isJump(int word) {
    switch (word >>> 26) {
      case 0:
        return (word & 0x3e) == 8;
      case 1:
        return (word >>> 16 & 12) == 0;
      case 2:
      case 3:
      case 4:
      case 5:
      case 6:
      case 7:
      case 20:
      case 21:
      case 22:
      case 23:
        return true;
      case 17:
        return (word >>> 21 & 31) == 8;
      default:
        return false;
    }
  }

  /** A jump or branch, with the instruction in its delay slot. */
  private void jump(int word) {
    int at = pc;
    int behind = at + 8;
    int to = behind;
    int op = word >>> 26;
    int s = r[word >>> 21 & 31];
    if (op == 0) {
      to = s;
      link((word & 1) != 0 ? word >>> 11 & 31 : 0, behind);
    } else if (op == 2 || op == 3) {
      to = at + 4 & 0xf0000000 | (word & 0x3ffffff) << 2;
      link(op == 3 ? RA : 0, behind);
    } else {
      boolean isTaken = isTaken(word, op, s);
      if (isTaken) {
        to = at + 4 + ((short) word << 2);
      }
      link(op == 1 && (word >>> 16 & 16) != 0 ? RA : 0, behind);
      if (!isTaken && isLikely(word, op)) {
        pc = behind;
        check(pc);
        return;
      }
    }
    int slot = fetch(at + 4);
    if (isJump(slot)) {
      throw new Fault(Signals.ILL, String.format("a jump in the delay slot of another one, at 0x%x", at + 4));
    }
    pc = at + 4;
    step(slot);
    executed++;
    go(to);
  }

  private void link(int register, int address) {
    if (register != 0) {
      r[register] = address;
    }
  }

  private boolean isTaken(int word, int op, int s) {
    int t = r[word >>> 16 & 31];
    if ((op & 14) == 6 && (word >>> 16 & 31) != 0) {
      // No release up to 5 has these.
      unknown(word);
    }
    switch (op) {
      case 1:
        return (word >>> 16 & 1) != 0 ? s >= 0 : s < 0;
      case 4:
      case 20:
        return s == t;
      case 5:
      case 21:
        return s != t;
      case 6:
      case 22:
        return s <= 0;
      case 7:
      case 23:
        return s > 0;
      default:
        return (flags >> (word >>> 18 & 7) & 1) == (word >>> 16 & 1);
    }
  }

  private static boolean isLikely(int word, int op) {
    return op == 1 || op == 17 ? (word >>> 16 & 2) != 0 : op >= 20;
  }

  /** Goes on at an address: Java code that is there is called, and gives control back at {@code ra}. */
  private void go(int to) {
    if (cpu.disturbed) {
      Threads.stopAtEnd();
    }
    if (Memory.isMetered) {
      cpu.fuel -= (int) (executed - metered);
      metered = executed;
      if (cpu.fuel < 0) {
        Fuel.spent(cpu);
      }
    }
    pc = to;
    while (pc != home) {
      if (isAbove(r[SP])) {
        throw new Leap(this);
      }
      if (pc >= 0 && pc < BASE || !Functions.leadsToJava(pc, cpu)) {
        check(pc);
        return;
      }
      cpu.v15 = r[CHAIN];
      cpu.v104 = real(12);
      cpu.v105 = real(14);
      long result = Functions.call(cpu, pc, r[4], r[5], r[6], r[7], r[SP]);
      r[2] = (int) result;
      r[3] = (int) (result >>> 32);
      setReal(0, cpu.v98);
      setReal(2, cpu.v99);
      pc = r[RA];
    }
  }

  /** A pair of floating-point registers. */
  double real(int register) {
    return Float.join(f[register | 1], f[register & ~1]);
  }

  void setReal(int register, double value) {
    f[register & ~1] = Float.low(value);
    f[register | 1] = Float.high(value);
  }

  /** An instruction that is not known. */
  void unknown(int word) {
    Fault.unknown(pc, word);
  }

  /** Sets a register; what the first one is set to is lost. */
  void set(int register, int value) {
    if (register != 0) {
      r[register] = value;
    }
  }

  /** Executes an instruction without a delay slot. */
  private void step(int word) {
    int s = r[word >>> 21 & 31];
    int number = word >>> 16 & 31;
    int t = r[number];
    int signed = (short) word;
    int unsigned = word & 0xffff;
    switch (word >>> 26) {
      case 0:
        Special.execute(this, word, s, t);
        break;
      case 1:
        Special.immediate(this, word, s);
        break;
      case 8:
      case 9:
        set(number, s + signed);
        break;
      case 10:
        set(number, s < signed ? 1 : 0);
        break;
      case 11:
        set(number, Memory.below(s, signed));
        break;
      case 12:
        set(number, s & unsigned);
        break;
      case 13:
        set(number, s | unsigned);
        break;
      case 14:
        set(number, s ^ unsigned);
        break;
      case 15:
        set(number, unsigned << 16);
        break;
      case 17:
        Coprocessor.execute(this, word);
        break;
      case 19:
        Coprocessor.indexed(this, word, s, t);
        break;
      case 28:
        Special.execute2(this, word, s, t);
        break;
      case 31:
        Special.execute3(this, word, s, t);
        break;
      default:
        memory(word, number, t, s + signed - BASE);
    }
  }

  /** Loads and stores. */
  private void memory(int word, int number, int t, int index) {
    switch (word >>> 26) {
      case 32:
        set(number, M[index]);
        break;
      case 33:
        set(number, (short) S.get(M, index));
        break;
      case 34:
        set(number, Memory.loadLeft(t, index));
        break;
      case 35:
        set(number, (int) I.get(M, index));
        break;
      case 36:
        set(number, M[index] & 0xff);
        break;
      case 37:
        set(number, (short) S.get(M, index) & 0xffff);
        break;
      case 38:
        set(number, Memory.loadRight(t, index));
        break;
      case 40:
        M[index] = (byte) t;
        break;
      case 41:
        S.set(M, index, (short) t);
        break;
      case 42:
        Memory.storeLeft(t, index);
        break;
      case 43:
        I.set(M, index, t);
        break;
      case 46:
        Memory.storeRight(t, index);
        break;
      case 47: // cache
      case 51: // pref
        break;
      case 48:
        set(number, Memory.loadLinked(cpu, index));
        break;
      case 56:
        set(number, Memory.storeConditional(cpu, index, t));
        break;
      case 49:
        f[number] = (int) I.get(M, index);
        break;
      case 53:
        Coprocessor.load(this, number, index);
        break;
      case 57:
        I.set(M, index, f[number]);
        break;
      case 61:
        Coprocessor.store(this, number, index);
        break;
      default:
        unknown(word);
    }
  }
}
