// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.OpenOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import trimtab.embed.FileTree;
import trimtab.embed.MemoryFiles;
import trimtab.embed.Settings;

/** The files of the program: streams, pipes, and the tree that it was given. */
final class Files {
  static final int CREATE = 0x100;
  static final int TRUNCATE = 0x200;
  private static final int EXCLUSIVE = 0x400;
  private static final int DIRECTORY = 0x10000;

  /** {@code O_NOFOLLOW}. */
  private static final int OWN = 0x20000;

  static final int MOST = 1024;

  /** In the place of a position: where the last one ended. */
  static final long NEXT = -1;

  /** In the place of an open directory: the current one. */
  static final int HERE = -100;

  /** {@code AT_SYMLINK_NOFOLLOW}. */
  private static final int NO_FOLLOW = 0x100;

  /** {@code AT_EMPTY_PATH}. */
  private static final int EMPTY = 0x1000;

  private final List<Open> files = new ArrayList<>();
  private final OutputStream err;

  /** The tree that it was given. */
  final Names names;

  Files(Settings settings) {
    this(new Names(tree(settings), settings.directory()), settings.err());
    files.add(Open.input(settings.in()));
    files.add(Open.output(settings.out()));
    files.add(Open.output(err));
  }

  /** What it was given, or temporary files in memory: as much as the program's own. */
  private static FileTree tree(Settings settings) {
    return settings.files() == null ? MemoryFiles.temporary((long) settings.memory() << 20) : settings.files();
  }

  private Files(Names names, OutputStream err) {
    this.names = names;
    this.err = err;
  }

  /** Those of a process that is started: the same, until either opens or closes some. */
  synchronized Files copy() {
    Files copy = new Files(names.copy(), err);
    for (Open open : files) {
      copy.files.add(open);
      if (open != null) {
        open.users.incrementAndGet();
      }
    }
    return copy;
  }

  /** Says on the error output what ended the program. */
  void complain(Throwable thrown) {
    PrintStream stream = new PrintStream(err, true);
    stream.println(
        "the program was stopped by signal " + Signals.of(thrown) + ": " + thrown.getMessage());
    stream.print(Backtrace.of(thrown));
  }

  /** Says on the error output what the program called that there is not, and what was interpreted. */
  void complainOfGaps() {
    PrintStream stream = new PrintStream(err, true);
    Linux.unknown()
        .forEach((number, times) ->
            stream.println(
                "not supported: the system call " + CallNames.name(number)
                    + (times == 1 ? ", once" : ", " + times + " times")));
    Interpreter.counts()
        .forEach((address, count) -> stream.printf("interpreted: %d instructions from 0x%x on%n", count.sum(), address));
  }

  /** What a number stands for; null for nothing. */
  synchronized Open find(int file) {
    return at(file);
  }

  /** Gives it a number. */
  synchronized int add(Open open) {
    return add(open, 0);
  }

  /** What would not wait: bits of {@link Poll}; negative where nothing is open. */
  int ready(int file) {
    Open open = find(file);
    return open == null ? -Errors.EBADF : open.ready();
  }

  private Open at(int file) {
    return file >= 0 && file < files.size() ? files.get(file) : null;
  }

  private int add(Open open, int lowest) {
    for (int i = lowest; i < MOST; i++) {
      while (files.size() <= i) {
        files.add(null);
      }
      if (files.get(i) == null) {
        files.set(i, open);
        return i;
      }
    }
    return -Errors.EMFILE;
  }

  /** What a name stands for that may begin at an open directory, or at the current one: {@link #HERE}. */
  String path(int directory, String name) throws IOException {
    return name.isEmpty() || name.startsWith("/") || directory == HERE
        ? names.path(name)
        : Names.path(directory(directory), name);
  }

  /** The path of an open directory. */
  private synchronized String directory(int file) throws IOException {
    Open open = at(file);
    if (open == null || open.names == null) {
      throw new LinuxException(open == null ? Errors.EBADF : Errors.ENOTDIR);
    }
    return open.path;
  }

  synchronized int open(String path, int flags) throws IOException {
    if (path.equals(Names.NOTHING)) {
      return add(Open.nothing(flags));
    }
    FileTree tree = names.tree();
    FileTree.Info there = tree.info(path);
    boolean creates = (flags & CREATE) != 0;
    boolean writes = (flags & 3) != 0;
    if (there == null && !creates) {
      throw names.missing(path);
    }
    if (there != null && creates && (flags & EXCLUSIVE) != 0) {
      return -Errors.EEXIST;
    }
    if (there != null && there.isDirectory() && (flags & OWN) != 0 && !names.isOwnDirectory(path)) {
      return (flags & DIRECTORY) != 0 ? -Errors.ENOTDIR : -Errors.ELOOP;
    }
    if (there != null && there.isDirectory()) {
      return writes || creates ? -Errors.EISDIR : add(Open.directory(path, there, names.list(path)));
    }
    if ((flags & DIRECTORY) != 0 && there != null) {
      return -Errors.ENOTDIR;
    }
    if ((writes || there == null || (flags & TRUNCATE) != 0) && !tree.isWritable(path)) {
      return -Errors.EROFS;
    }
    SeekableByteChannel channel = channel(tree, path, flags, there != null);
    Open open = Open.file(path, names.info(path), channel, flags & ~(CREATE | TRUNCATE | EXCLUSIVE));
    if ((flags & TRUNCATE) != 0 && writes) {
      Shared.cut(open, 0);
    }
    return add(open);
  }

  private static SeekableByteChannel channel(FileTree tree, String path, int flags, boolean isThere) throws IOException {
    int mode = flags & 3;
    Set<OpenOption> options = new HashSet<>();
    if (mode != 1) {
      options.add(StandardOpenOption.READ);
    }
    if (mode != 0) {
      options.add(StandardOpenOption.WRITE);
    }
    OpenOption create = (flags & EXCLUSIVE) != 0 ? StandardOpenOption.CREATE_NEW : StandardOpenOption.CREATE;
    if ((flags & CREATE) != 0 && mode != 0) {
      options.add(create);
    }
    if ((flags & CREATE) != 0 && mode == 0 && !isThere) {
      // Java only creates what it writes.
      tree.open(path, Set.of(StandardOpenOption.WRITE, create)).close();
    }
    if ((flags & TRUNCATE) != 0 && mode != 0) {
      options.add(StandardOpenOption.TRUNCATE_EXISTING);
    }
    return tree.open(path, options);
  }

  /** Closes all numbers from one on. */
  synchronized void closeFrom(int lowest) {
    for (int file = lowest; file < files.size(); file++) {
      try {
        close(file);
      } catch (IOException e) {
        // Nobody is left to hear of it.
      }
    }
  }

  /** At the program's end: closes what the program left open. */
  synchronized void closeAll() {
    for (int file = 0; file < files.size(); file++) {
      Open open = files.get(file);
      try {
        if (open != null && open.channel != null) {
          open.channel.close();
        }
        if (open != null && open.endpoint != null) {
          open.endpoint.close();
        }
      } catch (IOException e) {
        // Nobody is left to hear of it.
      }
    }
  }

  synchronized int close(int file) throws IOException {
    Open open = at(file);
    if (open == null) {
      return -Errors.EBADF;
    }
    files.set(file, null);
    release(open);
    return 0;
  }

  /** A number, or a mapping, does not stand for it any more. */
  synchronized void release(Open open) throws IOException {
    if (open.users.decrementAndGet() > 0) {
      return;
    }
    if (open.channel != null) {
      open.channel.close();
    }
    if (open.pipe != null && open.writes) {
      open.pipe.close();
    } else if (open.pipe != null) {
      open.pipe.closeRead();
    }
    if (open.endpoint != null) {
      open.endpoint.close();
    }
  }

  synchronized int duplicate(int file, int to, boolean exactly) throws IOException {
    Open open = at(file);
    if (open == null || to < 0 || to >= MOST) {
      return -Errors.EBADF;
    }
    if (exactly && file != to) {
      close(to);
    }
    if (exactly && file == to) {
      return to;
    }
    open.users.incrementAndGet();
    return add(open, to);
  }

  synchronized int pipe(int address, int flags) {
    Pipe pipe = new Pipe(Pipe.SIZE);
    int read = add(Open.pipe(pipe, false, flags));
    int write = add(Open.pipe(pipe, true, flags));
    if (write < 0) {
      return write;
    }
    Memory.writeInt(address, read);
    Memory.writeInt(address + 4, write);
    return 0;
  }

  /** {@code read}, or {@code pread} where the position is not {@link #NEXT}. */
  int read(Cpu cpu, int file, int address, int length, long position) throws IOException {
    Open open = find(file, position);
    if (!open.mayRead()) {
      return -Errors.EBADF;
    }
    Memory.check(address, length);
    if (open.in != null) {
      return length == 0 ? 0 : read(cpu, open.in, address, length);
    }
    if (open.endpoint != null) {
      return Sockets.receive(cpu, file, address, length, 0, 0, 0);
    }
    if (open.pipe == null) {
      return read(open, address, length, position);
    }
    if (!open.mayWait() && open.pipe.ready(false) == 0) {
      return -Errors.EAGAIN;
    }
    return open.pipe.read(cpu, Memory.M, address - Memory.BASE, length);
  }

  /** What is open, and has positions if it is to be used at one. */
  private Open find(int file, long position) throws IOException {
    Open open = find(file);
    if (open == null || position != NEXT && open.isStream()) {
      throw new LinuxException(open == null ? Errors.EBADF : Errors.ESPIPE);
    }
    return open;
  }

  /** Others may use files while this waits. */
  private static int read(Cpu cpu, Input in, int address, int length) throws IOException {
    cpu.usage.pause();
    try {
      return in.read(Memory.M, address - Memory.BASE, length);
    } finally {
      cpu.usage.resume();
    }
  }

  private synchronized int read(Open open, int address, int length, long position) throws IOException {
    if (open.channel == null) {
      return -Errors.EISDIR;
    }
    if (Shared.areAny()) {
      long from = position == NEXT ? open.channel.position() : position;
      Shared.write(open, from, from + length);
    }
    ByteBuffer buffer = ByteBuffer.wrap(Memory.M, address - Memory.BASE, length);
    int got = position == NEXT ? open.channel.read(buffer) : Contents.read(open.channel, buffer, position);
    return Math.max(got, 0);
  }

  /** {@code write}, or {@code pwrite} where the position is not {@link #NEXT}. */
  int write(Cpu cpu, int file, int address, int length, long position) throws IOException {
    Open open = find(file, position);
    if (!open.mayWrite()) {
      return -Errors.EBADF;
    }
    Memory.check(address, length);
    if (open.endpoint != null) {
      return Sockets.send(cpu, file, address, length, 0, 0, 0);
    }
    if (open.pipe != null) {
      return open.pipe.write(cpu, Memory.M, address - Memory.BASE, length, open.mayWait());
    }
    if (open.out == null) {
      return write(open, address, length, position);
    }
    // Whoever reads it may let this wait; others may use files meanwhile.
    synchronized (open.out) {
      open.out.write(Memory.M, address - Memory.BASE, length);
      open.out.flush();
    }
    return length;
  }

  private synchronized int write(Open open, int address, int length, long position) throws IOException {
    ByteBuffer buffer = ByteBuffer.wrap(Memory.M, address - Memory.BASE, length);
    if (position == NEXT && (open.flags & Open.APPEND) != 0) {
      open.channel.position(open.channel.size());
    }
    long from = position == NEXT ? open.channel.position() : position;
    int put = position == NEXT ? open.channel.write(buffer) : Contents.write(open.channel, buffer, position);
    if (Shared.areAny()) {
      Shared.read(open, from, from + put);
    }
    return put;
  }

  synchronized long seek(int file, long offset, int whence) throws IOException {
    Open open = at(file);
    if (open == null) {
      return -Errors.EBADF;
    }
    if (open.names != null && offset == 0 && whence == 0) {
      open.next = 0;
      return 0;
    }
    if (open.channel == null) {
      return -Errors.ESPIPE;
    }
    long base = whence == 0 ? 0 : whence == 1 ? open.channel.position() : open.channel.size();
    if (whence < 0 || whence > 2 || base + offset < 0) {
      return -Errors.EINVAL;
    }
    open.channel.position(base + offset);
    return base + offset;
  }

  synchronized int truncate(int file, long size) throws IOException {
    Open open = at(file);
    return open == null ? -Errors.EBADF : truncate(open, size);
  }

  private static int truncate(Open open, long size) throws IOException {
    if (size < 0 || open.channel == null || !open.mayWrite()) {
      return -Errors.EINVAL;
    }
    Contents.resize(open.channel, size);
    Shared.cut(open, size);
    return 0;
  }

  /** {@code truncate}. */
  synchronized int truncate(String path, long size) throws IOException {
    if (size < 0) {
      return -Errors.EINVAL;
    }
    if (names.info(path).isDirectory()) {
      return -Errors.EISDIR;
    }
    try (SeekableByteChannel channel = names.changed(path).open(path, Set.of(StandardOpenOption.WRITE))) {
      return truncate(Open.file(path, names.info(path), channel, 1), size);
    }
  }

  synchronized int sync(int file) throws IOException {
    Open open = at(file);
    if (open == null) {
      return -Errors.EBADF;
    }
    if (open.channel instanceof FileChannel) {
      ((FileChannel) open.channel).force(true);
    }
    return 0;
  }

  synchronized int control(int file, int command, int argument) throws IOException {
    Open open = at(file);
    if (open == null) {
      return -Errors.EBADF;
    }
    switch (command) {
      case 0: // F_DUPFD
      case 1030: // F_DUPFD_CLOEXEC
        return duplicate(file, argument, false);
      case 3: // F_GETFL
        return open.flags;
      case 4: // F_SETFL
        int set = Open.APPEND | Open.NONBLOCK;
        open.flags = open.flags & ~set | argument & set;
        return 0;
      case 1: // F_GETFD
      case 2: // F_SETFD
      case 6: // F_SETLK
      case 7: // F_SETLKW
      case 34: // F_SETLK64
      case 35: // F_SETLKW64
        return 0;
      case 14: // F_GETLK
      case 33: // F_GETLK64
        Memory.writeShort(argument, 2);
        return 0;
      default:
        return -Errors.EINVAL;
    }
  }

  /** {@code fstat}. */
  synchronized Status status(int file) throws IOException {
    Open open = at(file);
    if (open == null) {
      throw new LinuxException(Errors.EBADF);
    }
    return open.path == null
        ? Status.stream(file, open.pipe != null, open.endpoint != null)
        : Status.of(names.info(open));
  }

  /** {@code fstatat} and {@code statx}. */
  Status status(int directory, String name, int flags) throws IOException {
    if ((flags & EMPTY) == 0 || !name.isEmpty()) {
      String path = path(directory, name);
      return (flags & NO_FOLLOW) == 0 ? names.status(path) : names.linkStatus(path);
    }
    return directory == HERE ? names.status(names.path(".")) : status(directory);
  }

  synchronized int entries(int file, int address, int length) throws IOException {
    Open open = at(file);
    if (open == null || open.names == null) {
      return open == null ? -Errors.EBADF : -Errors.ENOTDIR;
    }
    int at = address;
    while (open.next < open.names.size()) {
      String entry = open.names.get(open.next);
      byte[] name = entry.getBytes(StandardCharsets.UTF_8);
      int size = (19 + name.length + 1 + 7) & ~7;
      if (size > address + length - at) {
        return at == address ? -Errors.EINVAL : at - address;
      }
      open.next++;
      Memory.clear(at, size);
      Memory.writeLong(at, open.next);
      Memory.writeLong(at + 8, open.next);
      Memory.writeShort(at + 16, size);
      boolean directory = names.isListedDirectory(open.path, entry);
      Memory.writeByte(at + 18, directory ? 4 : 8);
      Memory.writeBytes(at + 19, name);
      at += size;
    }
    return at - address;
  }

  /** {@code renameat2}: what is open has its new name from then on. */
  synchronized int rename(String source, String target, int flags) throws IOException {
    int result = names.rename(source, target, flags);
    if (result == 0) {
      names.moved(source, target);
      for (Open open : files) {
        if (open != null && open.path != null) {
          open.path = Names.moved(open.path, source, target);
        }
      }
    }
    return result;
  }

  /** {@code fchdir}. */
  int enter(int file) throws IOException {
    return names.enter(directory(file));
  }
}
