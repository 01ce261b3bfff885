// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.net.InetSocketAddress;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import trimtab.embed.Program;
import trimtab.embed.Settings;

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

  /** The programs that it may execute, by their paths. */
  static Map<String, Supplier<Program>> programs = Map.of();

  /** When it ends at the latest, by {@code System.nanoTime}; 0 for never. */
  static long deadline;

  /** Its number as a process; it is set before anything looks at it. */
  static int process;

  /** Sets them. */
  static void set(Settings settings) {
    mib = settings.memory();
    instructions = settings.instructions();
    interprets = settings.isInterpreted();
    network = settings.network();
    programs = settings.programs();
    process = settings.process();
    if (settings.time() != null) {
      deadline = System.nanoTime() + settings.time().toNanos();
      deadline = deadline == 0 ? 1 : deadline;
    }
  }

  /** Has another program have the same, but for what is left of the time. */
  static void give(Settings settings) {
    settings.memory(mib).instructions(instructions).interpreted(interprets).network(network);
    programs.forEach(settings::program);
  }

  /** End of memory in bytes. */
  static int memory() {
    return mib << 20;
  }
}
