// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.nio.file.Paths;
import trimtab.embed.FileTree;
import trimtab.embed.Settings;

/**
 * Runs the program of a jar from the command line.
 *
 * <p>{@code -Dtrimtab.root=DIRECTORY} gives it the files below a directory, {@code
 * -Dtrimtab.write=true} lets it change them, {@code -Dtrimtab.memory=MIB} says how much memory it has,
 * {@code -Dtrimtab.environment=true} passes on the environment, {@code -Dtrimtab.instructions=N} ends it after as many.
 */
public final class Main {
  private Main() {}

  /** Runs the program and ends with its exit status. */
  public static void main(String[] args) throws IOException {
    Settings settings = new Settings();
    settings.name(System.getProperty("trimtab.name", "program")).arguments(args);
    settings.memory(Integer.getInteger("trimtab.memory", 128));
    String root = System.getProperty("trimtab.root");
    if (root != null) {
      Path path = Paths.get(root);
      settings.files(Boolean.getBoolean("trimtab.write") ? FileTree.writable(path) : FileTree.readOnly(path));
    }
    if (Boolean.getBoolean("trimtab.environment")) {
      settings.environment(System.getenv());
    }
    if (System.getProperty("trimtab.instructions") != null) {
      settings.instructions(Long.getLong("trimtab.instructions"));
    }
    settings.in(System.in);
    settings.out(new FileOutputStream(FileDescriptor.out)).err(new FileOutputStream(FileDescriptor.err));
    int status;
    try {
      status = new Host().run(settings);
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    System.exit(status & 255);
  }
}
