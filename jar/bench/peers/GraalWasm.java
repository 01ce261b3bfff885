// SPDX-License-Identifier: MIT OR Apache-2.0

import java.io.File;
import org.graalvm.polyglot.Context;
import org.graalvm.polyglot.PolyglotException;
import org.graalvm.polyglot.Source;
import org.graalvm.polyglot.io.IOAccess;

/** Runs a WebAssembly file in GraalWasm. */
public final class GraalWasm {
  public static void main(String[] arguments) throws Exception {
    Source program = Source.newBuilder("wasm", new File(arguments[0])).build();
    try (Context context =
        Context.newBuilder("wasm")
            .arguments("wasm", arguments)
            .option("wasm.Builtins", "wasi_snapshot_preview1")
            .option("wasm.WasiMapDirs", "/::.")
            .allowIO(IOAccess.ALL)
            .build()) {
      context.eval(program).newInstance().getMember("exports").getMember("_start").execute();
    } catch (PolyglotException exit) {
      if (!exit.isExit()) throw exit;
      System.exit(exit.getExitStatus());
    }
  }
}
