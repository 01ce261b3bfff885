// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;

/** The standard streams of a program that this one executes: what it has open itself, as streams of Java. */
final class Inherited {
  private Inherited() {}

  /** What can be read; nothing where there is nothing open, or a socket. */
  static InputStream input(Open open) {
    if (open == null || !open.mayRead()) {
      return InputStream.nullInputStream();
    }
    if (open.in != null) {
      return new OfInput(open.in);
    }
    if (open.channel != null) {
      return Channels.newInputStream(open.channel);
    }
    if (open.pipe != null) {
      return new OfPipe(open.pipe);
    }
    return InputStream.nullInputStream();
  }

  /** Where can be written; nowhere where there is nothing open, or a socket. */
  static OutputStream output(Open open) {
    if (open != null && open.mayWrite() && open.endpoint == null) {
      return new Output(open);
    }
    return OutputStream.nullOutputStream();
  }

  /** With single bytes as arrays. */
  private abstract static class Input extends InputStream {
    @Override
    public final int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 255;
    }
  }

  private static final class OfInput extends Input {
    private final trimtab.Input in;

    OfInput(trimtab.Input in) {
      this.in = in;
    }

    @Override
    public int read(byte[] bytes, int at, int length) throws IOException {
      int got = in.read(bytes, at, length);
      return got == 0 && length > 0 ? -1 : got;
    }

    @Override
    public int available() {
      return in.isReady() ? 1 : 0;
    }
  }

  private static final class OfPipe extends Input {
    private final Pipe pipe;

    OfPipe(Pipe pipe) {
      this.pipe = pipe;
    }

    @Override
    public int read(byte[] bytes, int at, int length) {
      Cpu reader = Processes.waiter();
      try {
        int got = pipe.read(reader, bytes, at, length);
        return got <= 0 && length > 0 ? -1 : got;
      } finally {
        Processes.remove(reader);
      }
    }

    @Override
    public int available() {
      return pipe.available();
    }
  }

  private static final class Output extends OutputStream {
    private final Open open;

    Output(Open open) {
      this.open = open;
    }

    @Override
    public void write(int b) throws IOException {
      write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int at, int length) throws IOException {
      if (open.pipe != null) {
        Cpu writer = Processes.waiter();
        try {
          // Less is written where the program's end disturbs it, and nobody reads the rest.
          open.pipe.write(writer, bytes, at, length, true);
        } finally {
          Processes.remove(writer);
        }
      } else if (open.out != null) {
        synchronized (open.out) {
          open.out.write(bytes, at, length);
          open.out.flush();
        }
      } else {
        if ((open.flags & Open.APPEND) != 0) {
          open.channel.position(open.channel.size());
        }
        Channels.newOutputStream(open.channel).write(bytes, at, length);
      }
    }
  }
}
