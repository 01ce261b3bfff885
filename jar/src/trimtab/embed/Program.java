// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * A program that {@code trimtab jar} made, of which there can be any number of instances. Each has memory, files and
 * classes of its own: nothing of one is to be seen in another.
 */
public final class Program {
  /** Where a jar has the classes of a program whose functions Java calls. */
  private static final String FOLDER = "META-INF/trimtab/";

  private final Map<String, byte[]> files;

  private Program(Map<String, byte[]> files) {
    this.files = files;
  }

  /** The program of a jar, which need not be on the class path. */
  public static Program load(Path jar) throws IOException {
    Map<String, byte[]> files = new HashMap<>();
    try (ZipFile zip = new ZipFile(jar.toFile())) {
      Enumeration<? extends ZipEntry> entries = zip.entries();
      while (entries.hasMoreElements()) {
        ZipEntry entry = entries.nextElement();
        String name = entry.getName();
        if (name.startsWith(FOLDER)) {
          name = name.substring(name.indexOf('/', FOLDER.length()) + 1);
        }
        if (Isolated.has(name)) {
          try (InputStream in = zip.getInputStream(entry)) {
            files.put(name, in.readAllBytes());
          }
        }
      }
    }
    if (!files.containsKey("program.image")) {
      throw new IOException(jar + " has no program.image: expected a jar that trimtab jar made");
    }
    return new Program(files);
  }

  /** The program that a class with its functions came with. */
  public static Program of(Class<? extends Library> library) {
    Map<String, byte[]> files = new HashMap<>();
    String folder = "/" + FOLDER + library.getName() + "/";
    try {
      String index = new String(read(library, folder + "index"), StandardCharsets.UTF_8);
      for (String name : index.split("\n")) {
        files.put(name, read(library, folder + name));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return new Program(files);
  }

  private static byte[] read(Class<?> library, String name) throws IOException {
    try (InputStream in = library.getResourceAsStream(name)) {
      if (in == null) {
        throw new IOException("the jar of " + library.getName() + " is damaged: it has no " + name);
      }
      return in.readAllBytes();
    }
  }

  /** Runs an instance to its end, and gives its exit status. If the thread is interrupted, the instance ends. */
  public int run(Settings settings) {
    return machine().run(settings);
  }

  /** Starts an instance in threads of its own. */
  public Running start(Settings settings) {
    return new Running(machine(), settings);
  }

  /** A new instance, as other parts of the run time have it. */
  public Machine machine() {
    try {
      Class<?> host = new Isolated(files).loadClass("trimtab.Host");
      return (Machine) host.getConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the jar is damaged: " + e, e);
    }
  }

  /** Loads the classes of one instance. */
  private static final class Isolated extends ClassLoader {
    private final Map<String, byte[]> files;

    Isolated(Map<String, byte[]> files) {
      super(Program.class.getClassLoader());
      this.files = files;
    }

    /** Whether each instance has this file of its own. */
    static boolean has(String name) {
      boolean isRunTime = name.startsWith("trimtab/") && !name.startsWith("trimtab/embed/");
      return name.startsWith("program.") || (isRunTime || name.startsWith("program/")) && name.endsWith(".class");
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      synchronized (getClassLoadingLock(name)) {
        byte[] bytes = files.get(name.replace('.', '/') + ".class");
        if (bytes == null) {
          return super.loadClass(name, resolve);
        }
        Class<?> known = findLoadedClass(name);
        return known != null ? known : defineClass(name, bytes, 0, bytes.length);
      }
    }

    @Override
    public InputStream getResourceAsStream(String name) {
      byte[] bytes = files.get(name);
      return bytes == null ? super.getResourceAsStream(name) : new ByteArrayInputStream(bytes);
    }
  }
}
