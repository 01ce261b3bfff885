// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * Runs the program of a jar from the command line.
 *
 * <p>{@code -Dtrimtab.root=DIRECTORY} gives it the files below a directory, {@code
 * -Dtrimtab.write=true} lets it change them, {@code -Dtrimtab.memory=MIB} says how much memory it has,
 * {@code -Dtrimtab.environment=true} passes on the environment.
 */
public final class Main {
  private Main() {}

  /** Runs the program and ends with its exit status. */
  public static void main(String[] args) throws IOException {
    String[] all = new String[args.length + 1];
    all[0] = System.getProperty("trimtab.name", "program");
    System.arraycopy(args, 0, all, 1, args.length);
    String root = System.getProperty("trimtab.root");
    Path path = root == null ? null : Paths.get(root).toRealPath();
    String[] environment =
        Boolean.getBoolean("trimtab.environment")
            ? System.getenv().entrySet().stream()
                .map(entry -> entry.getKey() + "=" + entry.getValue())
                .sorted()
                .toArray(String[]::new)
            : new String[0];
    int status =
        Program.run(
            all,
            environment,
            System.in,
            new java.io.FileOutputStream(java.io.FileDescriptor.out),
            new java.io.FileOutputStream(java.io.FileDescriptor.err),
            path,
            Boolean.getBoolean("trimtab.write"));
    System.exit(status & 255);
  }
}
