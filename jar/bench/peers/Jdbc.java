// SPDX-License-Identifier: MIT OR Apache-2.0

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** What programs/sqlite.c does, by JDBC: for SQLite in Java, by others' translators. */
public final class Jdbc {
  static final int ROWS = 100000;

  static int hash(int h, String text) {
    for (int i = 0; i < text.length(); i++) h = (h ^ text.charAt(i)) * 16777619;
    return h;
  }

  static int ask(int h, Connection db, String sql) throws SQLException {
    try (Statement statement = db.createStatement()) {
      if (!statement.execute(sql)) return h;
      try (ResultSet rows = statement.getResultSet()) {
        int columns = rows.getMetaData().getColumnCount();
        while (rows.next())
          for (int i = 1; i <= columns; i++) {
            String text = rows.getString(i);
            h = hash(h, text == null ? "-" : text);
          }
      }
    }
    return h;
  }

  static int insert(Connection db) throws SQLException {
    int x = 1;
    try (PreparedStatement statement = db.prepareStatement("insert into t values(?,?,?)")) {
      for (int i = 0; i < ROWS; i++) {
        x = x * 1103515245 + 12345;
        statement.setInt(1, i);
        statement.setInt(2, x >>> 8);
        statement.setString(3, "row " + i + " of " + (x >>> 16));
        statement.executeUpdate();
      }
    }
    return x;
  }

  static int round(String url) throws SQLException {
    try (Connection db = DriverManager.getConnection(url)) {
      int h = ask(0x811c9dc5, db, "pragma temp_store = memory");
      h = ask(h, db, "create table t(a integer primary key, b integer, c text)");
      h = ask(h, db, "create index i on t(b)");
      db.setAutoCommit(false);
      h ^= insert(db);
      db.commit();
      db.setAutoCommit(true);
      String[] questions = {
        "select count(*), sum(b), avg(a), max(c) from t where b between 1000 and 9000000",
        "select count(*) from t where c like '%77%'",
        "select b % 100 as g, count(*), sum(a) from t group by g order by g",
        "select x.a, y.c from t x join t y on y.a = x.b % 100000 where x.a % 50 = 0 order by y.c limit 100",
        "update t set c = c || '.' where a % 10 = 3",
        "delete from t where a % 7 = 1",
        "select a, b, substr(c, 3, 5) from t order by b limit 1000",
        "select count(*) from t where a in (select b % 100000 from t where a < 20000)",
      };
      for (String question : questions) h = ask(h, db, question);
      return h;
    }
  }

  public static void main(String[] arguments) throws Exception {
    for (int i = Integer.parseInt(arguments[1]); i > 0; i--) {
      long start = System.nanoTime();
      int result = round(arguments[0]);
      System.out.printf("%.4f %08x%n", (System.nanoTime() - start) / 1e9, result);
    }
  }
}
