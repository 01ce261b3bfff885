// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.OpenOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;

/** Files that are only in memory. A program may change them; several may share them. */
public final class MemoryFiles implements FileTree {
  private static final class Node {
    final boolean isDirectory;
    final long id;
    byte[] bytes = new byte[0];
    int size;
    long changed = System.currentTimeMillis();

    Node(boolean isDirectory, long id) {
      this.isDirectory = isDirectory;
      this.id = id;
    }
  }

  private final TreeMap<String, Node> nodes = new TreeMap<>();
  private final long limit;
  private long used;
  private long last;

  /** Of at most a GiB. */
  public MemoryFiles() {
    this(1L << 30);
  }

  /** Of at most as many bytes: what does not fit is an {@link IOException}. */
  public MemoryFiles(long limit) {
    this.limit = limit;
    nodes.put("/", new Node(true, ++last));
  }

  /** Puts a file there, and the directories that it lies in. */
  public synchronized MemoryFiles put(String path, byte[] bytes) throws IOException {
    String name = path.startsWith("/") ? path : "/" + path;
    for (int slash = name.indexOf('/', 1); slash > 0; slash = name.indexOf('/', slash + 1)) {
      String directory = name.substring(0, slash);
      if (!nodes.containsKey(directory)) {
        createDirectory(directory);
      }
    }
    try (SeekableByteChannel channel =
        open(name, Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING))) {
      channel.write(ByteBuffer.wrap(bytes));
    }
    return this;
  }

  /** A file's bytes. */
  public synchronized byte[] get(String path) throws IOException {
    Node node = node(path.startsWith("/") ? path : "/" + path);
    return Arrays.copyOf(node.bytes, node.size);
  }

  private Node node(String path) throws IOException {
    Node node = nodes.get(path);
    if (node == null) {
      throw new NoSuchFileException(path);
    }
    return node;
  }

  /** A new name must lie in a directory. */
  private void checkParent(String path) throws IOException {
    String parent = path.substring(0, Math.max(1, path.lastIndexOf('/')));
    if (!node(parent).isDirectory) {
      throw new NotDirectoryException(parent);
    }
  }

  @Override
  public boolean isWritable() {
    return true;
  }

  @Override
  public synchronized Info info(String path) {
    Node node = nodes.get(path);
    return node == null ? null : new Info(node.isDirectory, false, node.size, node.changed, node.id);
  }

  @Override
  public synchronized List<String> list(String path) throws IOException {
    if (!node(path).isDirectory) {
      throw new NotDirectoryException(path);
    }
    String start = path.equals("/") ? "/" : path + "/";
    List<String> names = new ArrayList<>();
    for (String name : nodes.tailMap(start, false).keySet()) {
      if (!name.startsWith(start)) {
        break;
      }
      if (name.indexOf('/', start.length()) < 0) {
        names.add(name.substring(start.length()));
      }
    }
    return names;
  }

  @Override
  public synchronized SeekableByteChannel open(String path, Set<OpenOption> options) throws IOException {
    Node node = nodes.get(path);
    if (node != null && options.contains(StandardOpenOption.CREATE_NEW)) {
      throw new FileAlreadyExistsException(path);
    }
    if (node == null) {
      if (!options.contains(StandardOpenOption.CREATE) && !options.contains(StandardOpenOption.CREATE_NEW)) {
        throw new NoSuchFileException(path);
      }
      checkParent(path);
      node = new Node(false, ++last);
      nodes.put(path, node);
    }
    if (options.contains(StandardOpenOption.TRUNCATE_EXISTING)) {
      resize(node, 0);
    }
    return new Channel(node);
  }

  @Override
  public synchronized void createDirectory(String path) throws IOException {
    if (nodes.containsKey(path)) {
      throw new FileAlreadyExistsException(path);
    }
    checkParent(path);
    nodes.put(path, new Node(true, ++last));
  }

  @Override
  public synchronized void delete(String path) throws IOException {
    Node node = node(path);
    if (node.isDirectory && (path.equals("/") || !list(path).isEmpty())) {
      throw new DirectoryNotEmptyException(path);
    }
    nodes.remove(path);
    // Who has it open may still use it; the limit counts what has a name.
    used -= node.bytes.length;
  }

  @Override
  public synchronized void move(String from, String to) throws IOException {
    Node node = node(from);
    checkParent(to);
    if (from.equals(to)) {
      return;
    }
    if (to.startsWith(from + "/")) {
      throw new IOException(to + " lies in " + from);
    }
    if (nodes.containsKey(to)) {
      delete(to);
    }
    nodes.put(to, node);
    nodes.remove(from);
    if (node.isDirectory) {
      for (String name : new ArrayList<>(nodes.tailMap(from + "/").keySet())) {
        if (!name.startsWith(from + "/")) {
          break;
        }
        nodes.put(to + name.substring(from.length()), nodes.remove(name));
      }
    }
  }

  private void resize(Node node, long size) throws IOException {
    if (size > node.bytes.length) {
      long room = Math.max(size, Math.min(2L * node.bytes.length, size + (1 << 20)));
      if (size > Integer.MAX_VALUE - 16 || used - node.bytes.length + room > limit) {
        throw new IOException("no space left: files in memory may take " + limit + " bytes");
      }
      used += room - node.bytes.length;
      node.bytes = Arrays.copyOf(node.bytes, (int) room);
    } else if (size < node.size) {
      Arrays.fill(node.bytes, (int) size, node.size, (byte) 0);
    }
    node.size = (int) size;
    node.changed = System.currentTimeMillis();
  }

  private final class Channel implements SeekableByteChannel {
    private final Node node;
    private long position;
    private boolean open = true;

    Channel(Node node) {
      this.node = node;
    }

    private void check() throws IOException {
      if (!open) {
        throw new ClosedChannelException();
      }
    }

    @Override
    public int read(ByteBuffer to) throws IOException {
      synchronized (MemoryFiles.this) {
        check();
        int length = (int) Math.min(to.remaining(), node.size - position);
        if (length <= 0) {
          return to.hasRemaining() ? -1 : 0;
        }
        to.put(node.bytes, (int) position, length);
        position += length;
        return length;
      }
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
      synchronized (MemoryFiles.this) {
        check();
        int length = from.remaining();
        if (length > 0 && position + length > node.size) {
          resize(node, position + length);
        }
        if (length > 0) {
          from.get(node.bytes, (int) position, length);
        }
        position += length;
        node.changed = System.currentTimeMillis();
        return length;
      }
    }

    @Override
    public long position() {
      return position;
    }

    @Override
    public SeekableByteChannel position(long to) {
      position = to;
      return this;
    }

    @Override
    public long size() {
      synchronized (MemoryFiles.this) {
        return node.size;
      }
    }

    @Override
    public SeekableByteChannel truncate(long size) throws IOException {
      synchronized (MemoryFiles.this) {
        check();
        if (size < node.size) {
          resize(node, size);
        }
        return this;
      }
    }

    @Override
    public boolean isOpen() {
      return open;
    }

    @Override
    public void close() {
      open = false;
    }
  }
}
