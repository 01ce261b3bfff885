// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

import java.io.IOException;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/**
 * The files that a program sees. Paths are absolute and have no {@code .} or {@code ..}; methods throw what those of
 * {@link java.nio.file.Files} throw.
 */
public interface FileTree {
  /** What is known of a file. {@code id} tells files apart. */
  record Info(boolean isDirectory, boolean isExecutable, long size, long changedMillis, long id) {}

  /** Whether anything may be changed. */
  boolean isWritable();

  /** Whether what a path names may be made, changed and removed, and what lies below it. */
  default boolean isWritable(String path) {
    return isWritable();
  }

  /** What is known of a file; null where there is none. */
  Info info(String path) throws IOException;

  /** The same of a link itself, where the path ends at one; a link is no directory. */
  default Info linkInfo(String path) throws IOException {
    return info(path);
  }

  /** Names in a directory, in any order. */
  List<String> list(String path) throws IOException;

  /** Opens a file. */
  SeekableByteChannel open(String path, Set<OpenOption> options) throws IOException;

  /** Makes a directory. */
  void createDirectory(String path) throws IOException;

  /** Removes a file, or a directory that is empty. */
  void delete(String path) throws IOException;

  /** Renames a file; one that has the new name is replaced. */
  void move(String from, String to) throws IOException;

  /** What lies below a directory; links do not lead out of it. */
  static FileTree readOnly(Path directory) throws IOException {
    return new Directory(directory, false);
  }

  /** The same, where the program may change all of it. */
  static FileTree writable(Path directory) throws IOException {
    return new Directory(directory, true);
  }
}
