// SPDX-License-Identifier: MIT OR Apache-2.0

import com.dylibso.chicory.runtime.ByteArrayMemory;
import com.dylibso.chicory.runtime.ImportValues;
import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.wasi.WasiExitException;
import com.dylibso.chicory.wasi.WasiOptions;
import com.dylibso.chicory.wasi.WasiPreview1;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Runs what Translate made, with the memory that is the faster one on HotSpot. */
public final class Chicory {
  public static void main(String[] arguments) {
    var all = new ArrayList<>(List.of("program"));
    all.addAll(List.of(arguments));
    WasiOptions options =
        WasiOptions.builder()
            .inheritSystem()
            .withDirectory("/", Path.of("."))
            .withArguments(all)
            .build();
    try (WasiPreview1 wasi = WasiPreview1.builder().withOptions(options).build()) {
      Instance.builder(bench.Module.load())
          .withImportValues(ImportValues.builder().addFunction(wasi.toHostFunctions()).build())
          .withMachineFactory(bench.Module::create)
          .withMemoryFactory(ByteArrayMemory::new)
          .withStart(false)
          .build()
          .export("_start")
          .apply();
    } catch (WasiExitException exit) {
      System.exit(exit.exitCode());
    }
  }
}
