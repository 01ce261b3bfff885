import java.nio.file.Path;
import trimtab.embed.MemoryFiles;
import trimtab.embed.Program;
import trimtab.embed.Settings;

/** Runs the program of a jar with files in memory, and sockets that may reach no address. */
public final class Confined {
  public static void main(String[] args) throws Exception {
    Settings settings = new Settings().arguments(args[1]).out(System.out).err(System.err);
    settings.files(new MemoryFiles()).network(address -> false);
    System.exit(Program.load(Path.of(args[0])).run(settings));
  }
}
