// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.io.InputStream;

/** An input stream that can be asked whether reading it would wait; Java's do not know their end before they are read. */
final class Input {
  private static final int NONE = -2;

  /** How long to wait for the first answer, in milliseconds. */
  private static final int FIRST = 3;

  private final InputStream in;

  /** The byte that was read ahead, -1 for the end, or {@link #NONE}. */
  private int ahead = NONE;

  /** Whether a thread reads ahead. */
  private boolean looks;

  Input(InputStream in) {
    this.in = in;
  }

  /** Reads what is there, or waits for it; 0 at the end. */
  int read(byte[] bytes, int at, int length) throws IOException {
    int first;
    synchronized (this) {
      while (looks) {
        pause(0);
      }
      first = ahead;
      ahead = NONE;
    }
    if (first == NONE) {
      return Math.max(in.read(bytes, at, length), 0);
    }
    if (first < 0) {
      return 0;
    }
    bytes[at] = (byte) first;
    int more = Math.min(length - 1, in.available());
    return more > 0 ? 1 + Math.max(in.read(bytes, at + 1, more), 0) : 1;
  }

  /** Whether there is something to read, or the end. */
  synchronized boolean isReady() {
    if (ahead != NONE) {
      return true;
    }
    if (looks) {
      return false;
    }
    try {
      if (in.available() > 0) {
        return true;
      }
    } catch (IOException e) {
      return true;
    }
    looks = true;
    Thread thread = new Thread(this::look, "input of a program");
    thread.setDaemon(true);
    thread.start();
    pause(FIRST);
    return ahead != NONE;
  }

  private void look() {
    int found;
    try {
      found = in.read();
    } catch (IOException e) {
      found = -1;
    }
    synchronized (this) {
      ahead = found;
      looks = false;
      notifyAll();
    }
  }

  private synchronized void pause(int millis) {
    try {
      wait(millis);
    } catch (InterruptedException e) {
      throw new Exit(128 + Signals.INT, true);
    }
  }
}
