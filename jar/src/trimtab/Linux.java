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
        return result < 0 && result > -4096 ? 1L << 32 | -result : result & 0xffffffffL;
      }
    }
  }

  /** Whether a call goes on behind handlers that want it: reading, and waiting without an end. */
  private static boolean restarts(int number, int a3) {
    switch (number) {
      case 4003: // read
      case 4004: // write
      case 4145: // readv
      case 4146: // writev
      case 4168: // accept
      case 4334: // accept4
      case 4175: // recv
      case 4176: // recvfrom
      case 4177: // recvmsg
      case 4007: // waitpid
      case 4114: // wait4
        return true;
      case 4238: // futex
      case 4422: // futex_time64
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
      case 4001: // exit
        return Processes.exit(cpu, a0 & 255, false);
      case 4246: // exit_group
        return Processes.exit(cpu, a0 & 255, true);
      case 4120: // clone
        return Threads.clone(cpu, a0, a1, a2, a3, Memory.readInt(stack + 16), stack);
      case Processes.VFORK:
        return Processes.fork(cpu, a3, stack);
      case 4011: // execve
        return Limits.programs.isEmpty() ? unknown(number) : Processes.execute(cpu, Memory.string(a0), a1, a2);
      case 4007: // waitpid
        return Processes.await(cpu, a0, a1, a2, 0);
      case 4114: // wait4
        return Processes.await(cpu, a0, a1, a2, a3);
      case 4003: // read
        return files.read(cpu, a0, a1, a2, -1);
      case 4004: // write
        return files.write(cpu, a0, a1, a2, -1);
      case 4005: // open
        return files.open(Memory.string(a0), a1);
      case 4288: // openat
        return files.open(Memory.string(a1), a2);
      case 4006: // close
        return files.close(a0);
      case 4010: // unlink
        return files.remove(Memory.string(a0), false);
      case 4294: // unlinkat
        return files.remove(Memory.string(a1), (a2 & 0x200) != 0);
      case 4040: // rmdir
        return files.remove(Memory.string(a0), true);
      case 4038: // rename
        return files.rename(Memory.string(a0), Memory.string(a1));
      case 4295: // renameat
      case 4351: // renameat2
        return files.rename(Memory.string(a1), Memory.string(a3));
      case 4039: // mkdir
        return files.makeDirectory(Memory.string(a0));
      case 4289: // mkdirat
        return files.makeDirectory(Memory.string(a1));
      case 4012: // chdir
        return files.enter(Memory.string(a0));
      case 4203: // getcwd
        return files.currentDirectory(a0, a1);
      case 4033: // access
        return files.access(Memory.string(a0), a1);
      case 4300: // faccessat
      case 4439: // faccessat2
        return files.access(Memory.string(a1), a2);
      case 4019: // lseek
        return (int) files.seek(a0, a1, a2);
      case 4140: // _llseek
        return seek(a0, (long) a1 << 32 | a2 & 0xffffffffL, a3, Memory.readInt(stack + 16));
      case 4041: // dup
        return files.duplicate(a0, 0, false);
      case 4063: // dup2
      case 4327: // dup3
        return files.duplicate(a0, a1, true);
      case 4328: // pipe2
        return files.pipe(a0, a1);
      case 4054: // ioctl
        return inputOutputControl(a0, a1, a2);
      case 4055: // fcntl
      case 4220: // fcntl64
        return files.control(a0, a1, a2);
      case 4212: // ftruncate64
        return files.truncate(a0, (long) a3 << 32 | a2 & 0xffffffffL);
      case 4093: // ftruncate
        return files.truncate(a0, a1);
      case 4118: // fsync
      case 4152: // fdatasync
        if (Shared.areAny()) {
          Shared.write(0, Integer.MAX_VALUE);
        }
        return files.sync(a0);
      case 4144: // msync
        Shared.write(a0, a0 + a1);
        return 0;
      case 4145: // readv
        return vector(cpu, true, a0, a1, a2);
      case 4146: // writev
        return vector(cpu, false, a0, a1, a2);
      case 4200: // pread64
        return files.read(cpu, a0, a1, a2, Memory.readLong(stack + 16));
      case 4201: // pwrite64
        return files.write(cpu, a0, a1, a2, Memory.readLong(stack + 16));
      case 4213: // stat64
      case 4214: // lstat64
        return files.status(-1, Memory.string(a0)).write(a1);
      case 4215: // fstat64
        return files.status(a0, null).write(a1);
      case 4293: // fstatat64
        return (a3 & 0x1000) != 0 && Memory.readByte(a1) == 0
            ? files.status(a0, null).write(a2)
            : files.status(-1, Memory.string(a1)).write(a2);
      case 4366: // statx
        return (a2 & 0x1000) != 0 && Memory.readByte(a1) == 0
            ? files.status(a0, null).writeExtended(Memory.readInt(stack + 16))
            : files.status(-1, Memory.string(a1)).writeExtended(Memory.readInt(stack + 16));
      case 4219: // getdents64
        return files.entries(a0, a1, a2);
      case 4085: // readlink
      case 4298: // readlinkat
        return -Errors.EINVAL;
      default:
        return elsewhere(cpu, number, a0, a1, a2, a3, stack);
    }
  }

  /** Calls that are not about files. */
  private static int elsewhere(Cpu cpu, int number, int a0, int a1, int a2, int a3, int stack)
      throws IOException {
    switch (number) {
      case 4045: // brk
        return Maps.heap(a0);
      case 4090: // mmap
        return map(a0, a1, a2, a3, Memory.readInt(stack + 16), Memory.readInt(stack + 20));
      case 4210: // mmap2
        return map(a0, a1, a2, a3, Memory.readInt(stack + 16), 4096L * Memory.readInt(stack + 20));
      case 4091: // munmap
        if (Shared.areAny()) {
          Shared.remove(a0, Maps.end(a0, a1));
        }
        int unmapped = Maps.unmap(a0, a1);
        if (unmapped == 0) {
          Code.protect(a0, a1, false);
        }
        return unmapped;
      case 4167: // mremap
        return remap(a0, a1, a2, (a3 & 1) != 0);
      case 4125: // mprotect
        Code.protect(a0, a1, (a2 & EXECUTABLE) != 0);
        return 0;
      case 4218: // madvise
      case 4147: // cacheflush
      case 4309: // set_robust_list
      case 4206: // sigaltstack
      case 4015: // chmod
      case 4094: // fchmod
      case 4316: // utimensat
      case 4412: // utimensat_time64
      case 4192: // prctl
      case 4358: // membarrier
        return 0;
      case 4162: // sched_yield
        Thread.yield();
        return 0;
      case 4283: // set_thread_area
        cpu.thread = a0;
        return 0;
      case 4020: // getpid
        return Processes.number(cpu);
      case 4222: // gettid
        return cpu.number;
      case 4252: // set_tid_address
        cpu.clearAtEnd = a0;
        return cpu.number;
      case 4064: // getppid
        return 1;
      case 4024: // getuid
      case 4047: // getgid
      case 4049: // geteuid
      case 4050: // getegid
        return USER;
      case 4060: // umask
        return 022;
      case 4037: // kill
        return a0 == Threads.PROCESS || a0 == 0 ? Signals.raise(cpu, a1) : Processes.kill(a0, a1);
      case 4236: // tkill
        return Signals.send(a0, a1);
      case 4266: // tgkill
        return a0 == Threads.PROCESS ? Signals.send(a1, a2) : -Errors.ESRCH;
      case 4194: // rt_sigaction
        // A process that shares the memory has handlers of its own, until it executes something.
        return Signals.action(a0, cpu.child == null ? a1 : 0, a2, a3);
      case 4195: // rt_sigprocmask
        return Signals.mask(cpu, a0, a1, a2, a3);
      case 4196: // rt_sigpending
        return Signals.pending(cpu, a0);
      case 4122: // uname
        return name(a0);
      case 4238: // futex
        return Waits.futex(cpu, a0, a1, a2, a3, stack, false);
      case 4422: // futex_time64
        return Waits.futex(cpu, a0, a1, a2, a3, stack, true);
      case 4353: // getrandom
        return random(a0, a1);
      case 4240: // sched_getaffinity
        Memory.clear(a2, Math.max(4, a1 & ~3));
        Memory.writeInt(a2, -1 >>> Math.max(0, 32 - Runtime.getRuntime().availableProcessors()));
        return 4;
      case 4188: // poll
        return Poll.poll(cpu, a0, a1, a2 < 0 ? Waits.EVER : a2 * 1000000L);
      case 4302: // ppoll
      case 4414: // ppoll_time64
        return Signals.masked(cpu, a3, stack, () -> Poll.poll(cpu, a0, a1, until(a2, number == 4414)));
      case 4142: // _newselect
        int at = Memory.readInt(stack + 16);
        long nanos = at == 0 ? Waits.EVER : Clocks.micros(at);
        return Poll.select(cpu, a0, new int[] {a1, a2, a3}, nanos);
      case 4301: // pselect6
      case 4413: // pselect6_time64
        int held = Memory.readInt(stack + 20);
        long rest = until(Memory.readInt(stack + 16), number == 4413);
        return Signals.masked(
            cpu, held == 0 ? 0 : Memory.readInt(held), stack, () -> Poll.select(cpu, a0, new int[] {a1, a2, a3}, rest));
      case 4325: // eventfd2
        return files.add(Open.endpoint(new EventCounter(a0, (a1 & 1) != 0), a1));
      case 4326: // epoll_create1
        return files.add(Open.endpoint(new Epoll(), 0));
      case 4249: // epoll_ctl
        return epoll(a0) == null ? -Errors.EBADF : epoll(a0).control(a1, a2, a3);
      case 4250: // epoll_wait
      case 4313: // epoll_pwait
        Epoll epoll = epoll(a0);
        int mask = number == 4313 ? Memory.readInt(stack + 16) : 0;
        return epoll == null
            ? -Errors.EBADF
            : Signals.masked(cpu, mask, stack, () -> epoll.await(cpu, a1, a2, a3 < 0 ? Waits.EVER : a3 * 1000000L));
      case 4199: // rt_sigsuspend
        return Signals.masked(cpu, a0, stack, () -> Signals.suspend(cpu, stack));
      case 4029: // pause
        return Signals.suspend(cpu, stack);
      case 4076: // getrlimit
        Memory.writeInt(a1, a0 == 3 ? Limits.THREAD_STACK : 0x7fffffff);
        Memory.writeInt(a1 + 4, 0x7fffffff);
        return 0;
      case 4338: // prlimit64
        if (a3 != 0) {
          Memory.writeLong(a3, a1 == 3 ? Limits.THREAD_STACK : -1);
          Memory.writeLong(a3 + 8, -1);
        }
        return 0;
      case 4367: // rseq: C libraries do without it
        return -Errors.ENOSYS;
      case 4116: // sysinfo
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
      int done = reads ? cpu.files.read(cpu, file, at, length, -1) : cpu.files.write(cpu, file, at, length, -1);
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
    // What can be written must be written back; a file that is only read is never changed.
    Open shared = !anonymous && (flags & 3) != PRIVATE ? files.find(file) : null;
    boolean isRead = shared == null || (shared.flags & 3) != 2;
    if (shared != null && isRead && (protection & WRITABLE) != 0) {
      return -Errors.EACCES;
    }
    byte[] bytes = anonymous ? null : files.contents(file, offset, length);
    if (!anonymous && bytes == null) {
      return -Errors.EBADF;
    }
    if (isFixed && Shared.areAny()) {
      Shared.remove(address, Maps.end(address, length));
    }
    int at = Maps.map(address, length, isFixed);
    if (bytes != null && (at >= 0 || at < -4095)) {
      Memory.writeBytes(at, bytes);
      if (!isRead) {
        Shared.add(at, shared, offset, bytes);
      }
    }
    if (at >= 0 || at < -4095) {
      Code.protect(at, length, (protection & EXECUTABLE) != 0);
    }
    return at;
  }

  private static int remap(int address, int length, int wanted, boolean mayMove) throws IOException {
    if (Shared.areAny()) {
      // What is longer afterwards has only its first part in the file.
      Shared.write(address, Maps.end(address, length));
      if (wanted < length) {
        Shared.remove(Maps.end(address, wanted), Maps.end(address, length));
      }
    }
    int at = Maps.remap(address, length, wanted, mayMove);
    if (at != address && (at >= 0 || at < -4095)) {
      Shared.move(address, at);
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
