// SPDX-License-Identifier: MIT OR Apache-2.0
import org.example.Words;

/** Calls a function of which no header is known. */
public final class Untyped {
  public static void main(String[] args) {
    try (Words words = new Words()) {
      System.out.println(words.many(1, 2, 3, 4, 5, 6));
    }
  }
}
