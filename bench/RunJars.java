// SPDX-License-Identifier: MIT OR Apache-2.0

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import trimtab.embed.MemoryFiles;
import trimtab.embed.Program;
import trimtab.embed.Settings;

/**
 * Runs many programs in one JVM, for {@code jars.py}. Reads a jar's path and an argument a line, and
 * prints the program's exit status, what it wrote to standard output, and what to its error output, both in base64.
 */
public final class RunJars {
  private RunJars() {}

  /** The first argument is how many seconds a program may take; a second one has all of its instructions interpreted. */
  public static void main(String[] args) throws IOException {
    Duration limit = Duration.ofSeconds(Long.parseLong(args[0]));
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      int end = line.lastIndexOf(' ');
      Settings settings = new Settings().interpreted(args.length > 1).arguments(line.substring(end + 1)).time(limit);
      System.out.println(run(Path.of(line.substring(0, end)), settings));
    }
    System.exit(0);
  }

  private static String run(Path jar, Settings settings) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    String status;
    try {
      MemoryFiles files = new MemoryFiles();
      files.createDirectory("/tmp");
      settings.files(files).out(out).err(err);
      status = "" + (Program.load(jar).run(settings) & 255);
    } catch (Throwable thrown) {
      StringWriter text = new StringWriter();
      thrown.printStackTrace(new PrintWriter(text));
      err.writeBytes(text.toString().getBytes(StandardCharsets.UTF_8));
      status = "thrown";
    }
    Base64.Encoder encoder = Base64.getEncoder();
    return status + " " + encoder.encodeToString(out.toByteArray()) + " " + encoder.encodeToString(err.toByteArray());
  }
}
