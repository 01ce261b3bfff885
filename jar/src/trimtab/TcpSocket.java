// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** A socket of TCP. */
final class TcpSocket extends NetworkSocket {
  private static final int AHEAD = 4096;

  /** A connection, or what will be one. */
  private SocketChannel channel;

  /** Where it was bound: what waits for calls. */
  private ServerSocketChannel server;

  private boolean listens;

  /** A call that nobody has accepted yet. */
  private SocketChannel caller;

  /** Bytes that were looked at, but not read yet. */
  private ByteBuffer ahead = ByteBuffer.allocate(0);

  private boolean hasEnded;

  /** Whether nothing more is sent. */
  private boolean isShut;

  TcpSocket(boolean isSix) {
    super(isSix);
  }

  @Override
  synchronized int bind(InetSocketAddress address) throws IOException {
    if (server != null || channel != null) {
      return -Errors.EINVAL;
    }
    ServerSocketChannel bound = ServerSocketChannel.open(family());
    try {
      bound.setOption(StandardSocketOptions.SO_REUSEADDR, true);
      bound.configureBlocking(false);
      bound.bind(address);
    } catch (IOException e) {
      bound.close();
      throw e;
    }
    server = bound;
    return 0;
  }

  @Override
  synchronized int listen() throws IOException {
    if (server == null) {
      InetSocketAddress any = new InetSocketAddress(isSix ? "::" : "0.0.0.0", 0);
      if (!Limits.network.test(any)) {
        return -Errors.EACCES;
      }
      bind(any);
    }
    listens = true;
    return 0;
  }

  @Override
  synchronized int connect(InetSocketAddress address) throws IOException {
    if (listens || channel != null) {
      return channel != null && channel.isConnected() ? -Errors.EISCONN : -Errors.EALREADY;
    }
    SocketChannel made = SocketChannel.open(family());
    try {
      made.configureBlocking(false);
      if (server != null) {
        InetSocketAddress own = local();
        server.close();
        server = null;
        made.bind(own);
      }
      boolean isDone = made.connect(address);
      channel = made;
      return isDone ? 0 : -Errors.EINPROGRESS;
    } catch (IOException | java.nio.channels.UnresolvedAddressException e) {
      made.close();
      throw e;
    }
  }

  @Override
  synchronized int connected() {
    try {
      if (channel != null && channel.isConnectionPending() && !channel.finishConnect()) {
        return -Errors.EAGAIN;
      }
    } catch (IOException e) {
      error = Errors.of(e);
      channel = null;
    }
    return -takeError();
  }

  @Override
  synchronized NetworkSocket accept() throws IOException {
    if (caller == null && listens) {
      caller = server.accept();
    }
    if (caller == null) {
      return null;
    }
    SocketChannel accepted = caller;
    caller = null;
    accepted.configureBlocking(false);
    TcpSocket socket = new TcpSocket(isSix);
    socket.channel = accepted;
    return socket;
  }

  @Override
  synchronized boolean listens() {
    return listens;
  }

  /** Fills what is read ahead; gives 0 at the end, or -EAGAIN. */
  private int look() throws IOException {
    if (ahead.hasRemaining()) {
      return ahead.remaining();
    }
    if (hasEnded) {
      return 0;
    }
    if (channel == null || !channel.isConnected()) {
      return -Errors.ENOTCONN;
    }
    ByteBuffer buffer = ByteBuffer.allocate(AHEAD);
    int got = channel.read(buffer);
    hasEnded = got < 0;
    ahead = buffer.flip();
    return got > 0 ? got : got < 0 ? 0 : -Errors.EAGAIN;
  }

  @Override
  public synchronized int read(byte[] bytes, int at, int length, boolean peeks) throws IOException {
    if (!peeks && !ahead.hasRemaining() && !hasEnded && channel != null && channel.isConnected()) {
      int got = channel.read(ByteBuffer.wrap(bytes, at, length));
      hasEnded = got < 0;
      return got > 0 || length == 0 ? got : got < 0 ? 0 : -Errors.EAGAIN;
    }
    int there = look();
    if (there <= 0) {
      return there;
    }
    int got = Math.min(length, there);
    ahead.duplicate().get(bytes, at, got);
    if (!peeks) {
      ahead.position(ahead.position() + got);
    }
    return got;
  }

  @Override
  public synchronized int write(byte[] bytes, int at, int length) throws IOException {
    if (channel == null || !channel.isConnected()) {
      return channel == null ? -Errors.ENOTCONN : -Errors.EAGAIN;
    }
    int put = channel.write(ByteBuffer.wrap(bytes, at, length));
    return put > 0 || length == 0 ? put : -Errors.EAGAIN;
  }

  @Override
  synchronized int send(byte[] bytes, int at, int length, InetSocketAddress to) throws IOException {
    return write(bytes, at, length);
  }

  @Override
  public synchronized int ready() {
    try {
      if (listens) {
        caller = caller == null ? server.accept() : caller;
        return caller == null ? 0 : Poll.IN;
      }
      if (channel == null) {
        return error != 0 ? Poll.IN | Poll.OUT | Poll.ERR | Poll.HUP : Poll.OUT | Poll.HUP;
      }
      if (channel.isConnectionPending() && !channel.finishConnect()) {
        return 0;
      }
      int there = look() == -Errors.EAGAIN ? 0 : Poll.IN;
      return there | Poll.OUT | (hasEnded ? Poll.READ_HUP : 0) | (hasEnded && isShut ? Poll.HUP : 0);
    } catch (IOException e) {
      error = Errors.of(e);
      if (channel != null && !channel.isConnected()) {
        channel = null;
      }
      return Poll.IN | Poll.OUT | Poll.ERR | Poll.HUP;
    }
  }

  @Override
  public synchronized int available() {
    return ahead.remaining();
  }

  @Override
  public synchronized int shutDown(int how) throws IOException {
    if (channel == null || !channel.isConnected()) {
      return -Errors.ENOTCONN;
    }
    if (how != 1) {
      channel.shutdownInput();
    }
    if (how != 0) {
      channel.shutdownOutput();
      isShut = true;
    }
    return 0;
  }

  @Override
  public synchronized void close() throws IOException {
    if (caller != null) {
      caller.close();
    }
    if (server != null) {
      server.close();
    }
    if (channel != null) {
      channel.close();
    }
  }

  @Override
  synchronized InetSocketAddress local() throws IOException {
    if (channel != null) {
      return (InetSocketAddress) channel.getLocalAddress();
    }
    return server == null ? null : (InetSocketAddress) server.getLocalAddress();
  }

  @Override
  synchronized InetSocketAddress remote() throws IOException {
    return channel == null || !channel.isConnected() ? null : (InetSocketAddress) channel.getRemoteAddress();
  }

  @Override
  boolean isStream() {
    return true;
  }
}
