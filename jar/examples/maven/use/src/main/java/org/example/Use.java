// SPDX-License-Identifier: MIT OR Apache-2.0
package org.example;

import trimtab.embed.Arena;

/** Uses a C library. */
public final class Use {
  public static void main(String[] args) {
    try (Words words = new Words(); Arena arena = words.arena()) {
      System.out.println(words.count_words(args[0]) + " words, " + words.mean_length(args[0]));
      int print =
          arena.function(
              c -> {
                int data = c.pointer();
                String word = c.string();
                System.out.println(word + " " + c.integer());
                return 0;
              });
      words.each_word(args[0], print, 0);
    }
  }
}
