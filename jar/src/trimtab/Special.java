// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.lang.invoke.VarHandle;

/** What the interpreter does for the instruction classes SPECIAL, SPECIAL2, SPECIAL3 and REGIMM of the manual. */
final class Special {
  private Special() {}

  /** SPECIAL. */
  static void execute(Interpreter on, int word, int s, int t) {
    int d = word >>> 11 & 31;
    int amount = word >>> 6 & 31;
    switch (word & 63) {
      case 0: // sll
        on.set(d, t << amount);
        break;
      case 1: // movf, movt
        if ((on.flags >> (word >>> 18 & 7) & 1) == (word >>> 16 & 1)) {
          on.set(d, s);
        }
        break;
      case 2: // srl, rotr
        on.set(d, (word >>> 21 & 1) != 0 ? Integer.rotateRight(t, amount) : t >>> amount);
        break;
      case 3: // sra
        on.set(d, t >> amount);
        break;
      case 4: // sllv
        on.set(d, t << s);
        break;
      case 6: // srlv, rotrv
        on.set(d, (amount & 1) != 0 ? Integer.rotateRight(t, s) : t >>> s);
        break;
      case 7: // srav
        on.set(d, t >> s);
        break;
      case 10: // movz
        if (t == 0) {
          on.set(d, s);
        }
        break;
      case 11: // movn
        if (t != 0) {
          on.set(d, s);
        }
        break;
      case 32: // add
      case 33: // addu
        on.set(d, s + t);
        break;
      case 34: // sub
      case 35: // subu
        on.set(d, s - t);
        break;
      case 36: // and
        on.set(d, s & t);
        break;
      case 37: // or
        on.set(d, s | t);
        break;
      case 38: // xor
        on.set(d, s ^ t);
        break;
      case 39: // nor
        on.set(d, ~(s | t));
        break;
      case 42: // slt
        on.set(d, s < t ? 1 : 0);
        break;
      case 43: // sltu
        on.set(d, Memory.below(s, t));
        break;
      default:
        wide(on, word, d, s, t);
    }
  }

  /** The rest of SPECIAL: system calls, traps, and what has to do with {@code HI} and {@code LO}. */
  private static void wide(Interpreter on, int word, int d, int s, int t) {
    switch (word & 63) {
      case 12: // syscall
        int[] r = on.r;
        long result = Linux.call(on.cpu, r[2], r[4], r[5], r[6], r[7], r[29]);
        r[2] = (int) result;
        r[7] = (int) (result >>> 32);
        break;
      case 13: // break
        Fault.breakpoint(word >>> 16 & 0x3ff);
        break;
      case 15: // sync
        VarHandle.fullFence();
        break;
      case 16: // mfhi
        on.set(d, on.hi);
        break;
      case 17: // mthi
        on.hi = s;
        break;
      case 18: // mflo
        on.set(d, on.lo);
        break;
      case 19: // mtlo
        on.lo = s;
        break;
      case 24: // mult
        product(on, (long) s * t);
        break;
      case 25: // multu
        product(on, (s & 0xffffffffL) * (t & 0xffffffffL));
        break;
      case 26: // div
        on.lo = t == 0 ? s : s / t;
        on.hi = t == 0 ? 0 : s % t;
        break;
      case 27: // divu
        on.lo = t == 0 ? s : Integer.divideUnsigned(s, t);
        on.hi = t == 0 ? 0 : Integer.remainderUnsigned(s, t);
        break;
      case 48: // tge
      case 49: // tgeu
      case 50: // tlt
      case 51: // tltu
      case 52: // teq
      case 54: // tne
        trap(word & 7, s, t, word >>> 6 & 0x3ff);
        break;
      default:
        on.unknown(word);
    }
  }

  private static void product(Interpreter on, long value) {
    on.lo = (int) value;
    on.hi = (int) (value >>> 32);
  }

  /** Stops the program where the condition of these bits holds. */
  private static void trap(int condition, int s, int t, int code) {
    boolean holds;
    switch (condition) {
      case 0:
        holds = s >= t;
        break;
      case 1:
        holds = Integer.compareUnsigned(s, t) >= 0;
        break;
      case 2:
        holds = s < t;
        break;
      case 3:
        holds = Integer.compareUnsigned(s, t) < 0;
        break;
      case 4:
        holds = s == t;
        break;
      default:
        holds = s != t;
    }
    if (holds) {
      Fault.trap(code);
    }
  }

  /** REGIMM, but for branches. */
  static void immediate(Interpreter on, int word, int s) {
    int number = word >>> 16 & 31;
    if (number >= 8 && number <= 14 && number != 13) {
      trap(number & 7, s, (short) word, 0);
    } else if (number != 31) { // synci
      on.unknown(word);
    }
  }

  /** SPECIAL2. */
  static void execute2(Interpreter on, int word, int s, int t) {
    int d = word >>> 11 & 31;
    long sum = (long) on.hi << 32 | on.lo & 0xffffffffL;
    switch (word & 63) {
      case 0: // madd
        product(on, sum + (long) s * t);
        break;
      case 1: // maddu
        product(on, sum + (s & 0xffffffffL) * (t & 0xffffffffL));
        break;
      case 2: // mul
        on.set(d, s * t);
        break;
      case 4: // msub
        product(on, sum - (long) s * t);
        break;
      case 5: // msubu
        product(on, sum - (s & 0xffffffffL) * (t & 0xffffffffL));
        break;
      case 32: // clz
        on.set(d, Integer.numberOfLeadingZeros(s));
        break;
      case 33: // clo
        on.set(d, Integer.numberOfLeadingZeros(~s));
        break;
      default:
        on.unknown(word);
    }
  }

  /** SPECIAL3. */
  static void execute3(Interpreter on, int word, int s, int t) {
    int number = word >>> 16 & 31;
    int d = word >>> 11 & 31;
    int low = word >>> 6 & 31;
    switch (word & 63) {
      case 0: // ext
        on.set(number, s >>> low & -1 >>> 31 - d);
        break;
      case 4: // ins
        int mask = -1 >>> 31 - (d - low) << low;
        on.set(number, t & ~mask | s << low & mask);
        break;
      case 32: // bshfl
        shuffle(on, word, d, t, low);
        break;
      case 59: // rdhwr
        if (d == 29 || d < 4) {
          on.set(number, d == 29 ? on.cpu.thread : 0);
        } else {
          on.unknown(word);
        }
        break;
      default:
        on.unknown(word);
    }
  }

  private static void shuffle(Interpreter on, int word, int d, int t, int kind) {
    switch (kind) {
      case 2: // wsbh
        on.set(d, Memory.swapHalves(t));
        break;
      case 16: // seb
        on.set(d, (byte) t);
        break;
      case 24: // seh
        on.set(d, (short) t);
        break;
      default:
        on.unknown(word);
    }
  }
}
