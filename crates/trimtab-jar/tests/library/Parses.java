// SPDX-License-Identifier: MIT OR Apache-2.0
import org.example.Parse;
import trimtab.embed.ProgramFault;

/** Exceptions within a library stay there; one that leaves it is a fault. */
public final class Parses {
  public static void main(String[] args) {
    try (Parse parse = new Parse()) {
      System.out.println(parse.parse("12") + " " + parse.parse_or("x", 3));
      try {
        parse.parse("x");
      } catch (ProgramFault fault) {
        System.out.println(fault.getMessage());
      }
      System.out.println(parse.parse("13") + " " + parse.count_destroyed());
    }
  }
}
