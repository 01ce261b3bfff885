// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;

/** A socket of UDP. */
final class UdpSocket extends NetworkSocket {
  private static final int LARGEST = 65536;

  private final DatagramChannel channel;

  /** A datagram that was looked at, but not read yet. */
  private ByteBuffer ahead;

  private InetSocketAddress sender;

  UdpSocket(boolean isSix) throws IOException {
    super(isSix);
    channel = DatagramChannel.open(family());
    channel.configureBlocking(false);
  }

  @Override
  int bind(InetSocketAddress address) throws IOException {
    channel.bind(address);
    return 0;
  }

  @Override
  synchronized int connect(InetSocketAddress address) throws IOException {
    if (channel.isConnected()) {
      channel.disconnect();
    }
    channel.connect(address);
    return 0;
  }

  private boolean look() throws IOException {
    // Java would bind it to all addresses.
    if (ahead == null && channel.getLocalAddress() != null) {
      ByteBuffer buffer = ByteBuffer.allocate(LARGEST);
      InetSocketAddress from = (InetSocketAddress) channel.receive(buffer);
      if (from != null) {
        sender = from;
        ahead = buffer.flip();
      }
    }
    return ahead != null;
  }

  @Override
  public synchronized int read(byte[] bytes, int at, int length, boolean peeks) throws IOException {
    if (!look()) {
      return -Errors.EAGAIN;
    }
    int got = Math.min(length, ahead.remaining());
    ahead.duplicate().get(bytes, at, got);
    if (!peeks) {
      // What does not fit is lost, as with Linux.
      ahead = null;
    }
    return got;
  }

  @Override
  public synchronized int write(byte[] bytes, int at, int length) throws IOException {
    if (!channel.isConnected()) {
      return -Errors.EDESTADDRREQ;
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes, at, length);
    return channel.write(buffer) > 0 || length == 0 ? length : -Errors.EAGAIN;
  }

  @Override
  synchronized int send(byte[] bytes, int at, int length, InetSocketAddress to) throws IOException {
    if (to == null || channel.isConnected() && to.equals(channel.getRemoteAddress())) {
      return write(bytes, at, length);
    }
    if (channel.isConnected()) {
      return -Errors.EISCONN;
    }
    return channel.send(ByteBuffer.wrap(bytes, at, length), to) > 0 || length == 0 ? length : -Errors.EAGAIN;
  }

  @Override
  public synchronized int ready() {
    try {
      return look() ? Poll.IN | Poll.OUT : Poll.OUT;
    } catch (IOException e) {
      error = Errors.of(e);
      return Poll.IN | Poll.OUT | Poll.ERR;
    }
  }

  @Override
  public synchronized int available() {
    return ahead == null ? 0 : ahead.remaining();
  }

  @Override
  public int shutDown(int how) {
    return channel.isConnected() ? 0 : -Errors.ENOTCONN;
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }

  @Override
  InetSocketAddress local() throws IOException {
    return (InetSocketAddress) channel.getLocalAddress();
  }

  @Override
  InetSocketAddress remote() throws IOException {
    return (InetSocketAddress) channel.getRemoteAddress();
  }

  @Override
  synchronized InetSocketAddress sender() {
    return sender;
  }

  @Override
  boolean isStream() {
    return false;
  }
}
