// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;

/** System calls, by their numbers on MIPS with 32 bits. */
public final class Linux {
  static final int USER = 1000;

  /** In the place of a result: the call is none of those that were looked for. */
  static final int OTHER = Integer.MIN_VALUE;

  /** {@code PROT_EXEC}. */
  private static final int EXECUTABLE = 4;

  /** {@code PROT_WRITE}. */
  private static final int WRITABLE = 2;

  /** {@code MAP_PRIVATE}, alone. */
  private static final int PRIVATE = 2;

  static Files files;

  /** Calls that there are none of, and how often each was made. */
  private static final Map<Integer, Integer> unknown = new TreeMap<>();

  private Linux() {}

  static void start(Files given) {
    files = given;
    Maps.start();
  }

  /** {@code v0} in the lower word; in the upper 1 where that is the number of an error. */
  public static long call(Cpu cpu, int number, int a0, int a1, int a2, int a3, int stack) {
    if (cpu.disturbed) {
      Signals.deliver(cpu, stack);
    }
    while (true) {
      int result = perform(cpu, number, a0, a1, a2, a3, stack);
      boolean goesOn = !cpu.disturbed || Signals.deliver(cpu, stack);
      if (result != -Errors.EINTR || !goesOn || !restarts(number, a3)) {
        return isError(result) ? 1L << 32 | -result : result & 0xffffffffL;
      }
    }
  }

  /** Whether a call goes on behind handlers that want it: reading, and waiting without an end. */
  private static boolean restarts(int number, int a3) {
    switch (number) {
      case CallNumbers.READ:
      case CallNumbers.WRITE:
      case CallNumbers.READV:
      case CallNumbers.WRITEV:
      case CallNumbers.ACCEPT:
      case CallNumbers.ACCEPT4:
      case CallNumbers.RECV:
      case CallNumbers.RECVFROM:
      case CallNumbers.RECVMSG:
      case CallNumbers.WAITPID:
      case CallNumbers.WAIT4:
        return true;
      case CallNumbers.FUTEX:
      case CallNumbers.FUTEX_TIME64:
        return a3 == 0;
      default:
        return false;
    }
  }

  private static int perform(Cpu cpu, int number, int a0, int a1, int a2, int a3, int stack) {
    try {
      return about(cpu, number, a0, a1, a2, a3, stack);
    } catch (IOException e) {
      int error = Errors.of(e);
      if (error == Errors.EPIPE) {
        Signals.send(cpu.number, Signals.PIPE);
      }
      return -error;
    } catch (java.nio.file.InvalidPathException e) {
      return -Errors.ENOENT;
    } catch (IndexOutOfBoundsException e) {
      return -Errors.EFAULT;
    }
  }

  /** Calls about files and the program's end, and others. */
  private static int about(Cpu cpu, int number, int a0, int a1, int a2, int a3, int stack)
      throws IOException {
    Files files = cpu.files;
    switch (number) {
      case CallNumbers.EXIT:
        return Processes.exit(cpu, a0 & 255, false);
      case CallNumbers.EXIT_GROUP:
        return Processes.exit(cpu, a0 & 255, true);
      case CallNumbers.CLONE:
        return Threads.clone(cpu, a0, a1, a2, a3, Memory.readInt(stack + 16), stack);
      case Processes.VFORK:
        return Processes.fork(cpu, a3, stack);
      case CallNumbers.EXECVE:
        return Limits.programs.isEmpty() ? unknown(number) : Processes.execute(cpu, Memory.string(a0), a1, a2);
      case CallNumbers.WAITPID:
        return Processes.await(cpu, a0, a1, a2, 0);
      case CallNumbers.WAIT4:
        return Processes.await(cpu, a0, a1, a2, a3);
      case CallNumbers.READ:
        return files.read(cpu, a0, a1, a2, Files.NEXT);
      case CallNumbers.WRITE:
        return files.write(cpu, a0, a1, a2, Files.NEXT);
      case CallNumbers.CLOSE:
        return files.close(a0);
      case CallNumbers.LSEEK:
        return (int) files.seek(a0, a1, a2);
      case CallNumbers._LLSEEK:
        return seek(a0, (long) a1 << 32 | a2 & 0xffffffffL, a3, Memory.readInt(stack + 16));
      case CallNumbers.DUP:
        return files.duplicate(a0, 0, false);
      case CallNumbers.DUP2:
      case CallNumbers.DUP3:
        return files.duplicate(a0, a1, true);
      case CallNumbers.PIPE2:
        return files.pipe(a0, a1);
      case CallNumbers.IOCTL:
        return inputOutputControl(a0, a1, a2);
      case CallNumbers.FCNTL:
      case CallNumbers.FCNTL64:
        return files.control(a0, a1, a2);
      case CallNumbers.FTRUNCATE64:
        return files.truncate(a0, (long) a3 << 32 | a2 & 0xffffffffL);
      case CallNumbers.FTRUNCATE:
        return files.truncate(a0, a1);
      case CallNumbers.FSYNC:
      case CallNumbers.FDATASYNC:
        if (Shared.areAny()) {
          Shared.write(0, Integer.MAX_VALUE);
        }
        return files.sync(a0);
      case CallNumbers.MSYNC:
        Shared.write(a0, a0 + a1);
        return 0;
      case CallNumbers.READV:
        return vector(cpu, true, a0, a1, a2);
      case CallNumbers.WRITEV:
        return vector(cpu, false, a0, a1, a2);
      case CallNumbers.PREAD64:
        long from = Memory.readLong(stack + 16);
        return from < 0 ? -Errors.EINVAL : files.read(cpu, a0, a1, a2, from);
      case CallNumbers.PWRITE64:
        long to = Memory.readLong(stack + 16);
        return to < 0 ? -Errors.EINVAL : files.write(cpu, a0, a1, a2, to);
      case CallNumbers.GETDENTS64:
        return files.entries(a0, a1, a2);
      default:
        int result = NameCalls.call(files, number, a0, a1, a2, a3, stack);
        return result != OTHER ? result : elsewhere(cpu, number, a0, a1, a2, a3, stack);
    }
  }

  /** Calls that are not about files. */
  private static int elsewhere(Cpu cpu, int number, int a0, int a1, int a2, int a3, int stack)
      throws IOException {
    switch (number) {
      case CallNumbers.BRK:
        return Maps.heap(a0);
      case CallNumbers.MMAP:
        return map(a0, a1, a2, a3, Memory.readInt(stack + 16), Memory.readInt(stack + 20));
      case CallNumbers.MMAP2:
        long offset = (long) Memory.PAGE * Memory.readInt(stack + 20);
        return map(a0, a1, a2, a3, Memory.readInt(stack + 16), offset);
      case CallNumbers.MUNMAP:
        if (Shared.areAny()) {
          Shared.remove(a0, Maps.end(a0, a1));
        }
        int unmapped = Maps.unmap(a0, a1);
        if (unmapped == 0) {
          Code.protect(a0, a1, false);
        }
        return unmapped;
      case CallNumbers.MREMAP:
        return remap(a0, a1, a2, (a3 & 1) != 0);
      case CallNumbers.MPROTECT:
        Code.protect(a0, a1, (a2 & EXECUTABLE) != 0);
        return 0;
      case CallNumbers.MADVISE:
      case CallNumbers.CACHEFLUSH:
      case CallNumbers.SET_ROBUST_LIST:
      case CallNumbers.SIGALTSTACK:
      case CallNumbers.CHMOD:
      case CallNumbers.FCHMOD:
      case CallNumbers.UTIMENSAT:
      case CallNumbers.UTIMENSAT_TIME64:
      case CallNumbers.PRCTL:
      case CallNumbers.MEMBARRIER:
        return 0;
      case CallNumbers.SCHED_YIELD:
        Thread.yield();
        return 0;
      case CallNumbers.SET_THREAD_AREA:
        cpu.thread = a0;
        return 0;
      case CallNumbers.GETPID:
        return Processes.number(cpu);
      case CallNumbers.GETTID:
        return cpu.number;
      case CallNumbers.SET_TID_ADDRESS:
        cpu.clearAtEnd = a0;
        return cpu.number;
      case CallNumbers.GETPPID:
        return 1;
      case CallNumbers.GETUID:
      case CallNumbers.GETGID:
      case CallNumbers.GETEUID:
      case CallNumbers.GETEGID:
        return USER;
      case CallNumbers.UMASK:
        return 022;
      case CallNumbers.KILL:
        return a0 == Threads.PROCESS || a0 == 0 ? Signals.raise(cpu, a1) : Processes.kill(a0, a1);
      case CallNumbers.TKILL:
        return Signals.send(a0, a1);
      case CallNumbers.TGKILL:
        return a0 == Threads.PROCESS ? Signals.send(a1, a2) : -Errors.ESRCH;
      case CallNumbers.RT_SIGACTION:
        // A process that shares the memory has handlers of its own, until it executes something.
        return Signals.action(a0, cpu.child == null ? a1 : 0, a2, a3);
      case CallNumbers.RT_SIGPROCMASK:
        return Signals.mask(cpu, a0, a1, a2, a3);
      case CallNumbers.RT_SIGPENDING:
        return Signals.pending(cpu, a0);
      case CallNumbers.UNAME:
        return name(a0);
      case CallNumbers.FUTEX:
        return Waits.futex(cpu, a0, a1, a2, a3, stack, false);
      case CallNumbers.FUTEX_TIME64:
        return Waits.futex(cpu, a0, a1, a2, a3, stack, true);
      case CallNumbers.GETRANDOM:
        return random(a0, a1);
      case CallNumbers.SCHED_GETAFFINITY:
        Memory.clear(a2, Math.max(4, a1 & ~3));
        Memory.writeInt(a2, -1 >>> Math.max(0, 32 - Runtime.getRuntime().availableProcessors()));
        return 4;
      case CallNumbers.POLL:
        return Poll.poll(cpu, a0, a1, a2 < 0 ? Waits.EVER : a2 * 1000000L);
      case CallNumbers.PPOLL:
      case CallNumbers.PPOLL_TIME64:
        boolean isLong = number == CallNumbers.PPOLL_TIME64;
        return Signals.masked(cpu, a3, stack, () -> Poll.poll(cpu, a0, a1, until(a2, isLong)));
      case CallNumbers._NEWSELECT:
        int at = Memory.readInt(stack + 16);
        long nanos = at == 0 ? Waits.EVER : Clocks.micros(at);
        return Poll.select(cpu, a0, new int[] {a1, a2, a3}, nanos);
      case CallNumbers.PSELECT6:
      case CallNumbers.PSELECT6_TIME64:
        int held = Memory.readInt(stack + 20);
        long rest = until(Memory.readInt(stack + 16), number == CallNumbers.PSELECT6_TIME64);
        return Signals.masked(
            cpu, held == 0 ? 0 : Memory.readInt(held), stack, () -> Poll.select(cpu, a0, new int[] {a1, a2, a3}, rest));
      case CallNumbers.EVENTFD2:
        return files.add(Open.endpoint(new EventCounter(a0, (a1 & 1) != 0), a1));
      case CallNumbers.EPOLL_CREATE:
        return a0 <= 0 ? -Errors.EINVAL : files.add(Open.endpoint(new Epoll(), 0));
      case CallNumbers.EPOLL_CREATE1:
        return files.add(Open.endpoint(new Epoll(), 0));
      case CallNumbers.EPOLL_CTL:
        return epoll(a0) == null ? -Errors.EBADF : epoll(a0).control(a1, a2, a3);
      case CallNumbers.EPOLL_WAIT:
      case CallNumbers.EPOLL_PWAIT:
        Epoll epoll = epoll(a0);
        int mask = number == CallNumbers.EPOLL_PWAIT ? Memory.readInt(stack + 16) : 0;
        return epoll == null
            ? -Errors.EBADF
            : Signals.masked(cpu, mask, stack, () -> epoll.await(cpu, a1, a2, a3 < 0 ? Waits.EVER : a3 * 1000000L));
      case CallNumbers.RT_SIGSUSPEND:
        return Signals.masked(cpu, a0, stack, () -> Signals.suspend(cpu, stack));
      case CallNumbers.PAUSE:
        return Signals.suspend(cpu, stack);
      case CallNumbers.GETRLIMIT:
        Memory.writeInt(a1, a0 == 3 ? Limits.THREAD_STACK : 0x7fffffff);
        Memory.writeInt(a1 + 4, 0x7fffffff);
        return 0;
      case CallNumbers.PRLIMIT64:
        if (a3 != 0) {
          Memory.writeLong(a3, a1 == 3 ? Limits.THREAD_STACK : -1);
          Memory.writeLong(a3 + 8, -1);
        }
        return 0;
      case CallNumbers.RSEQ: // C libraries do without it
        return -Errors.ENOSYS;
      case CallNumbers.SYSINFO:
        Memory.clear(a0, 64);
        Memory.writeInt(a0 + 16, Memory.END);
        Memory.writeInt(a0 + 52, 1);
        return 0;
      default:
        int result = Clocks.call(cpu, number, a0, a1, a2, a3);
        // Last, so that programs without sockets load nothing for them.
        result = result == OTHER ? Sockets.call(cpu, number, a0, a1, a2, a3, stack) : result;
        return result == OTHER ? unknown(number) : result;
    }
  }

  private static Epoll epoll(int file) {
    Open open = files.find(file);
    return open != null && open.endpoint instanceof Epoll ? (Epoll) open.endpoint : null;
  }

  /** The time at an address, in nanoseconds; for ever where there is none. */
  private static long until(int address, boolean wide) {
    return address == 0 ? Waits.EVER : Clocks.time(address, wide);
  }

  /** {@code ioctl}: how much there is to read, and whether reading may wait. Nothing is a terminal. */
  private static int inputOutputControl(int file, int request, int address) {
    Open open = files.find(file);
    if (open == null) {
      return -Errors.EBADF;
    }
    if (request == 0x467f && (open.pipe != null || open.endpoint != null)) { // FIONREAD
      Memory.writeInt(address, open.pipe != null ? open.pipe.available() : open.endpoint.available());
      return 0;
    }
    if (request == 0x667e && open.names == null) { // FIONBIO
      boolean waits = Memory.readInt(address) == 0;
      open.flags = waits ? open.flags & ~Open.NONBLOCK : open.flags | Open.NONBLOCK;
      return 0;
    }
    return -Errors.ENOTTY;
  }

  private static int unknown(int number) {
    synchronized (unknown) {
      unknown.merge(number, 1, Integer::sum);
    }
    return -Errors.ENOSYS;
  }

  /** Numbers of the calls that there are none of, and how often each was made. */
  static Map<Integer, Integer> unknown() {
    return unknown;
  }

  private static int seek(int file, long offset, int result, int whence) throws IOException {
    long position = files.seek(file, offset, whence);
    if (position < 0) {
      return (int) position;
    }
    Memory.writeLong(result, position);
    return 0;
  }

  private static int vector(Cpu cpu, boolean reads, int file, int address, int count) throws IOException {
    int total = 0;
    for (int i = 0; i < count; i++) {
      int at = Memory.readInt(address + 8 * i);
      int length = Memory.readInt(address + 8 * i + 4);
      if (length == 0) {
        continue;
      }
      int done = reads ? cpu.files.read(cpu, file, at, length, Files.NEXT) : cpu.files.write(cpu, file, at, length, Files.NEXT);
      if (done < 0) {
        return total > 0 ? total : done;
      }
      total += done;
      if (done < length) {
        break;
      }
    }
    return total;
  }

  private static int map(int address, int length, int protection, int flags, int file, long offset)
      throws IOException {
    boolean anonymous = (flags & 0x800) != 0;
    boolean isFixed = (flags & 0x10) != 0;
    Open open = anonymous ? null : mapped(file, protection, (flags & 3) != PRIVATE, offset);
    if (isFixed && Shared.areAny()) {
      Shared.remove(address, Maps.end(address, length));
    }
    int at = Maps.map(address, length, isFixed);
    if (isError(at)) {
      return at;
    }
    if (open != null) {
      Shared.add(at, Maps.end(at, length) - at, open, offset, (flags & 3) != PRIVATE);
    }
    Code.protect(at, length, (protection & EXECUTABLE) != 0);
    return at;
  }

  /** The file of a number, if it can be mapped so. */
  private static Open mapped(int file, int protection, boolean isShared, long offset) throws IOException {
    Open open = files.find(file);
    if (open == null) {
      throw new LinuxException(Errors.EBADF);
    }
    if (!open.mayRead() || isShared && (protection & WRITABLE) != 0 && !open.mayWrite()) {
      throw new LinuxException(Errors.EACCES);
    }
    if (open.channel == null || offset < 0 || offset % Memory.PAGE != 0) {
      throw new LinuxException(open.channel == null ? Errors.ENODEV : Errors.EINVAL);
    }
    return open;
  }

  private static boolean isError(int result) {
    return result < 0 && result > -4096;
  }

  private static int remap(int address, int length, int wanted, boolean mayMove) throws IOException {
    int end = Maps.end(address, length);
    if (Shared.areAny() && wanted < length) {
      Shared.remove(Maps.end(address, wanted), end);
    }
    int at = Maps.remap(address, length, wanted, mayMove);
    if (!isError(at) && Shared.areAny()) {
      Shared.move(address, Math.min(end, Maps.end(address, wanted)), at, Maps.end(at, wanted));
    }
    return at;
  }

  private static int random(int address, int length) {
    byte[] bytes = randomBytes(Math.max(0, Math.min(length, 1 << 16)));
    Memory.writeBytes(address, bytes);
    return bytes.length;
  }

  /** Random bytes of the operating system's. {@code SecureRandom} loads many classes, and is for where there is no such device. */
  static byte[] randomBytes(int count) {
    byte[] bytes = new byte[count];
    try (InputStream device = new FileInputStream("/dev/urandom")) {
      if (device.readNBytes(bytes, 0, count) == count) {
        return bytes;
      }
    } catch (IOException e) {
      // This operating system has another way.
    }
    new java.security.SecureRandom().nextBytes(bytes);
    return bytes;
  }

  private static int name(int address) {
    String[] names = {"Linux", "java", "6.1.0", "trimtab", "mips", "(none)"};
    Memory.clear(address, 65 * names.length);
    for (int i = 0; i < names.length; i++) {
      Memory.writeBytes(address + 65 * i, names[i].getBytes(StandardCharsets.UTF_8));
    }
    return 0;
  }
}
