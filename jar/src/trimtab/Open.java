// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.SeekableByteChannel;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import trimtab.embed.FileTree;

/** What a number that a program has for a file stands for: one of these is not null. */
final class Open {
  static final int APPEND = 8;
  static final int NONBLOCK = 0x80;

  String path;

  /** What was known of a file when it was opened. */
  FileTree.Info info;

  SeekableByteChannel channel;
  Input in;
  OutputStream out;

  /** Entries of a directory. */
  List<String> names;

  Pipe pipe;
  Endpoint endpoint;

  /** Of a pipe, whether this is the end that is written. */
  boolean writes;

  /** How long reading a socket waits, in nanoseconds. */
  long patience = Waits.EVER;

  /** Those of {@code open} and {@code F_SETFL}. */
  int flags;

  /** The next entry of a directory. */
  int next;

  /** Numbers that stand for this. */
  final AtomicInteger users = new AtomicInteger(1);

  private Open() {}

  static Open input(InputStream in) {
    Open open = new Open();
    open.in = new Input(in);
    return open;
  }

  static Open output(OutputStream out) {
    Open open = new Open();
    open.out = out;
    open.flags = 1;
    return open;
  }

  /** {@code /dev/null}. */
  static Open nothing(int flags) {
    Open open = output(OutputStream.nullOutputStream());
    open.in = new Input(InputStream.nullInputStream());
    open.flags = flags & 3;
    return open;
  }

  static Open file(String path, FileTree.Info info, SeekableByteChannel channel, int flags) {
    Open open = new Open();
    open.path = path;
    open.info = info;
    open.channel = channel;
    open.flags = flags;
    return open;
  }

  static Open directory(String path, FileTree.Info info, List<String> names) {
    Open open = new Open();
    open.path = path;
    open.info = info;
    open.names = names;
    return open;
  }

  static Open pipe(Pipe pipe, boolean writes, int flags) {
    Open open = new Open();
    open.pipe = pipe;
    open.writes = writes;
    open.flags = flags & NONBLOCK | (writes ? 1 : 0);
    return open;
  }

  static Open endpoint(Endpoint endpoint, int flags) {
    Open open = new Open();
    open.endpoint = endpoint;
    open.flags = flags & NONBLOCK | 2;
    return open;
  }

  boolean mayRead() {
    return (flags & 3) != 1;
  }

  boolean mayWrite() {
    return (flags & 3) != 0;
  }

  /** Whether it has no positions; {@code /dev/null}, which can be read and written, has all. */
  boolean isStream() {
    return pipe != null || endpoint != null || (in == null) != (out == null);
  }

  boolean mayWait() {
    return (flags & NONBLOCK) == 0;
  }

  /** What would not wait: bits of {@code poll}. */
  int ready() {
    if (endpoint != null) {
      return endpoint.ready();
    }
    if (pipe != null) {
      return pipe.ready(writes);
    }
    return (in != null && !in.isReady() ? 0 : Poll.IN) | (out != null || channel != null ? Poll.OUT : 0);
  }
}
