// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ConnectionPendingException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.Arrays;

/** System calls about sockets. Those of networks reach only the addresses that the embedder allows. */
final class Sockets {
  private static final int UNIX = 1;
  private static final int INET = 2;
  private static final int INET6 = 10;
  private static final int DATAGRAM = 1;
  private static final int STREAM = 2;

  /** Flags of calls. */
  private static final int PEEK = 2;

  private static final int DONT_WAIT = 0x40;
  private static final int NO_SIGNAL = 0x4000;

  /** Options. */
  private static final int SOCKET = 0xffff;

  private static final int TYPE = 0x1008;
  private static final int ERROR = 0x1007;
  private static final int RECEIVE_TIME = 0x1006;
  private static final int SEND_BUFFER = 0x1001;
  private static final int RECEIVE_BUFFER = 0x1002;

  private Sockets() {}

  /** Performs a call, or gives {@link Linux#OTHER}. */
  static int call(Cpu cpu, int number, int a0, int a1, int a2, int a3, int stack) throws IOException {
    try {
      return perform(cpu, number, a0, a1, a2, a3, stack);
    } catch (AlreadyBoundException | AlreadyConnectedException | ConnectionPendingException | NotYetConnectedException e) {
      return -Errors.EINVAL;
    } catch (UnresolvedAddressException | UnsupportedAddressTypeException e) {
      return -Errors.EAFNOSUPPORT;
    }
  }

  private static int perform(Cpu cpu, int number, int a0, int a1, int a2, int a3, int stack) throws IOException {
    switch (number) {
      case CallNumbers.SOCKET:
        return open(a0, a1);
      case CallNumbers.SOCKETPAIR:
        return pair(a0, a1, a3);
      case CallNumbers.ACCEPT:
        return accept(cpu, a0, a1, a2, 0);
      case CallNumbers.ACCEPT4:
        return accept(cpu, a0, a1, a2, a3);
      case CallNumbers.BIND:
      case CallNumbers.CONNECT:
      case CallNumbers.GETPEERNAME:
      case CallNumbers.GETSOCKNAME:
      case CallNumbers.LISTEN:
        return connection(cpu, number, a0, a1, a2);
      case CallNumbers.GETSOCKOPT:
        return option(a0, a1, a2, a3, Memory.readInt(stack + 16));
      case CallNumbers.SETSOCKOPT:
        return setOption(a0, a1, a2, a3);
      case CallNumbers.RECV:
        return receive(cpu, a0, a1, a2, a3, 0, 0);
      case CallNumbers.RECVFROM:
        return receive(cpu, a0, a1, a2, a3, Memory.readInt(stack + 16), Memory.readInt(stack + 20));
      case CallNumbers.SEND:
        return send(cpu, a0, a1, a2, a3, 0, 0);
      case CallNumbers.SENDTO:
        return send(cpu, a0, a1, a2, a3, Memory.readInt(stack + 16), Memory.readInt(stack + 20));
      case CallNumbers.RECVMSG:
      case CallNumbers.SENDMSG:
        return message(cpu, number == CallNumbers.RECVMSG, a0, a1, a2);
      case CallNumbers.SHUTDOWN:
        Endpoint endpoint = at(a0);
        return endpoint == null ? -Errors.ENOTSOCK : a1 < 0 || a1 > 2 ? -Errors.EINVAL : endpoint.shutDown(a1);
      default:
        return Linux.OTHER;
    }
  }

  private static Endpoint at(int file) {
    Open open = Linux.files.find(file);
    return open == null ? null : open.endpoint;
  }

  /** A network's socket; null for what is none. */
  private static NetworkSocket network(Endpoint endpoint) {
    return endpoint instanceof NetworkSocket ? (NetworkSocket) endpoint : null;
  }

  private static int open(int family, int type) throws IOException {
    if (family != INET && family != INET6) {
      return -Errors.EAFNOSUPPORT;
    }
    if (Limits.network == null) {
      return -Errors.EACCES;
    }
    switch (type & 15) {
      case STREAM:
        return Linux.files.add(Open.endpoint(new TcpSocket(family == INET6), type));
      case DATAGRAM:
        return Linux.files.add(Open.endpoint(new UdpSocket(family == INET6), type));
      default:
        return -Errors.ESOCKTNOSUPPORT;
    }
  }

  private static int pair(int family, int type, int address) {
    if (family != UNIX) {
      return -Errors.EOPNOTSUPP;
    }
    if ((type & 15) != STREAM) {
      return -Errors.ESOCKTNOSUPPORT;
    }
    Memory.check(address, 8);
    Pipe there = new Pipe(Pipe.SOCKET_SIZE);
    Pipe back = new Pipe(Pipe.SOCKET_SIZE);
    int first = Linux.files.add(Open.endpoint(new Pair(there, back), type));
    int second = first < 0 ? first : Linux.files.add(Open.endpoint(new Pair(back, there), type));
    if (second < 0) {
      return second;
    }
    Memory.writeInt(address, first);
    Memory.writeInt(address + 4, second);
    return 0;
  }

  private static int accept(Cpu cpu, int file, int address, int length, int flags) throws IOException {
    Open open = Linux.files.find(file);
    NetworkSocket socket = open == null ? null : network(open.endpoint);
    if (socket == null) {
      return open == null ? -Errors.EBADF : -Errors.ENOTSOCK;
    }
    if (!socket.listens()) {
      return -Errors.EINVAL;
    }
    NetworkSocket[] accepted = new NetworkSocket[1];
    int result =
        Poll.until(
            cpu,
            open.mayWait() ? Waits.EVER : 0,
            () -> (accepted[0] = socket.accept()) == null ? -Errors.EAGAIN : 0);
    if (result < 0) {
      return result;
    }
    write(accepted[0].remote(), socket.isSix, address, length);
    return Linux.files.add(Open.endpoint(accepted[0], flags));
  }

  private static int connection(Cpu cpu, int number, int file, int address, int length) throws IOException {
    Open open = Linux.files.find(file);
    NetworkSocket socket = open == null ? null : network(open.endpoint);
    if (socket == null) {
      return open == null ? -Errors.EBADF : -Errors.ENOTSOCK;
    }
    switch (number) {
      case CallNumbers.LISTEN:
        return socket.listen();
      case CallNumbers.GETPEERNAME:
        return socket.remote() == null ? -Errors.ENOTCONN : write(socket.remote(), socket.isSix, address, length);
      case CallNumbers.GETSOCKNAME:
        InetSocketAddress own = socket.local();
        return write(own == null ? new InetSocketAddress(0) : own, socket.isSix, address, length);
      default:
        InetSocketAddress other = read(address, length);
        if (other == null) {
          return -Errors.EAFNOSUPPORT;
        }
        if (!Limits.network.test(other)) {
          return -Errors.EACCES;
        }
        if (number == CallNumbers.BIND) {
          return socket.bind(other);
        }
        int result = socket.connect(other);
        boolean waits = result == -Errors.EINPROGRESS && open.mayWait();
        return waits ? Poll.until(cpu, Waits.EVER, socket::connected) : result;
    }
  }

  private static int option(int file, int level, int option, int address, int length) {
    Endpoint endpoint = at(file);
    if (endpoint == null) {
      return -Errors.ENOTSOCK;
    }
    NetworkSocket socket = network(endpoint);
    int value = 0;
    if (level == SOCKET && option == ERROR && socket != null) {
      value = socket.takeError();
    } else if (level == SOCKET && option == TYPE) {
      value = socket == null || socket.isStream() ? STREAM : DATAGRAM;
    } else if (level == SOCKET && (option == SEND_BUFFER || option == RECEIVE_BUFFER)) {
      value = 1 << 16;
    }
    if (Memory.readInt(length) < 4) {
      return -Errors.EINVAL;
    }
    Memory.writeInt(address, value);
    Memory.writeInt(length, 4);
    return 0;
  }

  /** What there is only changes how fast things go, but for the time that reading may take. */
  private static int setOption(int file, int level, int option, int address) {
    Open open = Linux.files.find(file);
    if (open == null || open.endpoint == null) {
      return open == null ? -Errors.EBADF : -Errors.ENOTSOCK;
    }
    if (level == SOCKET && option == RECEIVE_TIME) {
      long nanos = Clocks.micros(address);
      open.patience = nanos == 0 ? Waits.EVER : nanos;
    }
    return 0;
  }

  private static long time(Open open, int flags) {
    return open.mayWait() && (flags & DONT_WAIT) == 0 ? open.patience : 0;
  }

  /** {@code recvfrom}; {@code length} is where the length of the address is. */
  static int receive(Cpu cpu, int file, int buffer, int size, int flags, int address, int length) throws IOException {
    Open open = Linux.files.find(file);
    if (open == null || open.endpoint == null) {
      return open == null ? -Errors.EBADF : -Errors.ENOTSOCK;
    }
    Memory.check(buffer, size);
    Endpoint endpoint = open.endpoint;
    boolean peeks = (flags & PEEK) != 0;
    int got =
        Poll.until(cpu, time(open, flags), () -> endpoint.read(Memory.M, buffer - Memory.BASE, size, peeks));
    NetworkSocket socket = network(endpoint);
    if (got >= 0 && address != 0 && socket != null) {
      InetSocketAddress from = socket.sender();
      if (from == null) {
        Memory.writeInt(length, 0);
      } else {
        write(from, socket.isSix, address, length);
      }
    }
    return got;
  }

  /** {@code sendto}: all of it, as far as that may wait. */
  static int send(Cpu cpu, int file, int buffer, int size, int flags, int address, int length) throws IOException {
    Open open = Linux.files.find(file);
    if (open == null || open.endpoint == null) {
      return open == null ? -Errors.EBADF : -Errors.ENOTSOCK;
    }
    Memory.check(buffer, size);
    InetSocketAddress to = address == 0 ? null : read(address, length);
    if (to != null && !Limits.network.test(to)) {
      return -Errors.EACCES;
    }
    int done = 0;
    try {
      do {
        int from = buffer - Memory.BASE + done;
        int rest = size - done;
        int put = Poll.until(cpu, time(open, flags), () -> one(open.endpoint, from, rest, to));
        if (put < 0) {
          return done > 0 ? done : put;
        }
        done += put;
      } while (done < size);
    } catch (IOException e) {
      if (done > 0) {
        return done;
      }
      if ((flags & NO_SIGNAL) != 0) {
        return -Errors.of(e);
      }
      throw e;
    }
    return done;
  }

  private static int one(Endpoint endpoint, int from, int size, InetSocketAddress to) throws IOException {
    NetworkSocket socket = network(endpoint);
    return to == null || socket == null ? endpoint.write(Memory.M, from, size) : socket.send(Memory.M, from, size, to);
  }

  /** {@code recvmsg} and {@code sendmsg}: by way of one buffer, as a datagram is one message. */
  private static int message(Cpu cpu, boolean receives, int file, int at, int flags) throws IOException {
    int address = Memory.readInt(at);
    int parts = Memory.readInt(at + 8);
    int count = Memory.readInt(at + 12);
    if (count < 0 || count > 1024) {
      return -Errors.EMSGSIZE;
    }
    if (count == 1) {
      int buffer = Memory.readInt(parts);
      int size = Memory.readInt(parts + 4);
      Memory.writeInt(at + 20, 0);
      return receives
          ? receive(cpu, file, buffer, size, flags, address, at + 4)
          : send(cpu, file, buffer, size, flags, address, Memory.readInt(at + 4));
    }
    // Each part by itself where that is the same: streams.
    NetworkSocket socket = network(at(file));
    if (socket != null && !socket.isStream()) {
      return -Errors.EMSGSIZE;
    }
    int total = 0;
    for (int i = 0; i < count; i++) {
      int buffer = Memory.readInt(parts + 8 * i);
      int size = Memory.readInt(parts + 8 * i + 4);
      int now = total > 0 && receives ? flags | DONT_WAIT : flags;
      int done = size == 0 ? 0 : receives ? receive(cpu, file, buffer, size, now, 0, 0) : send(cpu, file, buffer, size, now, 0, 0);
      if (done < 0) {
        return total > 0 ? total : done;
      }
      total += done;
      if (done < size) {
        break;
      }
    }
    return total;
  }

  /** The address in memory; null where it is none of these kinds. */
  private static InetSocketAddress read(int address, int length) throws IOException {
    int family = length >= 2 ? Memory.readInt(address) & 0xffff : 0;
    int port = (Memory.readByte(address + 2) & 0xff) << 8 | Memory.readByte(address + 3) & 0xff;
    if (family == INET && length >= 16) {
      return new InetSocketAddress(InetAddress.getByAddress(Memory.readBytes(address + 4, 4)), port);
    }
    if (family == INET6 && length >= 24) {
      return new InetSocketAddress(InetAddress.getByAddress(Memory.readBytes(address + 8, 16)), port);
    }
    return null;
  }

  /** Writes an address as far as there is room, and its whole length; nothing where there is none to write to. */
  private static int write(InetSocketAddress from, boolean isSix, int address, int length) {
    if (address == 0) {
      return 0;
    }
    byte[] bytes = new byte[isSix ? 28 : 16];
    bytes[0] = (byte) (isSix ? INET6 : INET);
    bytes[2] = (byte) (from.getPort() >> 8);
    bytes[3] = (byte) from.getPort();
    byte[] host = from.getAddress().getAddress();
    if (!isSix) {
      // What listens to all addresses has one of 16 zeros.
      System.arraycopy(host, 0, bytes, 4, 4);
    } else if (from.getAddress() instanceof Inet4Address && !from.getAddress().isAnyLocalAddress()) {
      bytes[18] = bytes[19] = -1;
      System.arraycopy(host, 0, bytes, 20, 4);
    } else {
      System.arraycopy(host, 0, bytes, 8, host.length);
    }
    Memory.writeBytes(address, Arrays.copyOf(bytes, Math.max(0, Math.min(bytes.length, Memory.readInt(length)))));
    Memory.writeInt(length, bytes.length);
    return 0;
  }
}
