import java.nio.file.Path;
import trimtab.embed.MemoryFiles;
import trimtab.embed.Program;
import trimtab.embed.Settings;

/** Runs the program of a jar with files in memory. */
public final class InMemory {
  public static void main(String[] args) throws Exception {
    Settings settings = new Settings().arguments("argument").files(new MemoryFiles()).out(System.out).err(System.err);
    System.exit(Program.load(Path.of(args[0])).run(settings));
  }
}
