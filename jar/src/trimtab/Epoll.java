// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What {@code epoll_create1} makes. A file is told as long as it is ready, also where a program asked for changes alone
 * ({@code EPOLLET}): it is told more often then.
 */
final class Epoll implements Endpoint {
  private static final int ADD = 1;
  private static final int DELETE = 2;
  private static final int MODIFY = 3;
  private static final int ONCE = 1 << 30;

  /** Bytes of {@code struct epoll_event}: the events, and from the 8th on what the program wants to be told. */
  private static final int SIZE = 16;

  /** What is watched: by its number, the file at that time, the events, and what is told. */
  private static final class Watch {
    final Open open;
    int events;
    long data;

    Watch(Open open) {
      this.open = open;
    }
  }

  private final Map<Integer, Watch> watches = new TreeMap<>();

  /** {@code epoll_ctl}. */
  synchronized int control(int operation, int file, int event) {
    Open open = Linux.files.find(file);
    if (open == null) {
      return -Errors.EBADF;
    }
    if (open.endpoint == this) {
      return -Errors.EINVAL;
    }
    if (open.channel != null || open.names != null) {
      return -Errors.EPERM;
    }
    Watch watch = watches.get(file);
    if (watch != null && watch.open != open) {
      // The file that was watched is closed, and its number another one's.
      watches.remove(file);
      watch = null;
    }
    switch (operation) {
      case ADD:
        if (watch != null) {
          return -Errors.EEXIST;
        }
        watch = new Watch(open);
        watches.put(file, watch);
        break;
      case MODIFY:
        if (watch == null) {
          return -Errors.ENOENT;
        }
        break;
      case DELETE:
        return watches.remove(file) == null ? -Errors.ENOENT : 0;
      default:
        return -Errors.EINVAL;
    }
    watch.events = Memory.readInt(event);
    watch.data = Memory.readLong(event + 8);
    return 0;
  }

  /** {@code epoll_wait}. */
  int await(Cpu cpu, int at, int most, long nanos) throws IOException {
    if (most <= 0 || most > Integer.MAX_VALUE / SIZE) {
      return -Errors.EINVAL;
    }
    Memory.check(at, SIZE * most);
    int result = Poll.until(cpu, nanos, () -> look(at, most));
    return result == -Errors.EAGAIN ? 0 : result;
  }

  private synchronized int look(int at, int most) {
    int found = 0;
    List<Integer> closed = new ArrayList<>();
    for (Map.Entry<Integer, Watch> entry : watches.entrySet()) {
      Watch watch = entry.getValue();
      if (Linux.files.find(entry.getKey()) != watch.open) {
        closed.add(entry.getKey());
        continue;
      }
      int ready = watch.events == 0 ? 0 : watch.open.ready() & (watch.events | Poll.ERR | Poll.HUP);
      if (ready != 0 && found < most) {
        Memory.writeInt(at + SIZE * found, ready);
        Memory.writeLong(at + SIZE * found + 8, watch.data);
        found++;
        if ((watch.events & ONCE) != 0) {
          watch.events = 0;
        }
      }
    }
    closed.forEach(watches::remove);
    return found > 0 ? found : -Errors.EAGAIN;
  }

  @Override
  public int read(byte[] bytes, int at, int length, boolean peeks) {
    return -Errors.EINVAL;
  }

  @Override
  public int write(byte[] bytes, int at, int length) {
    return -Errors.EINVAL;
  }

  @Override
  public synchronized int ready() {
    boolean any = watches.values().stream().anyMatch(watch -> (watch.open.ready() & (watch.events | Poll.ERR | Poll.HUP)) != 0);
    return any ? Poll.IN : 0;
  }

  @Override
  public int shutDown(int how) {
    return -Errors.ENOTSOCK;
  }

  @Override
  public void close() {}
}
