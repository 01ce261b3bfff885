// SPDX-License-Identifier: MIT OR Apache-2.0

import com.dylibso.chicory.build.time.compiler.Config;
import com.dylibso.chicory.build.time.compiler.Generator;
import com.dylibso.chicory.compiler.InterpreterFallback;
import java.nio.file.Path;

/**
 * Chicory's translator, as its Maven plugin calls it before the program runs. bench/jar compiles this
 * for Endive, too, which has the same classes in another package.
 */
public final class Translate {
  public static void main(String[] arguments) throws Exception {
    Path classes = Path.of(arguments[1]);
    Generator generator =
        new Generator(
            Config.builder()
                .withWasmFile(Path.of(arguments[0]))
                .withName("bench.Module")
                .withTargetClassFolder(classes)
                .withTargetWasmFolder(classes)
                .withTargetSourceFolder(Path.of(arguments[2]))
                .withInterpreterFallback(InterpreterFallback.WARN)
                .build());
    var interpreted = generator.generateResources();
    generator.generateMetaWasm(interpreted);
    generator.generateSources();
    System.out.println(interpreted.size());
  }
}
