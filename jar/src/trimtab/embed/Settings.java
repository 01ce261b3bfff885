// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * What an instance of a program is given. By default nothing: no arguments, no environment, empty input, no output, {@link
 * #files no files} but {@code /dev/null} and temporary ones, memory as {@link #memory} says, and no other limits.
 */
public final class Settings {
  /** In MiB. */
  private static final int LEAST_MEMORY = 24;

  private String name = "program";
  private List<String> arguments = List.of();
  private Map<String, String> environment = Map.of();
  private InputStream in = InputStream.nullInputStream();
  private OutputStream out = OutputStream.nullOutputStream();
  private OutputStream err = OutputStream.nullOutputStream();
  private FileTree files;
  private int memory = usualMemory();
  private long instructions = Long.MAX_VALUE;
  private Duration time;
  private Predicate<InetSocketAddress> network;
  private String directory = "/";
  private int process = 4242;
  private final Map<String, Supplier<Program>> programs = new TreeMap<>();
  private boolean isStrict;
  private boolean isInterpreted;
  private final Map<Integer, Callback> functions = new HashMap<>();

  /** The default. */
  public Settings() {}

  /** {@code argv[0]}. */
  public Settings name(String name) {
    this.name = name;
    return this;
  }

  /** The arguments behind the name. */
  public Settings arguments(String... arguments) {
    this.arguments = new ArrayList<>(Arrays.asList(arguments));
    return this;
  }

  /** The environment. */
  public Settings environment(Map<String, String> environment) {
    this.environment = new TreeMap<>(environment);
    return this;
  }

  /** Standard input. */
  public Settings in(InputStream in) {
    this.in = in;
    return this;
  }

  /** Standard output. */
  public Settings out(OutputStream out) {
    this.out = out;
    return this;
  }

  /** The error output. */
  public Settings err(OutputStream err) {
    this.err = err;
    return this;
  }

  /** The streams of this JVM. */
  public Settings inherit() {
    return in(System.in).out(System.out).err(System.err);
  }

  /**
   * Its files. Without this {@code /tmp} and {@code /var/tmp} are empty directories for temporary files, which are in memory
   * and may take as many bytes as {@link #memory} says; see {@link MemoryFiles#temporary}.
   */
  public Settings files(FileTree files) {
    this.files = files;
    return this;
  }

  /** Its current directory: {@code /} without this. */
  public Settings directory(String directory) {
    this.directory = directory;
    return this;
  }

  /**
   * It may execute the program of another jar by the absolute {@code path}: {@code posix_spawn}, {@code system},
   * {@code popen} and {@code execve} do so. That gets standard streams, files, network, limits and programs of this one; it is ended
   * where this one ends. Without any program, {@code execve} fails with {@code ENOSYS}.
   *
   * @param program called each time it is executed
   */
  public Settings program(String path, Supplier<Program> program) {
    programs.put(path, program);
    return this;
  }

  /** Its number as a process: 4242 without this. */
  public Settings process(int number) {
    this.process = number;
    return this;
  }

  /**
   * Its memory in MiB: one array on Java's heap. Without this it is 128 MiB, or three quarters of the heap where that is
   * less.
   *
   * @throws IllegalArgumentException if it is not from 24 to 2047
   */
  public Settings memory(int mib) {
    if (mib < LEAST_MEMORY || mib > 2047) {
      throw new IllegalArgumentException("a program's memory is from " + LEAST_MEMORY + " to 2047 MiB, not " + mib);
    }
    this.memory = mib;
    return this;
  }

  private static int usualMemory() {
    long most = (Runtime.getRuntime().maxMemory() >> 20) * 3 / 4;
    return (int) Math.max(LEAST_MEMORY, Math.min(most, 128));
  }

  /**
   * It ends with status 158 (as by SIGXCPU) when its threads have run as many instructions, or a few more. Only
   * programs that were translated with {@code --metered} count them; others refuse to start.
   */
  public Settings instructions(long instructions) {
    this.instructions = instructions;
    return this;
  }

  /** It ends with status 158 when this time has passed; see {@link Running#stop}. */
  public Settings time(Duration time) {
    this.time = time;
    return this;
  }

  /**
   * It may use the network: connect and send to addresses, and be called at addresses, for which this is true. By default it
   * cannot open sockets. Called by any of its threads.
   */
  public Settings network(Predicate<InetSocketAddress> allowed) {
    this.network = allowed;
    return this;
  }

  /**
   * When it ends, the error output says which system calls it made that are not supported, and how many instructions were
   * interpreted, by the addresses at which that began.
   */
  public Settings strict(boolean isStrict) {
    this.isStrict = isStrict;
    return this;
  }

  /** All of its instructions are interpreted, which takes far longer: what differs then is a mistake of the translator's. */
  public Settings interpreted(boolean isInterpreted) {
    this.isInterpreted = isInterpreted;
    return this;
  }

  /** What an interface made by {@code --import-header} has for the program: see its {@code functions}. */
  public Settings functions(Map<Integer, Callback> functions) {
    this.functions.putAll(functions);
    return this;
  }

  /** The arguments with the name. */
  public String[] allArguments() {
    List<String> all = new ArrayList<>(arguments);
    all.add(0, name);
    return all.toArray(new String[0]);
  }

  /** The environment as C has it. */
  public String[] allEnvironment() {
    List<String> variables = new ArrayList<>();
    environment.forEach((name, value) -> variables.add(name + "=" + value));
    return variables.toArray(new String[0]);
  }

  /** Standard input. */
  public InputStream in() {
    return in;
  }

  /** Standard output. */
  public OutputStream out() {
    return out;
  }

  /** The error output. */
  public OutputStream err() {
    return err;
  }

  /** Its files; null for temporary ones only. */
  public FileTree files() {
    return files;
  }

  /** Its current directory. */
  public String directory() {
    return directory;
  }

  /** The programs that it may execute, by path. */
  public Map<String, Supplier<Program>> programs() {
    return programs;
  }

  /** Its number as a process. */
  public int process() {
    return process;
  }

  /** Its memory in MiB. */
  public int memory() {
    return memory;
  }

  /** The limit of instructions. */
  public long instructions() {
    return instructions;
  }

  /** The limit of time; null for none. */
  public Duration time() {
    return time;
  }

  /** The addresses that it may use; null for none. */
  public Predicate<InetSocketAddress> network() {
    return network;
  }

  /** Whether it is said at the end what was missing. */
  public boolean isStrict() {
    return isStrict;
  }

  /** Whether all is interpreted. */
  public boolean isInterpreted() {
    return isInterpreted;
  }

  /** What it calls in Java, by address. */
  public Map<Integer, Callback> functions() {
    return functions;
  }
}
