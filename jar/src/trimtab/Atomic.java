// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import static trimtab.Memory.I;
import static trimtab.Memory.M;
import static trimtab.Memory.S;

import java.lang.invoke.VarHandle;

/**
 * Accesses that threads meet at. From version 22 on, Java has no conditional stores of words into arrays of
 * bytes: there a lock does, that ordered stores take as well.
 */
final class Atomic {
  private static final boolean IS_THERE =
      I.isAccessModeSupported(VarHandle.AccessMode.COMPARE_AND_SET);

  private static final Object[] LOCKS = new Object[64];

  static {
    for (int i = 0; i < LOCKS.length; i++) {
      LOCKS[i] = new Object();
    }
  }

  private Atomic() {}

  private static Object lock(int index) {
    return LOCKS[index >> 2 & LOCKS.length - 1];
  }

  /** The word at an index; what others stored before it is seen behind it. */
  static int load(int index) {
    if (IS_THERE) {
      return (int) I.getVolatile(M, index);
    }
    VarHandle.fullFence();
    int value = (int) I.get(M, index);
    VarHandle.acquireFence();
    return value;
  }

  /** Stores a byte, half a word or a word. */
  static void store(int index, int value, int size) {
    if (IS_THERE) {
      put(index, value, size);
    } else {
      synchronized (lock(index)) {
        put(index, value, size);
      }
    }
  }

  /** Stores a word where there is another one. Says whether there was. */
  static boolean exchange(int index, int old, int value) {
    if (IS_THERE) {
      return I.compareAndSet(M, index, old, value);
    }
    synchronized (lock(index)) {
      if ((int) I.get(M, index) != old) {
        return false;
      }
      // Only what changes: bytes beside it may be other variables, which others store without a lock.
      int changed = old ^ value;
      if (changed == 0) {
        return true;
      }
      int half = (changed & 0xffff) == 0 ? 2 : 0;
      int part = changed >>> 8 * half;
      if (part >>> 16 != 0) {
        put(index, value, 4);
      } else if ((part & 0xff) == 0) {
        put(index + half + 1, value >>> 8 * half + 8, 1);
      } else {
        put(index + half, value >>> 8 * half, part >>> 8 == 0 ? 1 : 2);
      }
      return true;
    }
  }

  private static void put(int index, int value, int size) {
    if (size == 4) {
      I.set(M, index, value);
    } else if (size == 2) {
      S.set(M, index, (short) value);
    } else {
      M[index] = (byte) value;
    }
  }
}
