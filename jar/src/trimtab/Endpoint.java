// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;

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
}
