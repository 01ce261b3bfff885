// SPDX-License-Identifier: MIT OR Apache-2.0
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.example.Host;
import trimtab.embed.FileTree;
import trimtab.embed.MemoryFiles;
import trimtab.embed.Program;
import trimtab.embed.ProgramException;
import trimtab.embed.Running;
import trimtab.embed.Settings;

/** Runs the program of lib.c: a jar that does not count instructions, and one that does. */
public final class Embed {
  static final String USUAL = "5 1099511627779.750 1.50 4\n3\njava.lang.IllegalStateException: other\n0 38\n";

  static void same(Object found, Object expected) {
    if (!found.equals(expected)) {
      throw new AssertionError(found + ", expected " + expected);
    }
  }

  static Settings settings(String... arguments) {
    return new Settings().memory(24).arguments(arguments).functions(Host.functions(new Functions()));
  }

  public static void main(String[] args) throws Exception {
    Program plain = Program.load(Path.of(args[0]));
    Program metered = Program.load(Path.of(args[1]));
    for (Program program : List.of(plain, metered)) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      same(program.run(settings().out(out)), 7);
      same(out.toString(), USUAL);
    }
    files(plain);
    memory();
    many(plain);
    leaks(plain);
    ends(plain);
    limits(plain, metered);
    processes(plain);
    System.out.println("all is well");
  }

  static void files(Program program) throws Exception {
    MemoryFiles files = new MemoryFiles().put("given", "some text\nmore\n".getBytes()).put("/made/x", new byte[0]);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    same(program.run(settings("write").out(out).files(files)), 7);
    same(out.toString(), USUAL + "7\nsome text\n\n");
    same(new String(files.get("/made/file")), "written");
    Path folder = Files.createTempDirectory("embed");
    Files.createDirectory(folder.resolve("made"));
    out.reset();
    same(program.run(settings("write").out(out).files(FileTree.readOnly(folder))), 7);
    same(out.toString(), USUAL + "-1\nnone\n");
    out.reset();
    same(program.run(settings("write").out(out).files(FileTree.writable(folder))), 7);
    same(out.toString(), USUAL + "7\nnone\n");
    same(Files.readString(folder.resolve("made/file")), "written");
    Files.delete(folder.resolve("made/file"));
    Files.delete(folder.resolve("made"));
    Files.delete(folder);
    out.reset();
    same(program.run(settings("write").out(out).files(new MemoryFiles(650).put("made/x", new byte[0]))), 7);
    same(out.toString(), USUAL + "7\nnone\n");
  }

  /** Neither files that have no name any more, nor names without bytes, take more than the limit. */
  static void memory() throws Exception {
    Set<OpenOption> create = Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE);
    MemoryFiles files = new MemoryFiles(10_000);
    SeekableByteChannel gone = files.open("/gone", create);
    same(gone.write(ByteBuffer.allocate(6000)), 6000);
    files.delete("/gone");
    refused(() -> files.put("other", new byte[6000]));
    gone.close();
    gone.close();
    files.put("other", new byte[6000]);
    files.delete("/other");
    refused(
        () -> {
          for (int i = 0; i < 100; i++) {
            files.put("empty" + i, new byte[0]);
          }
        });
    int names = files.list("/").size();
    same(names > 40 && names < 50, true);
    files.move("/empty0", "/empty1");
    same(files.list("/").size(), names - 1);
    files.createDirectory("/made");
    refused(() -> files.open("/made", create));
    refused(() -> files.move("/made", "/empty1"));
    files.move("/made", "/moved");
    same(files.info("/moved").isDirectory(), true);
  }

  interface Code {
    void run() throws IOException;
  }

  static void refused(Code code) {
    try {
      code.run();
    } catch (IOException e) {
      return;
    }
    throw new AssertionError("nothing was thrown");
  }

  static void many(Program program) throws Exception {
    List<Running> running = new ArrayList<>();
    List<ByteArrayOutputStream> outs = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      outs.add(out);
      running.add(program.start(settings().out(out)));
    }
    for (int i = 0; i < 8; i++) {
      same(running.get(i).await(), 7);
      same(outs.get(i).toString(), USUAL);
    }
  }

  /** More memory in all than the JVM has: what has ended is collected. */
  static void leaks(Program program) {
    for (int i = 0; i < 40; i++) {
      same(program.run(settings()), 7);
    }
  }

  static void ends(Program program) throws Exception {
    // What Java throws goes through the program to who runs it.
    try {
      program.run(settings("fail"));
      throw new AssertionError();
    } catch (IllegalStateException e) {
      same(e.getMessage(), "two");
    }
    try {
      program.start(settings("fail")).await();
      throw new AssertionError();
    } catch (ProgramException e) {
      same(e.getCause().getMessage(), "two");
    }
    // One that has not quite begun is stopped.
    for (int i = 0; i < 10; i++) {
      Running running = program.start(settings("spin"));
      running.stop();
      same(running.await(), 137);
    }
    // One that waits for input is stopped, and so is one that computes.
    for (String how : List.of("read", "spin")) {
      try (PipedOutputStream feed = new PipedOutputStream();
          InputStream in = new PipedInputStream(feed)) {
        Running running = program.start(settings(how).in(in));
        Thread.sleep(100);
        same(running.isAlive(), true);
        running.stop();
        same(running.await(), 137);
      }
    }
    same(program.run(settings("spin").time(Duration.ofMillis(100))), 158);
    Thread.currentThread().interrupt();
    same(program.run(settings("spin")), 130);
    same(Thread.interrupted(), true);
  }

  static void limits(Program plain, Program metered) throws Exception {
    try {
      plain.run(settings().instructions(1000));
      throw new AssertionError();
    } catch (IllegalArgumentException e) {
      same(e.getMessage().contains("--metered"), true);
    }
    same(metered.run(settings().instructions(1000)), 158);
    same(metered.run(settings().instructions(10_000_000)), 7);
    same(metered.run(settings("spin").instructions(10_000_000)), 158);
    // A thread that computes is gone soon after the program's end.
    Running running = metered.start(settings("spin").name("spinning"));
    Thread.sleep(100);
    running.stop();
    same(running.await(), 137);
    for (int i = 0; i < 100 && spins(); i++) {
      Thread.sleep(20);
    }
    same(spins(), false);
  }

  static boolean spins() {
    return isThere("spinning");
  }

  static boolean isThere(String name) {
    return Thread.getAllStackTraces().keySet().stream().anyMatch(thread -> thread.getName().startsWith(name));
  }

  static Settings nest(Program program, InputStream in) {
    return settings("nest").program("/self", () -> program).in(in);
  }

  /** What a program starts gets its input, and ends with it. */
  static void processes(Program program) throws Exception {
    same(program.run(settings("nest")), 99);
    same(program.run(nest(program, InputStream.nullInputStream())), 4);
    same(program.run(nest(program, new ByteArrayInputStream(new byte[1]))), 3);
    same(program.run(nest(program, InputStream.nullInputStream()).program("/self", Embed::damaged)), 99);
    try (PipedOutputStream feed = new PipedOutputStream();
        InputStream in = new PipedInputStream(feed)) {
      same(program.run(nest(program, in).time(Duration.ofMillis(600))), 158);
      Running running = program.start(nest(program, in));
      for (int i = 0; i < 500 && !isThere("self"); i++) {
        Thread.sleep(20);
      }
      same(isThere("self"), true);
      running.stop();
      same(running.await(), 137);
      for (int i = 0; i < 500 && isThere("process "); i++) {
        Thread.sleep(20);
      }
      same(isThere("process "), false);
    }
  }

  static Program damaged() {
    throw new UncheckedIOException(new IOException("damaged"));
  }
}
