// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * How often each block of the program ran, where it was translated with {@code --profile-generate}: a number for each
 * line of {@code program.blocks} but the first two. They are written when the JVM ends, to the file that {@code
 * -Dtrimtab.profile} names; where it is a profile of the same program already, both are added up. Threads that count the same
 * block at once may lose some.
 */
public final class Counts {
  private static final String[] BLOCKS = blocks();

  /** The counters. */
  public static final long[] COUNTS = new long[BLOCKS.length - 2];

  static {
    Runtime.getRuntime().addShutdownHook(new Thread(Counts::write));
  }

  private Counts() {}

  private static String[] blocks() {
    try (InputStream in = Counts.class.getResourceAsStream("/program.blocks")) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8).split("\n");
    } catch (IOException e) {
      throw new IllegalStateException("the jar is damaged: no program.blocks", e);
    }
  }

  private static void write() {
    Path path = Path.of(System.getProperty("trimtab.profile", "trimtab.profile"));
    // Programs of one JVM end at once, each with counters of its own.
    synchronized ("trimtab.profile".intern()) {
      try {
        write(path, known(path));
      } catch (IOException e) {
        System.err.println("trimtab: cannot write the profile " + path + ": " + e);
      }
    }
  }

  /** What a file has that is a profile of this program. */
  private static Map<String, Long> known(Path path) throws IOException {
    Map<String, Long> known = new HashMap<>();
    List<String> lines;
    try {
      lines = Files.readAllLines(path);
    } catch (NoSuchFileException e) {
      return known;
    }
    if (lines.size() < 2 || !lines.subList(0, 2).equals(Arrays.asList(BLOCKS).subList(0, 2))) {
      throw new IOException("it is there, and no profile of this program: remove it, or name another by -Dtrimtab.profile");
    }
    for (String line : lines.subList(2, lines.size())) {
      int end = line.lastIndexOf(' ');
      try {
        known.put(line.substring(0, Math.max(end, 0)), Long.parseLong(line.substring(end + 1)));
      } catch (NumberFormatException e) {
        throw new IOException("it is damaged, at: " + line);
      }
    }
    return known;
  }

  private static void write(Path path, Map<String, Long> known) throws IOException {
    StringBuilder text = new StringBuilder();
    text.append(BLOCKS[0]).append('\n').append(BLOCKS[1]).append('\n');
    for (int block = 0; block < COUNTS.length; block++) {
      String name = BLOCKS[block + 2];
      long count = COUNTS[block] + known.getOrDefault(name, 0L);
      if (count > 0) {
        text.append(name).append(' ').append(count).append('\n');
      }
    }
    // Whole or not at all, also where the JVM is killed meanwhile.
    Path whole = path.toAbsolutePath();
    Path part = whole.resolveSibling("." + whole.getFileName() + "." + ProcessHandle.current().pid());
    try {
      Files.writeString(part, text);
      Files.move(part, whole, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(part);
    }
  }
}
