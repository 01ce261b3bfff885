// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

import java.io.IOException;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** A directory of a file system as the program's root. */
final class Directory implements FileTree {
  private final Path root;
  private final boolean writable;

  Directory(Path directory, boolean writable) throws IOException {
    this.root = directory.toRealPath();
    if (!Files.isDirectory(root)) {
      throw new NotDirectoryException(directory.toString());
    }
    this.writable = writable;
  }

  /** What a path names, if that is no link out of the directory. */
  private Path at(String name) throws IOException {
    Path path = root;
    for (String part : name.split("/")) {
      path = part.isEmpty() ? path : below(path, part);
    }
    // Links are followed by the system, so that where they lead has to be looked at here.
    Path known = path;
    while (!Files.exists(known, LinkOption.NOFOLLOW_LINKS)) {
      known = known.getParent();
    }
    try {
      if (known.toRealPath().startsWith(root)) {
        return path;
      }
    } catch (NoSuchFileException e) {
      // A link to nothing may lead anywhere.
    }
    throw new AccessDeniedException(name);
  }

  @Override
  public boolean isWritable() {
    return writable;
  }

  @Override
  public Info info(String name) throws IOException {
    Path path = at(name);
    if (!Files.exists(path)) {
      return null;
    }
    BasicFileAttributes found = Files.readAttributes(path, BasicFileAttributes.class);
    Object key = found.fileKey();
    // The system's key tells files apart; its hash is as good as a number.
    long id = (key == null ? path.hashCode() : key.hashCode()) & 0x7fffffffL;
    return new Info(
        found.isDirectory(), Files.isExecutable(path), found.size(), found.lastModifiedTime().toMillis(), id);
  }

  @Override
  public Info linkInfo(String name) throws IOException {
    boolean isLink = Files.isSymbolicLink(parentOf(name));
    return isLink ? new Info(false, false, 0, 0, 0) : info(name);
  }

  @Override
  public List<String> list(String name) throws IOException {
    List<String> names = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(at(name))) {
      entries.forEach(entry -> names.add(entry.getFileName().toString()));
    }
    return names;
  }

  @Override
  public SeekableByteChannel open(String name, Set<OpenOption> options) throws IOException {
    return Files.newByteChannel(at(name), options);
  }

  @Override
  public void createDirectory(String name) throws IOException {
    Files.createDirectory(at(name));
  }

  @Override
  public void delete(String name) throws IOException {
    Files.delete(parentOf(name));
  }

  /** What a path names, where the last part may be a link to anywhere: it is not followed. */
  private Path parentOf(String name) throws IOException {
    int slash = name.lastIndexOf('/');
    Path parent = at(name.substring(0, Math.max(0, slash)));
    return below(parent, name.substring(slash + 1));
  }

  /** A file in a directory. Other systems have names of several parts in what is one here, or of a drive: these are none. */
  private static Path below(Path directory, String name) throws IOException {
    Path part = directory.getFileSystem().getPath(name);
    if (part.getRoot() != null || part.getNameCount() != 1 || name.equals("..")) {
      throw new NoSuchFileException(name);
    }
    return directory.resolve(part);
  }

  @Override
  public void move(String from, String to) throws IOException {
    Files.move(parentOf(from), parentOf(to), StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
  }
}
