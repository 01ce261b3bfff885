// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NonReadableChannelException;
import java.nio.channels.NonWritableChannelException;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
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

    /** Names, which are one or none, and channels: without any, its memory is given back. */
    int users = 1;

    Node(boolean isDirectory, long id) {
      this.isDirectory = isDirectory;
      this.id = id;
    }
  }

  private static final int NAME = 200;

  /** Where programs put what they need only while they run. */
  private static final List<String> TEMPORARY = List.of("/tmp", "/var/tmp");

  private final TreeMap<String, Node> nodes = new TreeMap<>();
  private final long limit;

  /** Whether only these may be changed. */
  private boolean isTemporary;
  private long used;
  private long last;

  /** Of at most a GiB. */
  public MemoryFiles() {
    this(1L << 30);
  }

  /**
   * Of at most as many bytes, where a name counts as {@value #NAME} bytes and two for each letter: what does not fit is a
   * {@link NoSpaceException}. A file that is removed counts until it is closed.
   */
  public MemoryFiles(long limit) {
    this.limit = limit;
    nodes.put("/", new Node(true, ++last));
  }

  /**
   * Empty directories {@code /tmp} and {@code /var/tmp}, for as many bytes of temporary files; nothing else can be made, so that
   * no result is written where nobody finds it.
   */
  public static MemoryFiles temporary(long limit) {
    MemoryFiles files = new MemoryFiles(limit);
    for (String path : List.of("/tmp", "/var", "/var/tmp")) {
      files.nodes.put(path, new Node(true, ++files.last));
    }
    files.isTemporary = true;
    return files;
  }

  private void take(long bytes) throws IOException {
    if (bytes > limit - used) {
      throw new NoSpaceException("files in memory may take " + limit + " bytes");
    }
    used += bytes;
  }

  private static long cost(String path) {
    return NAME + 2L * path.length();
  }

  private Node add(String path, boolean isDirectory) throws IOException {
    checkParent(path);
    take(cost(path));
    Node node = new Node(isDirectory, ++last);
    nodes.put(path, node);
    return node;
  }

  /** One user less. */
  private void leave(Node node) {
    if (--node.users == 0) {
      used -= node.bytes.length;
      node.bytes = new byte[0];
    }
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
  public boolean isWritable(String path) {
    return !isTemporary || TEMPORARY.stream().anyMatch(directory -> (path + "/").startsWith(directory + "/"));
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
      node = add(path, false);
    }
    if (node.isDirectory) {
      throw new FileSystemException(path, null, "Is a directory");
    }
    if (options.contains(StandardOpenOption.TRUNCATE_EXISTING)) {
      resize(node, 0);
    }
    node.users++;
    boolean writes = options.contains(StandardOpenOption.WRITE);
    return new Channel(node, !writes || options.contains(StandardOpenOption.READ), writes);
  }

  @Override
  public synchronized void createDirectory(String path) throws IOException {
    if (nodes.containsKey(path)) {
      throw new FileAlreadyExistsException(path);
    }
    add(path, true);
  }

  @Override
  public synchronized void delete(String path) throws IOException {
    Node node = node(path);
    if (node.isDirectory && (path.equals("/") || !list(path).isEmpty())) {
      throw new DirectoryNotEmptyException(path);
    }
    nodes.remove(path);
    used -= cost(path);
    // Who has it open may still use it.
    leave(node);
  }

  @Override
  public synchronized void move(String from, String to) throws IOException {
    Node node = node(from);
    checkParent(to);
    if (from.equals(to)) {
      return;
    }
    if (to.startsWith(from + "/")) {
      throw new FileSystemException(from, to, "Invalid argument");
    }
    Node old = nodes.get(to);
    if (old != null && old.isDirectory != node.isDirectory) {
      throw new FileSystemException(from, to, old.isDirectory ? "Is a directory" : "Not a directory");
    }
    List<String> moved = new ArrayList<>(List.of(from));
    for (String name : nodes.tailMap(from + "/").keySet()) {
      if (!name.startsWith(from + "/")) {
        break;
      }
      moved.add(name);
    }
    take(Math.max(0, 2L * (to.length() - from.length()) * moved.size()));
    used += Math.min(0, 2L * (to.length() - from.length()) * moved.size());
    if (old != null) {
      delete(to);
    }
    for (String name : moved) {
      nodes.put(to + name.substring(from.length()), nodes.remove(name));
    }
  }

  private void resize(Node node, long size) throws IOException {
    if (size > node.bytes.length) {
      long room = Math.max(size, Math.min(2L * node.bytes.length, size + (1 << 20)));
      // Room to grow only as far as the limit lets it.
      room = Math.min(room, Math.max(size, node.bytes.length + limit - used));
      room = Math.min(room, Integer.MAX_VALUE - 16);
      if (size > room) {
        throw new NoSpaceException("no file in memory can be larger than " + room + " bytes");
      }
      long more = room - node.bytes.length;
      take(more);
      try {
        node.bytes = Arrays.copyOf(node.bytes, (int) room);
      } catch (OutOfMemoryError e) {
        used -= more;
        throw new NoSpaceException("Java's heap has no " + room + " bytes for a file");
      }
    } else if (size < node.size) {
      Arrays.fill(node.bytes, (int) size, node.size, (byte) 0);
    }
    node.size = (int) size;
    node.changed = System.currentTimeMillis();
  }

  private final class Channel implements SeekableByteChannel {
    private final Node node;
    private final boolean reads;
    private final boolean writes;
    private long position;
    private boolean open = true;

    Channel(Node node, boolean reads, boolean writes) {
      this.node = node;
      this.reads = reads;
      this.writes = writes;
    }

    private void checkReads() throws IOException {
      if (!open) {
        throw new ClosedChannelException();
      }
      if (!reads) {
        throw new NonReadableChannelException();
      }
    }

    private void checkWrites() throws IOException {
      if (!open) {
        throw new ClosedChannelException();
      }
      if (!writes) {
        throw new NonWritableChannelException();
      }
    }

    @Override
    public int read(ByteBuffer to) throws IOException {
      synchronized (MemoryFiles.this) {
        checkReads();
        int length = (int) Math.max(0, Math.min(to.remaining(), node.size - position));
        if (length == 0) {
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
        checkWrites();
        int length = from.remaining();
        // What is too far for a file is too far by as much as an int has.
        long end = Math.min(position, Integer.MAX_VALUE) + length;
        if (length > 0 && end > node.size) {
          resize(node, end);
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
      if (to < 0) {
        throw new IllegalArgumentException("a position of " + to);
      }
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
        checkWrites();
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
      synchronized (MemoryFiles.this) {
        if (open) {
          open = false;
          leave(node);
        }
      }
    }
  }
}
