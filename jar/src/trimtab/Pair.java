// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;

/** One end of {@code socketpair}: two pipes, one for each direction. */
final class Pair implements Endpoint {
  private final Pipe from;
  private final Pipe to;

  Pair(Pipe from, Pipe to) {
    this.from = from;
    this.to = to;
  }

  @Override
  public int read(byte[] bytes, int at, int length, boolean peeks) {
    return from.take(bytes, at, length, peeks);
  }

  @Override
  public int write(byte[] bytes, int at, int length) throws IOException {
    return to.put(bytes, at, length);
  }

  @Override
  public int ready() {
    boolean receives = !from.hasEnded();
    boolean sends = !to.hasEnded();
    int ends = (receives ? 0 : Poll.IN | Poll.READ_HUP) | (receives || sends ? 0 : Poll.HUP);
    return ends | (from.available() > 0 ? Poll.IN : 0) | to.ready(true) & Poll.OUT;
  }

  @Override
  public int available() {
    return from.available();
  }

  @Override
  public int shutDown(int how) {
    if (how != 1) {
      from.closeRead();
    }
    if (how != 0) {
      to.close();
    }
    return 0;
  }

  @Override
  public void close() {
    shutDown(2);
  }
}
