// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import static java.lang.Float.floatToRawIntBits;
import static java.lang.Float.intBitsToFloat;

import static trimtab.Memory.I;
import static trimtab.Memory.M;

/** What the interpreter does for floating-point instructions: the classes COP1 and COP1X of the manual. */
final class Coprocessor {
  private static final int SINGLE = 16;
  private static final int DOUBLE = 17;
  private static final int WORD = 20;

  private Coprocessor() {}

  /** {@code ldc1}. */
  static void load(Interpreter on, int register, int index) {
    int low = (int) I.get(M, index);
    on.f[register | 1] = (int) I.get(M, index + 4);
    on.f[register & ~1] = low;
  }

  /** {@code sdc1}. */
  static void store(Interpreter on, int register, int index) {
    I.set(M, index + 4, on.f[register | 1]);
    I.set(M, index, on.f[register & ~1]);
  }

  /** COP1, but for branches. */
  static void execute(Interpreter on, int word) {
    int number = word >>> 16 & 31;
    int s = word >>> 11 & 31;
    switch (word >>> 21 & 31) {
      case 0: // mfc1
        on.set(number, on.f[s]);
        break;
      case 2: // cfc1
        on.set(number, s == 31 ? control(on) : 0);
        break;
      case 3: // mfhc1
        on.set(number, on.f[s | 1]);
        break;
      case 4: // mtc1
        on.f[s] = on.r[number];
        break;
      case 6: // ctc1
        if (s == 31) {
          on.cpu.control = on.r[number];
          on.flags = on.r[number] >>> 24 & 0xfe | on.r[number] >>> 23 & 1;
        } else {
          on.unknown(word);
        }
        break;
      case 7: // mthc1
        on.f[s | 1] = on.r[number];
        break;
      case SINGLE:
        if (!moves(on, word, s, false)) {
          single(on, word, s, number, word >>> 6 & 31);
        }
        break;
      case DOUBLE:
        if (!moves(on, word, s, true)) {
          real(on, word, s, number, word >>> 6 & 31);
        }
        break;
      case WORD:
        integer(on, word, on.f[s], word >>> 6 & 31);
        break;
      default:
        on.unknown(word);
    }
  }

  /** Sets a register to a result of arithmetic. */
  private static void put(Interpreter on, int d, float value) {
    on.f[d] = floatToRawIntBits(Float.quiet(value));
  }

  private static void put(Interpreter on, int d, double value) {
    on.setReal(d, Float.quiet(value));
  }

  /** The control register, with the condition flags where it has them. */
  private static int control(Interpreter on) {
    return on.cpu.control & 0x017fffff | (on.flags & 0xfe) << 24 | (on.flags & 1) << 23;
  }

  private static void integer(Interpreter on, int word, int value, int d) {
    switch (word & 63) {
      case 32: // cvt.s.w
        put(on, d, Rounding.single(value, on.cpu));
        break;
      case 33: // cvt.d.w
        on.setReal(d, value);
        break;
      default:
        on.unknown(word);
    }
  }

  private static void single(Interpreter on, int word, int s, int number, int d) {
    int function = word & 63;
    float a = intBitsToFloat(on.f[s]);
    float b = intBitsToFloat(on.f[number]);
    switch (function) {
      case 0: // add
        put(on, d, Rounding.add(a, b, on.cpu));
        break;
      case 1: // sub
        put(on, d, Rounding.sub(a, b, on.cpu));
        break;
      case 2: // mul
        put(on, d, Rounding.mul(a, b, on.cpu));
        break;
      case 3: // div
        put(on, d, Rounding.div(a, b, on.cpu));
        break;
      case 4: // sqrt
        put(on, d, Rounding.sqrt(a, on.cpu));
        break;
      case 21: // recip
        put(on, d, Rounding.div(1, a, on.cpu));
        break;
      case 22: // rsqrt
        put(on, d, Rounding.div(1, Rounding.sqrt(a, on.cpu), on.cpu));
        break;
      case 33: // cvt.d
        put(on, d, (double) a);
        break;
      default:
        both(on, word, a, b, d);
    }
  }

  private static void real(Interpreter on, int word, int s, int number, int d) {
    int function = word & 63;
    double a = on.real(s);
    double b = on.real(number);
    switch (function) {
      case 0: // add
        put(on, d, Rounding.add(a, b, on.cpu));
        break;
      case 1: // sub
        put(on, d, Rounding.sub(a, b, on.cpu));
        break;
      case 2: // mul
        put(on, d, Rounding.mul(a, b, on.cpu));
        break;
      case 3: // div
        put(on, d, Rounding.div(a, b, on.cpu));
        break;
      case 4: // sqrt
        put(on, d, Rounding.sqrt(a, on.cpu));
        break;
      case 21: // recip
        put(on, d, Rounding.div(1, a, on.cpu));
        break;
      case 22: // rsqrt
        put(on, d, Rounding.div(1, Rounding.sqrt(a, on.cpu), on.cpu));
        break;
      case 32: // cvt.s
        put(on, d, Rounding.single(a, on.cpu));
        break;
      default:
        both(on, word, a, b, d);
    }
  }

  /** Moves a register, perhaps with another sign; says whether the instruction is one that does. Bits stay as they are. */
  private static boolean moves(Interpreter on, int word, int s, boolean isDouble) {
    int d = word >>> 6 & 31;
    int number = word >>> 16 & 31;
    // A double has its sign in the odd register.
    int sign = isDouble ? on.f[s | 1] : on.f[s];
    switch (word & 63) {
      case 5: // abs
        sign &= Integer.MAX_VALUE;
        break;
      case 6: // mov
        break;
      case 7: // neg
        sign ^= Integer.MIN_VALUE;
        break;
      case 17: // movf, movt
        if ((on.flags >> (number >>> 2) & 1) != (number & 1)) {
          return true;
        }
        break;
      case 18: // movz
      case 19: // movn
        if ((on.r[number] == 0) != ((word & 1) == 0)) {
          return true;
        }
        break;
      default:
        return false;
    }
    if (isDouble) {
      on.f[d & ~1] = on.f[s & ~1];
      on.f[d | 1] = sign;
    } else {
      on.f[d] = sign;
    }
    return true;
  }

  /** Comparisons, and conversions to integers: {@code float}s are {@code double}s as well. */
  private static void both(Interpreter on, int word, double a, double b, int d) {
    int function = word & 63;
    switch (function) {
      case 12: // round.w
        on.f[d] = Float.nearest(a);
        break;
      case 13: // trunc.w
        on.f[d] = Float.towardsZero(a);
        break;
      case 14: // ceil.w
        on.f[d] = Float.up(a);
        break;
      case 15: // floor.w
        on.f[d] = Float.down(a);
        break;
      case 36: // cvt.w
        on.f[d] = Float.current(a, on.cpu);
        break;
      default:
        if (function < 48) {
          on.unknown(word);
          return;
        }
        boolean holds =
            (function & 1) != 0 && (a != a || b != b) || (function & 2) != 0 && a == b || (function & 4) != 0 && a < b;
        int flag = 1 << (d >>> 2);
        on.flags = holds ? on.flags | flag : on.flags & ~flag;
    }
  }

  /** COP1X: memory with an index, and multiplication with addition. */
  static void indexed(Interpreter on, int word, int base, int index) {
    int at = base + index - Memory.BASE;
    int s = word >>> 11 & 31;
    int d = word >>> 6 & 31;
    switch (word & 63) {
      case 0: // lwxc1
        on.f[d] = (int) I.get(M, at);
        break;
      case 1: // ldxc1
        load(on, d, at);
        break;
      case 8: // swxc1
        I.set(M, at, on.f[s]);
        break;
      case 9: // sdxc1
        store(on, s, at);
        break;
      case 15: // prefx
        break;
      default:
        multiplyAdd(on, word, s, d);
    }
  }

  /** {@code ±(s * t ± r)}, rounded after each step. */
  private static void multiplyAdd(Interpreter on, int word, int s, int d) {
    int function = word & 63;
    int r = word >>> 21 & 31;
    int t = word >>> 16 & 31;
    boolean subtracts = (function & 8) != 0;
    boolean negates = (function & 16) != 0;
    if (function < 32 || (function & 7) > 1) {
      on.unknown(word);
    } else if ((function & 1) != 0) {
      double product = Rounding.mul(on.real(s), on.real(t), on.cpu);
      double third = on.real(r);
      double sum = Rounding.add(product, subtracts ? -third : third, on.cpu);
      put(on, d, negates ? -sum : sum);
    } else {
      float product = Rounding.mul(intBitsToFloat(on.f[s]), intBitsToFloat(on.f[t]), on.cpu);
      float third = intBitsToFloat(on.f[r]);
      float sum = Rounding.add(product, subtracts ? -third : third, on.cpu);
      put(on, d, negates ? -sum : sum);
    }
  }
}
