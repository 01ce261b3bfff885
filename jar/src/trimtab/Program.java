// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicBoolean;
import trimtab.embed.Settings;

/** The program of this class loader, as it runs. */
public final class Program {
  private static final AtomicBoolean isBegun = new AtomicBoolean();

  private Program() {}

  /**
   * Starts the program. Its memory is that of the class loader, so that this can be done once.
   *
   * @param isLibrary whether its {@code main} stays away, as Java calls its functions
   */
  static void begin(Settings settings, boolean isLibrary) throws IOException {
    if (isBegun.getAndSet(true)) {
      throw new IllegalStateException("the program of this class loader was already started");
    }
    try (InputStream image = Program.class.getResourceAsStream("/program.image")) {
      if (image == null) {
        throw new IOException("the jar is damaged: it has no program.image");
      }
      DataInputStream in = new DataInputStream(image);
      loadClasses(in.readInt());
      Memory.load(in);
    } catch (OutOfMemoryError e) {
      throw new OutOfMemoryError(
          "the program's memory of " + settings.memory() + " MiB does not fit into Java's heap of at most "
              + (Runtime.getRuntime().maxMemory() >> 20)
              + " MiB: start Java with a larger -Xmx, or give the program less with -Dtrimtab.memory=MIB or Settings.memory");
    }
    if (settings.instructions() != Long.MAX_VALUE && !Memory.isMetered) {
      throw new IllegalArgumentException(
          "this program does not count instructions: translate it with --metered, or set no limit of them");
    }
    if (isLibrary) {
      Functions.replaceMain();
    }
    settings.functions().forEach(Java::add);
    Linux.start(new Files(settings));
    String[] arguments = settings.allArguments();
    int stack = stack(arguments, settings.allEnvironment());
    Threads.first(stack, arguments[0]);
  }

  /** Has the program's classes loaded by another thread, as clearing memory takes this one as long. */
  private static void loadClasses(int count) {
    Thread loading =
        new Thread("loading of a program") {
          @Override
          public void run() {
            try {
              for (int i = 0; i < count; i++) {
                Class.forName("program.Code" + i);
              }
            } catch (ClassNotFoundException | LinkageError | OutOfMemoryError e) {
              // Whoever calls a function of it is told.
            }
          }
        };
    loading.setDaemon(true);
    loading.start();
  }

  /** Puts arguments, environment and what the kernel says at the stack's start. */
  private static int stack(String[] args, String[] environment) {
    int at = Memory.END - 64;
    int[] argv = new int[args.length];
    for (int i = 0; i < args.length; i++) {
      at = push(at, args[i]);
      argv[i] = at;
    }
    int[] envp = new int[environment.length];
    for (int i = 0; i < environment.length; i++) {
      at = push(at, environment[i]);
      envp[i] = at;
    }
    at -= 16;
    int random = at;
    Memory.writeBytes(random, Linux.randomBytes(16));
    // Headers, their size and number, size of a page, entry; no privileges; ticks of a clock.
    int[] auxiliary = {
      3, Memory.headers, 4, 32, 5, Memory.headerCount, 6, Memory.PAGE, 9, Memory.entry, 11, 1000,
      12, 1000, 13, 1000, 14, 1000, 16, 0, 17, 100, 23, 0, 25, random, 0, 0
    };
    int words = 1 + argv.length + 1 + envp.length + 1 + auxiliary.length;
    at = (at - 4 * words) & ~15;
    int word = at;
    Memory.writeInt(word, argv.length);
    for (int pointer : argv) {
      Memory.writeInt(word += 4, pointer);
    }
    Memory.writeInt(word += 4, 0);
    for (int pointer : envp) {
      Memory.writeInt(word += 4, pointer);
    }
    Memory.writeInt(word += 4, 0);
    for (int value : auxiliary) {
      Memory.writeInt(word += 4, value);
    }
    return at;
  }

  private static int push(int at, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    at -= bytes.length + 1;
    Memory.writeBytes(at, bytes);
    Memory.writeByte(at + bytes.length, 0);
    return at;
  }

  /** Throws anything where only unchecked exceptions are declared. */
  @SuppressWarnings("unchecked")
  static <T extends Throwable> RuntimeException sneaky(Throwable thrown) throws T {
    throw (T) thrown;
  }
}
