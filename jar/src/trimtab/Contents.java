// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SeekableByteChannel;

/** Bytes of a file at positions, which do not move the one that the file has. */
final class Contents {
  private Contents() {}

  /** Reads, as {@code SeekableByteChannel} does. */
  static int read(SeekableByteChannel channel, ByteBuffer buffer, long position) throws IOException {
    if (channel instanceof FileChannel) {
      return ((FileChannel) channel).read(buffer, position);
    }
    long before = channel.position();
    try {
      return channel.position(position).read(buffer);
    } finally {
      channel.position(before);
    }
  }

  /** Writes, as {@code SeekableByteChannel} does. */
  static int write(SeekableByteChannel channel, ByteBuffer buffer, long position) throws IOException {
    if (channel instanceof FileChannel) {
      return ((FileChannel) channel).write(buffer, position);
    }
    long before = channel.position();
    try {
      return channel.position(position).write(buffer);
    } finally {
      channel.position(before);
    }
  }

  /** Reads as much as there is, up to a length. */
  static int readAll(SeekableByteChannel channel, byte[] bytes, int at, int length, long position) throws IOException {
    ByteBuffer buffer = ByteBuffer.wrap(bytes, at, length);
    while (buffer.hasRemaining() && read(channel, buffer, position + buffer.position() - at) > 0) {
      // Until all is there.
    }
    return buffer.position() - at;
  }

  static void writeAll(SeekableByteChannel channel, byte[] bytes, int at, int length, long position) throws IOException {
    ByteBuffer buffer = ByteBuffer.wrap(bytes, at, length);
    while (buffer.hasRemaining()) {
      write(channel, buffer, position + buffer.position() - at);
    }
  }

  /** Has the file end elsewhere. */
  static void resize(SeekableByteChannel channel, long size) throws IOException {
    if (size > channel.size()) {
      write(channel, ByteBuffer.allocate(1), size - 1);
    } else {
      channel.truncate(size);
    }
  }
}
