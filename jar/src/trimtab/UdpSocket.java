// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;

/** A socket of UDP. */
final class UdpSocket implements Endpoint, Endpoint.NetworkSocket {
  private static final int LARGEST = 65536;

  private final DatagramChannel channel;

  /** A datagram that was looked at, but not read yet. */
  private ByteBuffer ahead;

  private InetSocketAddress sender;
  private int error;

  private final boolean isSix;

  UdpSocket(boolean isSix) throws IOException {
    this.isSix = isSix;
    channel = DatagramChannel.open(isSix ? StandardProtocolFamily.INET6 : StandardProtocolFamily.INET);
    channel.configureBlocking(false);
  }

  @Override
  public NetworkSocket network() {
    return this;
  }

  @Override
  public int bind(InetSocketAddress address) throws IOException {
    channel.bind(address);
    return 0;
  }

  @Override
  public synchronized int connect(InetSocketAddress address) throws IOException {
    if (channel.isConnected()) {
      channel.disconnect();
    }
    channel.connect(address);
    return 0;
  }

  @Override
  public int connected() {
    return 0;
  }

  @Override
  public int listen() {
    return -Errors.EOPNOTSUPP;
  }

  @Override
  public Endpoint accept() {
    return null;
  }

  private boolean look() throws IOException {
    if (ahead == null) {
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
  public synchronized int send(byte[] bytes, int at, int length, InetSocketAddress to) throws IOException {
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
  public InetSocketAddress local() throws IOException {
    return (InetSocketAddress) channel.getLocalAddress();
  }

  @Override
  public InetSocketAddress remote() throws IOException {
    return (InetSocketAddress) channel.getRemoteAddress();
  }

  @Override
  public synchronized InetSocketAddress sender() {
    return sender;
  }

  @Override
  public synchronized int takeError() {
    int taken = error;
    error = 0;
    return taken;
  }

  @Override
  public boolean isStream() {
    return false;
  }

  @Override
  public boolean listens() {
    return false;
  }

  @Override
  public boolean isSix() {
    return isSix;
  }
}
