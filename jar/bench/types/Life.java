// SPDX-License-Identifier: MIT OR Apache-2.0

/** The same as life.c, as one writes it in Java. bench/jar puts a type in the place of NUMBER. */
final class Life {
  static final int SIDE = 512;
  NUMBER[][] now = new NUMBER[SIDE][SIDE], next = new NUMBER[SIDE][SIDE];

  void turn() {
    for (int y = 0; y < SIDE; y++)
      for (int x = 0; x < SIDE; x++) {
        NUMBER neighbours = 0;
        for (int dy = -1; dy <= 1; dy++)
          for (int dx = -1; dx <= 1; dx++) neighbours += now[(y + dy) & (SIDE - 1)][(x + dx) & (SIDE - 1)];
        NUMBER alive = now[y][x];
        neighbours -= alive;
        next[y][x] = (NUMBER) (neighbours == 3 || (alive != 0 && neighbours == 2) ? 1 : 0);
      }
    NUMBER[][] old = now;
    now = next;
    next = old;
  }

  int play() {
    int seed = 7;
    for (int y = 0; y < SIDE; y++)
      for (int x = 0; x < SIDE; x++) {
        seed = seed * 1664525 + 1013904223;
        now[y][x] = (NUMBER) (seed >>> 31);
      }
    for (int turn = 0; turn < 60; turn++) turn();
    int result = 0x811c9dc5;
    for (NUMBER[] row : now) for (NUMBER cell : row) result = (result ^ (int) cell) * 16777619;
    return result;
  }

  public static void main(String[] arguments) {
    Rounds.run(arguments, () -> new Life().play());
  }
}
