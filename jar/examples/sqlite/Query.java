// SPDX-License-Identifier: MIT OR Apache-2.0
import org.sqlite.Sqlite3;
import trimtab.embed.Arena;
import trimtab.embed.Memory;

/** Asks a database in memory, with a function of Java's in the question. */
public final class Query {
  private static final int UTF8 = 1;

  public static void main(String[] args) {
    try (Sqlite3 sqlite = new Sqlite3(); Arena arena = sqlite.arena()) {
      Memory memory = sqlite.memory();
      int handle = arena.word();
      check(sqlite, 0, sqlite.sqlite3_open(":memory:", handle));
      int database = memory.getInt(handle);
      int root =
          arena.function(
              c -> {
                int context = c.pointer();
                int count = c.integer();
                int values = c.pointer();
                sqlite.sqlite3_result_double(context, Math.cbrt(sqlite.sqlite3_value_double(memory.getInt(values))));
                return 0;
              });
      check(sqlite, database, sqlite.sqlite3_create_function(database, "cbrt", 1, UTF8, 0, root, 0, 0));
      int row =
          arena.function(
              c -> {
                int data = c.pointer();
                int columns = c.integer();
                int values = c.pointer();
                StringBuilder line = new StringBuilder();
                for (int i = 0; i < columns; i++) {
                  line.append(i == 0 ? "" : "|").append(sqlite.string(memory.getInt(values + 4 * i)));
                }
                System.out.println(line);
                return 0;
              });
      System.out.println("SQLite " + sqlite.string(sqlite.sqlite3_libversion()));
      check(sqlite, database, sqlite.sqlite3_exec(database, args[0], row, 0, 0));
      check(sqlite, database, sqlite.sqlite3_close(database));
    }
  }

  private static void check(Sqlite3 sqlite, int database, int status) {
    if (status != 0) {
      throw new IllegalStateException(sqlite.string(sqlite.sqlite3_errmsg(database)));
    }
  }
}
