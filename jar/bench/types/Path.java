// SPDX-License-Identifier: MIT OR Apache-2.0

/** The same as path.c, as one writes it in Java. bench/jar puts a type in the place of NUMBER. */
final class Path {
  static final int SIDE = 300;

  static final class Cell {
    final int x, y;
    int position = -1;
    boolean done;
    NUMBER cost = 30000, estimate;
    Cell from;

    Cell(int x, int y) {
      this.x = x;
      this.y = y;
    }

    boolean before(Cell other) {
      return estimate != other.estimate ? estimate < other.estimate : cost > other.cost;
    }
  }

  final boolean[][] wall = new boolean[SIDE][SIDE];
  final Cell[][] cells = new Cell[SIDE][SIDE];
  final Cell[] heap = new Cell[SIDE * SIDE];
  int size;

  void place(int at, Cell cell) {
    heap[at] = cell;
    cell.position = at;
  }

  void rise(int at) {
    Cell cell = heap[at];
    for (int above; at > 0 && cell.before(heap[above = (at - 1) / 2]); at = above) place(at, heap[above]);
    place(at, cell);
  }

  Cell take() {
    Cell first = heap[0], last = heap[--size];
    int at = 0;
    for (int below; (below = 2 * at + 1) < size; at = below) {
      if (below + 1 < size && heap[below + 1].before(heap[below])) below++;
      if (!heap[below].before(last)) break;
      place(at, heap[below]);
    }
    place(at, last);
    return first;
  }

  void reach(Cell from, int x, int y, NUMBER cost) {
    if (x < 0 || y < 0 || x >= SIDE || y >= SIDE || wall[y][x]) return;
    Cell cell = cells[y][x];
    if (cell == null) cell = cells[y][x] = new Cell(x, y);
    if (cell.done || cost >= cell.cost) return;
    cell.cost = cost;
    cell.estimate = (NUMBER) (cost + Math.abs(SIDE - 1 - x) + Math.abs(SIDE - 1 - y));
    cell.from = from;
    if (cell.position < 0) place(size++, cell);
    rise(cell.position);
  }

  int search(int seed) {
    for (int y = 0; y < SIDE; y++)
      for (int x = 0; x < SIDE; x++) {
        seed = seed * 1664525 + 1013904223;
        wall[y][x] = (seed >>> 24) < 70 && x + y > 2 && x + y < 2 * SIDE - 4;
      }
    reach(null, 0, 0, (NUMBER) 0);
    while (size > 0) {
      Cell cell = take();
      cell.done = true;
      if (cell.x == SIDE - 1 && cell.y == SIDE - 1) {
        int result = 0;
        for (; cell != null; cell = cell.from) result = result * 31 + cell.x + 7 * cell.y;
        return result;
      }
      NUMBER next = (NUMBER) (cell.cost + 1);
      reach(cell, cell.x + 1, cell.y, next);
      reach(cell, cell.x, cell.y + 1, next);
      reach(cell, cell.x - 1, cell.y, next);
      reach(cell, cell.x, cell.y - 1, next);
    }
    return 0;
  }

  public static void main(String[] arguments) {
    Rounds.run(
        arguments,
        () -> {
          int result = 0;
          for (int i = 0; i < 20; i++) result = result * 17 + new Path().search(i);
          return result;
        });
  }
}
