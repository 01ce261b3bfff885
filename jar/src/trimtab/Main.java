// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.function.Supplier;
import trimtab.embed.FileTree;
import trimtab.embed.Settings;

/**
 * Runs the program of a jar from the command line.
 *
 * <p>{@code -Dtrimtab.root=DIRECTORY} gives it the files below a directory, {@code
 * -Dtrimtab.write=true} lets it change them, {@code -Dtrimtab.memory=MIB} says how much memory it has,
 * {@code -Dtrimtab.environment=true} passes on the environment, {@code -Dtrimtab.instructions=N} ends it after as many, {@code
 * -Dtrimtab.network=true} lets it open sockets, {@code -Dtrimtab.programs=PATH=JAR:…} has it execute those of other jars, {@code
 * -Dtrimtab.strict=true} says at the end what was missing, {@code -Dtrimtab.interpret=true} has all of it interpreted.
 */
public final class Main {
  /** What ends before the program begins, ends with this. */
  private static final int REFUSED = 125;

  private Main() {}

  /** Runs the program and ends with its exit status. */
  public static void main(String[] args) throws IOException {
    int status;
    try {
      status = new Host().run(settings(args));
    } catch (UncheckedIOException e) {
      throw e.getCause();
    } catch (BadProperty | OutOfMemoryError e) {
      System.err.println(e.getMessage());
      status = REFUSED;
    }
    System.exit(status & 255);
  }

  private static Settings settings(String[] args) {
    Settings settings = new Settings();
    settings.name(System.getProperty("trimtab.name", "program")).arguments(args);
    if (System.getProperty("trimtab.memory") != null) {
      try {
        settings.memory((int) Math.max(Integer.MIN_VALUE, Math.min(number("trimtab.memory"), Integer.MAX_VALUE)));
      } catch (IllegalArgumentException e) {
        throw new BadProperty("-Dtrimtab.memory: " + e.getMessage());
      }
    }
    String root = System.getProperty("trimtab.root");
    if (root != null) {
      try {
        Path path = Paths.get(root);
        settings.files(Boolean.getBoolean("trimtab.write") ? FileTree.writable(path) : FileTree.readOnly(path));
      } catch (IOException | InvalidPathException e) {
        throw new BadProperty("-Dtrimtab.root=" + root + " is no directory that can be read");
      }
    }
    if (Boolean.getBoolean("trimtab.environment")) {
      settings.environment(System.getenv());
    }
    if (Boolean.getBoolean("trimtab.network")) {
      settings.network(address -> true);
    }
    if (System.getProperty("trimtab.programs") != null) {
      programs(settings, System.getProperty("trimtab.programs"));
    }
    settings.strict(Boolean.getBoolean("trimtab.strict")).interpreted(Boolean.getBoolean("trimtab.interpret"));
    if (System.getProperty("trimtab.instructions") != null) {
      settings.instructions(number("trimtab.instructions"));
    }
    settings.in(System.in);
    settings.out(new FileOutputStream(FileDescriptor.out)).err(new FileOutputStream(FileDescriptor.err));
    return settings;
  }

  /** Paths and jars, as a list of the operating system's. A jar is read when it is first executed. */
  private static void programs(Settings settings, String list) {
    for (String entry : list.split(File.pathSeparator)) {
      int end = entry.indexOf('=');
      String jar = entry.substring(end + 1);
      if (end < 1 || !entry.startsWith("/")) {
        throw new BadProperty("-Dtrimtab.programs: " + entry + " is not /PATH=JAR");
      }
      if (!new File(jar).isFile()) {
        throw new BadProperty("-Dtrimtab.programs: there is no jar " + jar);
      }
      settings.program(entry.substring(0, end), new Supplier<>() {
        private trimtab.embed.Program read;

        @Override
        public synchronized trimtab.embed.Program get() {
          try {
            read = read == null ? trimtab.embed.Program.load(Paths.get(jar)) : read;
            return read;
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        }
      });
    }
  }

  private static long number(String property) {
    String text = System.getProperty(property);
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new BadProperty("-D" + property + "=" + text + " is no number");
    }
  }

  /** What the message says is to be mended where Java is started. */
  private static final class BadProperty extends RuntimeException {
    private static final long serialVersionUID = 1;

    BadProperty(String message) {
      super(message);
    }
  }
}
