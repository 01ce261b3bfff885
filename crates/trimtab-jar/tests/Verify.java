import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Paths;
import java.util.jar.JarFile;

/** Has the verifier look at every class of each jar that is named. */
public class Verify {
  public static void main(String[] args) throws Exception {
    for (String arg : args) {
      int count = 0;
      URL[] urls = {Paths.get(arg).toUri().toURL()};
      try (JarFile jar = new JarFile(arg);
          URLClassLoader loader = new URLClassLoader(urls, null)) {
        for (String name : (Iterable<String>) jar.stream().map(e -> e.getName())::iterator) {
          if (name.startsWith("program/") && name.endsWith(".class")) {
            String dotted = name.substring(0, name.length() - 6).replace('/', '.');
            // Initialising a class verifies it.
            Class.forName(dotted, true, loader);
            count++;
          }
        }
      }
      System.out.println("verified " + count);
    }
  }
}
