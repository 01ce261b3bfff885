// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.net.InetSocketAddress;

/** A socket, or one end of a pair of them. Nothing here waits: what would, gives {@code -EAGAIN}. */
interface Endpoint {
  /** Reads into memory; 0 at the end. Where it {@code peeks}, the next one reads the same. */
  int read(byte[] bytes, int at, int length, boolean peeks) throws IOException;

  /** Writes; gives how many bytes. */
  int write(byte[] bytes, int at, int length) throws IOException;

  /** What can be done now: bits of {@link Poll}. */
  int ready();

  /** No more is read (0), written (1), or both (2). */
  int shutDown(int how) throws IOException;

  /** Nobody uses it any more. */
  void close() throws IOException;

  /** Bytes that are there to be read, as far as that is known. */
  default int available() {
    return 0;
  }

  /** A network's socket; others are not. */
  default NetworkSocket network() {
    return null;
  }

  /** What only sockets of networks have. */
  interface NetworkSocket {
    /** {@code bind}. */
    int bind(InetSocketAddress address) throws IOException;

    /** {@code connect}: 0, or {@code -EINPROGRESS}. */
    int connect(InetSocketAddress address) throws IOException;

    /** Whether {@code connect} is done: 0, {@code -EAGAIN}, or why it failed. */
    int connected();

    /** {@code listen}. */
    int listen() throws IOException;

    /** {@code accept}: null where nobody has called yet. */
    Endpoint accept() throws IOException;

    /** Its own address; null where it has none. */
    InetSocketAddress local() throws IOException;

    /** That of the other end; null where there is none. */
    InetSocketAddress remote() throws IOException;

    /** Where what was read last came from. */
    InetSocketAddress sender();

    /** Sends to an address. */
    int send(byte[] bytes, int at, int length, InetSocketAddress to) throws IOException;

    /** The error that a connection ended with; it is forgotten then. */
    int takeError();

    /** Whether it is a stream. */
    boolean isStream();

    /** Whether it accepts calls. */
    boolean listens();

    /** Whether its addresses are those of IPv6. */
    boolean isSix();
  }
}
