// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.net.InetSocketAddress;
import java.util.function.Predicate;

/** What a program may use. */
final class Limits {
  private Limits() {}

  /** Bytes of the stack of the program, at the end of its memory. */
  static final int STACK = 8 << 20;

  /** Bytes of the stack of Java that a program's thread gets: each function has a frame there. */
  static final long JAVA_STACK = 512L << 20;

  /** The same of further threads. Nothing of it is used before it is needed. */
  static final long JAVA_THREAD_STACK = 64L << 20;

  /** Bytes of the stacks that C libraries give further threads: what they hear of the first one's. */
  static final int THREAD_STACK = 2 << 20;

  /** Memory in MiB; it is set before anything looks at it. */
  static int mib;

  /** Which addresses the program may use; null for none, and no sockets of networks. */
  static Predicate<InetSocketAddress> network;

  /** Whether all instructions are interpreted; it is set before anything looks at it. */
  static boolean interprets;

  /** Instructions of all threads, where they are counted. */
  static long instructions = Long.MAX_VALUE;

  /** End of memory in bytes. */
  static int memory() {
    return mib << 20;
  }
}
