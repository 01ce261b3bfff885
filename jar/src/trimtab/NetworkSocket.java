// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;

/** A socket of a network. What only some have, others here have not. */
abstract class NetworkSocket implements Endpoint {
  /** Whether its addresses are those of IPv6. */
  final boolean isSix;

  /** The error that it ended with, and that the program has not been told; 0 for none. */
  int error;

  NetworkSocket(boolean isSix) {
    this.isSix = isSix;
  }

  final StandardProtocolFamily family() {
    return isSix ? StandardProtocolFamily.INET6 : StandardProtocolFamily.INET;
  }

  /** {@code bind}. */
  abstract int bind(InetSocketAddress address) throws IOException;

  /** {@code connect}: 0, or {@code -EINPROGRESS}. */
  abstract int connect(InetSocketAddress address) throws IOException;

  /** Whether {@code connect} is done: 0, {@code -EAGAIN}, or why it failed. */
  int connected() {
    return 0;
  }

  /** {@code listen}. */
  int listen() throws IOException {
    return -Errors.EOPNOTSUPP;
  }

  /** Whether it accepts calls. */
  boolean listens() {
    return false;
  }

  /** {@code accept}: null where nobody has called yet. */
  NetworkSocket accept() throws IOException {
    return null;
  }

  /** Its own address; null where it has none. */
  abstract InetSocketAddress local() throws IOException;

  /** That of the other end; null where there is none. */
  abstract InetSocketAddress remote() throws IOException;

  /** Where what was read last came from; null where that is the other end. */
  InetSocketAddress sender() {
    return null;
  }

  /** Sends to an address. */
  abstract int send(byte[] bytes, int at, int length, InetSocketAddress to) throws IOException;

  /** Whether it is a stream. */
  abstract boolean isStream();

  /** The error that it ended with, which is forgotten then. */
  final synchronized int takeError() {
    int taken = error;
    error = 0;
    return taken;
  }
}
