// SPDX-License-Identifier: MIT OR Apache-2.0
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.example.Host;
import org.example.Lib;
import trimtab.embed.Arena;
import trimtab.embed.ProgramException;
import trimtab.embed.ProgramExit;
import trimtab.embed.ProgramFault;
import trimtab.embed.Settings;

/** Uses the functions of lib.c in every way that the manual names. */
public final class Use {
  static void check(boolean holds, Object found) {
    if (!holds) {
      throw new AssertionError(found);
    }
  }

  static void same(Object found, Object expected) {
    check(found.equals(expected), found + ", expected " + expected);
  }

  interface Code {
    void run() throws Exception;
  }

  static <T extends Throwable> T thrown(Class<T> type, Code code) throws Exception {
    try {
      code.run();
    } catch (Throwable thrown) {
      check(type.isInstance(thrown), thrown);
      return type.cast(thrown);
    }
    throw new AssertionError("nothing was thrown");
  }

  public static void main(String[] args) throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    Java java = new Java();
    Lib lib = new Lib(new Settings().out(out).functions(Host.functions(java)));
    java.lib = lib;
    calls(lib);
    callbacks(lib);
    exceptions(lib, out);
    objects(lib);
    threads(lib);
    instances(lib, out);
    System.out.println("all is well");
  }

  static void calls(Lib lib) throws Exception {
    int counter = lib.counter_new("a name", 5);
    same(lib.counter_add(counter, -2), 3);
    same(lib.string(lib.counter_name(counter)), "a name");
    lib.counter_free(counter);
    same(lib.weigh(1.5, 2.5f, 3, 4.25, 50L), 1500 + 250 + 30 + 4.25 + 5);
    same(lib.half(3f), 1.5f);
    same(lib.wide(1, 1L << 40, 3, -(1L << 36)), 1 + 10 * (1L << 40) + 300 - 1000 * (1L << 36));
    same(lib.many(1, 2, 3, 4, 5, 6), 123456);
    int address = lib.alloc(16);
    lib.memory().putLong(address + 3, 0x1122334455667788L);
    same(lib.memory().getInt(address + 7), 0x11223344);
    same(lib.memory().bytes(address, 4)[3], (byte) 0x88);
    lib.free(address);
    same(lib.string((String) null), 0);
  }

  static void callbacks(Lib lib) throws Exception {
    int counter = lib.counter_new("x", 4);
    try (Arena arena = lib.arena()) {
      List<String> seen = new ArrayList<>();
      int function =
          arena.function(
              c -> {
                int data = c.pointer();
                int value = c.integer();
                seen.add(data + ":" + value + ":" + c.real());
                // And into the library again.
                return lib.many(0, 0, 0, 0, 0, value);
              });
      same(lib.each(counter, function, 77), 6);
      same(seen, List.of("77:0:0.0", "77:1:0.5", "77:2:1.0", "77:3:1.5"));
      int real = arena.function(c -> c.result(c.real() + 10 * c.single() + 100 * c.integer() + 1000 * c.real()));
      same(lib.each_real(real, 3), 3 * (1 + 20 + 300 + 4000.0));
    }
    int gone = lib.function(c -> 0);
    lib.release(gone);
    same(thrown(ProgramFault.class, () -> lib.each(counter, gone, 0)).signal(), 11);
    // There are enough addresses for a program that never ends, and old ones lead nowhere for some time.
    for (int i = 0; i < 9_000_000; i++) {
      lib.release(lib.function(c -> 0));
    }
    int old = lib.function(c -> 0);
    lib.release(old);
    check(lib.function(c -> 1) != old, "the same address");
    lib.counter_free(counter);
  }

  static void exceptions(Lib lib, ByteArrayOutputStream out) throws Exception {
    ProgramFault fault = thrown(ProgramFault.class, () -> lib.crash(0));
    same(fault.signal(), 11);
    check(fault.getStackTrace().length > 0, fault);
    boolean named = false;
    for (StackTraceElement frame : fault.getStackTrace()) {
      named |= frame.getMethodName().equals("crash");
    }
    check(named, List.of(fault.getStackTrace()));
    same(lib.nested(5), 5);
    // Through five functions of C and of Java.
    same(thrown(IOException.class, () -> lib.nested(1000)).getMessage(), "deep enough");
    same(lib.caught(0), 0);
    out.reset();
    same(lib.caught(2), "java.lang.IllegalStateException: two".length());
    same(out.toString(), "java.lang.IllegalStateException: two\n");
    same(thrown(ProgramException.class, () -> lib.caught(3)).getMessage(), "from C");
    same(lib.handles().size(), 0);
  }

  static void objects(Lib lib) throws Exception {
    Object object = new Object();
    check(lib.keep(object) == object, "another object");
    same(lib.handles().size(), 1);
    check(lib.kept() == object, "another object");
    lib.forget();
    same(lib.handles().size(), 0);
    thrown(IllegalArgumentException.class, () -> lib.handles().release(1 << 20));
  }

  static void threads(Lib lib) throws Exception {
    List<Thread> threads = new ArrayList<>();
    int counter = lib.counter_new("shared", 0);
    for (int i = 0; i < 4; i++) {
      Thread thread =
          new Thread(
              () -> {
                for (int j = 0; j < 1000; j++) {
                  lib.counter_add(counter, 1);
                }
              });
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    same(lib.counter_add(counter, 0), 4000);
  }

  static void instances(Lib lib, ByteArrayOutputStream out) throws Exception {
    same(lib.instances(), 100);
    same(lib.instances(), 101);
    try (Lib other = new Lib()) {
      same(other.instances(), 100);
      same(thrown(ProgramExit.class, () -> other.leave(3)).status(), 3);
      check(other.isClosed(), "still there");
      same(thrown(ProgramExit.class, () -> other.half(1f)).status(), 3);
    }
    try (Lib other = new Lib()) {
      same(thrown(ProgramExit.class, () -> other.leave_thread(4)).status(), 4);
    }
    try (Lib other = new Lib()) {
      same(thrown(ProgramExit.class, () -> other.crash(1)).status(), 134);
    }
    out.reset();
    lib.say("said");
    same(out.toString(), "said\n");
    lib.close();
    same(out.toString(), "said\nthe end\n");
    thrown(ProgramExit.class, () -> lib.say("late"));
  }

  static final class Java extends Functions {
    Lib lib;

    @Override
    public int java_again(int depth) {
      if (depth == 990) {
        Use.<RuntimeException>raise(new IOException("deep enough"));
      }
      return lib.nested(depth);
    }
  }

  @SuppressWarnings("unchecked")
  static <T extends Throwable> void raise(Throwable thrown) throws T {
    throw (T) thrown;
  }
}
