// SPDX-License-Identifier: MIT OR Apache-2.0

/** Runs a kernel several times in one process, and prints how long each round took, as rounds.h does. */
final class Rounds {
  interface Kernel {
    int run();
  }

  static void run(String[] arguments, Kernel kernel) {
    for (int i = Integer.parseInt(arguments[0]); i > 0; i--) {
      long start = System.nanoTime();
      int result = kernel.run();
      System.out.printf("%.4f %08x%n", (System.nanoTime() - start) / 1e9, result);
    }
  }
}
