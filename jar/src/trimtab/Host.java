// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;
import trimtab.embed.Callback;
import trimtab.embed.Handles;
import trimtab.embed.Machine;
import trimtab.embed.ProgramExit;
import trimtab.embed.ProgramFault;
import trimtab.embed.Settings;

/** The program of this class loader, as {@link Machine} has it. */
public final class Host implements Machine {
  /** Held by the thread of Java's that is in the program, as the program's first thread. */
  private static final ReentrantLock lock = new ReentrantLock();

  /** Open when there are threads that can be told to end, or will be none. */
  private static final CountDownLatch begun = new CountDownLatch(1);

  /** Open when the program would run {@code main}, or has ended. */
  private static final CountDownLatch ready = new CountDownLatch(1);

  /** Open when the program is to end. */
  private static final CountDownLatch closing = new CountDownLatch(1);

  /** The program's first thread, which calls from Java borrow. */
  private static volatile Cpu home;

  /** For {@link trimtab.embed.Program}. */
  public Host() {}

  /** What runs in the place of {@code main} where Java calls functions: waits until the program is to end. */
  static long atMain(Cpu cpu) {
    // It only computes while Java calls.
    cpu.usage.pause();
    home = cpu;
    ready.countDown();
    while (true) {
      try {
        closing.await();
        return 0;
      } catch (InterruptedException e) {
        // Nobody knows this thread.
      }
    }
  }

  /** The program has ended. */
  static void atEnd() {
    ready.countDown();
    closing.countDown();
  }

  private static void begin(Settings settings, boolean isLibrary) {
    // Before any other class of the run time looks at it.
    Limits.set(settings);
    try {
      Program.begin(settings, isLibrary);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      begun.countDown();
    }
    if (settings.time() != null) {
      long millis = settings.time().toMillis();
      Thread watch = new Thread(() -> expire(millis), "time of a program");
      watch.setDaemon(true);
      watch.start();
    }
  }

  private static void expire(long millis) {
    // A program in its place has what is left of the time.
    if (!Threads.endsWithin(millis)) {
      Threads.end(128 + Signals.XCPU, null);
    }
  }

  @Override
  public int run(Settings settings) {
    begin(settings, false);
    try {
      return Threads.status();
    } finally {
      if (settings.isStrict()) {
        Linux.files.complainOfGaps();
      }
      Shared.writeAll();
      Linux.files.closeAll();
    }
  }

  @Override
  public void stop() {
    await(begun);
    Threads.end(128 + Signals.KILL, null);
    Processes.Execution next = Threads.successor();
    if (next != null) {
      next.machine.stop();
    }
  }

  @Override
  public void open(Settings settings) {
    begin(settings, true);
    await(ready);
    if (home == null) {
      throw new ProgramExit(Threads.status());
    }
  }

  @Override
  public void close() {
    if (Threads.current() != null || lock.getHoldCount() > 0) {
      throw new IllegalStateException("a function that the program calls cannot close it");
    }
    lock.lock();
    try {
      closing.countDown();
      Threads.status();
      Shared.writeAll();
      Linux.files.closeAll();
      Java.handles.clear();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean isClosed() {
    return Threads.hasEnded();
  }

  /** Waits for what comes soon, also where the thread is interrupted. */
  private static void await(CountDownLatch latch) {
    boolean interrupted = false;
    while (true) {
      try {
        latch.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** The thread of the program's that calls: one of its own, or the first one, which then must be let go. */
  private static Cpu enter() {
    Cpu own = Threads.current();
    if (own != null) {
      return own;
    }
    lock.lock();
    if (Threads.hasEnded()) {
      lock.unlock();
      throw new ProgramExit(Threads.status());
    }
    home.usage.resume();
    return home;
  }

  private static void leave() {
    if (lock.isHeldByCurrentThread()) {
      home.usage.pause();
      lock.unlock();
    }
  }

  @Override
  public long call(int function, int a0, int a1, int a2, int a3) {
    Cpu cpu = enter();
    int top = cpu.top;
    try {
      return Functions.call(cpu, function, a0, a1, a2, a3, Java.below(top));
    } catch (Throwable thrown) {
      throw failed(cpu, thrown);
    } finally {
      cpu.top = top;
      leave();
    }
  }

  @Override
  public long call(int function, double f12, double f14, int[] words) {
    return call(function, f12, f14, words, false);
  }

  @Override
  public double callReal(int function, double f12, double f14, int[] words) {
    return Double.longBitsToDouble(call(function, f12, f14, words, true));
  }

  /** With any arguments; the result is that of integers, or the bits of the floating-point one. */
  private static long call(int function, double f12, double f14, int[] words, boolean isReal) {
    Cpu cpu = enter();
    int top = cpu.top;
    try {
      long result = wide(cpu, function, f12, f14, words);
      return isReal ? Double.doubleToRawLongBits(cpu.v98) : result;
    } catch (Throwable thrown) {
      throw failed(cpu, thrown);
    } finally {
      cpu.top = top;
      leave();
    }
  }

  private static long wide(Cpu cpu, int function, double f12, double f14, int[] words) {
    int stack = Java.below(cpu.top - 4 * words.length);
    for (int i = 4; i < words.length; i++) {
      Memory.writeInt(stack + 4 * i, words[i]);
    }
    cpu.v104 = f12;
    cpu.v105 = f14;
    return Functions.call(cpu, function, word(words, 0), word(words, 1), word(words, 2), word(words, 3), stack);
  }

  private static int word(int[] words, int at) {
    return at < words.length ? words[at] : 0;
  }

  /** What Java hears of what went through all functions of the program's. */
  private static RuntimeException failed(Cpu cpu, Throwable thrown) {
    if (Threads.current() != null) {
      // A thread of the program's own: what lies below on its stack may be what this is for.
      return Program.sneaky(thrown);
    }
    if (thrown instanceof Exit) {
      Threads.end((Exit) thrown);
      return new ProgramExit(Threads.status());
    }
    int signal = Signals.of(thrown);
    return signal == 0 ? Program.sneaky(thrown) : new ProgramFault(signal, thrown);
  }

  @Override
  public trimtab.embed.Memory memory() {
    return Java.memory;
  }

  @Override
  public Handles handles() {
    return Java.handles;
  }

  @Override
  public int function(int address, Callback callback) {
    return Java.add(address, callback);
  }

  @Override
  public void release(int address) {
    Java.remove(address);
  }
}
