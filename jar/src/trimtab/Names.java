// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.util.ArrayList;
import java.util.List;
import trimtab.embed.FileTree;
import trimtab.embed.Settings;

/**
 * The tree of files that the program was given, and its current directory. Paths are those of {@link #path}: they begin at the root, without
 * {@code .} and {@code ..}.
 */
final class Names {
  static final String NOTHING = "/dev/null";

  /** Flag of {@code renameat2}. */
  private static final int NO_REPLACE = 1;

  private final FileTree tree;

  private String directory;

  Names(FileTree tree, String directory) {
    this.tree = tree;
    this.directory = directory;
  }

  synchronized Names copy() {
    return new Names(tree, directory);
  }

  /** Has another program have the same tree and directory. */
  synchronized void give(Settings settings) {
    settings.files(tree).directory(directory);
  }

  /** What a name stands for that may begin at the current directory; above the root is the root. */
  synchronized String path(String name) throws IOException {
    return path(directory, name);
  }

  /** What a name stands for that may begin at a directory. */
  static String path(String directory, String name) throws IOException {
    if (name.isEmpty()) {
      throw new NoSuchFileException(name);
    }
    List<String> parts = new ArrayList<>();
    for (String part : (name.startsWith("/") ? name : directory + "/" + name).split("/")) {
      if (part.equals("..")) {
        if (!parts.isEmpty()) {
          parts.remove(parts.size() - 1);
        }
      } else if (!part.isEmpty() && !part.equals(".")) {
        parts.add(part);
      }
    }
    return "/" + String.join("/", parts);
  }

  /** The tree that paths are looked for in. */
  FileTree tree() {
    return tree;
  }

  /** The same where what is at a path is to be changed. */
  FileTree changed(String path) throws IOException {
    if (!tree.isWritable(path)) {
      throw new LinuxException(Errors.EROFS);
    }
    return tree;
  }

  /** What is known of a file; it is missing where the path leads through what is no directory. */
  FileTree.Info info(String path) throws IOException {
    FileTree.Info info = tree.info(path);
    if (info == null) {
      throw missing(path);
    }
    return info;
  }

  /** Why there is no such file: something on the way is none, or no directory. */
  IOException missing(String path) throws IOException {
    for (int slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1)) {
      FileTree.Info above = tree.info(path.substring(0, slash));
      if (above != null) {
        return above.isDirectory() ? new NoSuchFileException(path) : new NotDirectoryException(path);
      }
    }
    return new NoSuchFileException(path);
  }

  private boolean isDirectory(String path) throws IOException {
    FileTree.Info info = tree.info(path);
    return info != null && info.isDirectory();
  }

  /** Names in a directory, sorted. */
  List<String> list(String path) throws IOException {
    List<String> names = new ArrayList<>(tree.list(path));
    names.add(".");
    names.add("..");
    names.sort(null);
    return names;
  }

  /** Whether an entry is a directory; a link is none. */
  boolean isListedDirectory(String path, String entry) throws IOException {
    return entry.equals(".") || entry.equals("..") || isOwnDirectory(path(path, entry));
  }

  /** Whether there is a directory, and no link to one. */
  boolean isOwnDirectory(String path) throws IOException {
    FileTree.Info info = tree.linkInfo(path);
    return info != null && info.isDirectory();
  }

  /** {@code lstat}. Links look like what they lead to, but those to directories: who removes a tree must not go there. */
  Status linkStatus(String path) throws IOException {
    boolean isLink = isDirectory(path) && !isOwnDirectory(path);
    return isLink ? Status.of(tree.linkInfo(path)) : status(path);
  }

  Status status(String path) throws IOException {
    return path.equals(NOTHING) ? Status.stream(3, false, false) : Status.of(info(path));
  }

  /** What is known of an open file, whose name may be gone, or another one's. */
  FileTree.Info info(Open open) throws IOException {
    FileTree.Info first = open.info;
    FileTree.Info named = find(open.path);
    if (named != null && named.id() == first.id()) {
      return named;
    }
    long size = open.channel == null ? first.size() : open.channel.size();
    return new FileTree.Info(first.isDirectory(), first.isExecutable(), size, first.changedMillis(), first.id());
  }

  /** What is known of a file; null where there is none that can be seen. */
  private FileTree.Info find(String path) throws IOException {
    try {
      return tree.info(path);
    } catch (AccessDeniedException e) {
      return null;
    }
  }

  int remove(String path, boolean directory) throws IOException {
    FileTree.Info info = tree.linkInfo(path);
    if (info == null) {
      throw missing(path);
    }
    changed(path);
    if (info.isDirectory() != directory) {
      return info.isDirectory() ? -Errors.EISDIR : -Errors.ENOTDIR;
    }
    tree.delete(path);
    return 0;
  }

  int rename(String source, String target, int flags) throws IOException {
    if ((flags & ~NO_REPLACE) != 0) {
      return -Errors.EINVAL;
    }
    changed(source);
    changed(target);
    if (flags != 0 && tree.linkInfo(source) != null && tree.linkInfo(target) != null) {
      throw new FileAlreadyExistsException(target);
    }
    tree.move(source, target);
    return 0;
  }

  /** What was at one path is at another one now. */
  synchronized void moved(String source, String target) {
    directory = moved(directory, source, target);
  }

  /** What a path has become that may lie at or below what was moved. */
  static String moved(String path, String source, String target) {
    boolean isMoved = path.equals(source) || path.startsWith(source + "/");
    return isMoved ? target + path.substring(source.length()) : path;
  }

  int makeDirectory(String path) throws IOException {
    changed(path).createDirectory(path);
    return 0;
  }

  int access(String path, int mode) throws IOException {
    info(path);
    return (mode & 2) != 0 && !tree.isWritable(path) ? -Errors.EROFS : 0;
  }

  /** {@code readlink}: links are followed, and look like what they lead to. */
  int link(String path) throws IOException {
    return tree.linkInfo(path) == null ? -Errors.of(missing(path)) : -Errors.EINVAL;
  }

  synchronized int enter(String path) throws IOException {
    if (!info(path).isDirectory()) {
      throw new NotDirectoryException(path);
    }
    directory = path;
    return 0;
  }

  synchronized int currentDirectory(int address, int length) {
    byte[] name = (directory + "\0").getBytes(StandardCharsets.UTF_8);
    if (name.length > length) {
      return -Errors.ERANGE;
    }
    Memory.writeBytes(address, name);
    return name.length;
  }
}
