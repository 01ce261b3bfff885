// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Memory of an instance and functions for it, all of which is given back together. */
public final class Arena implements AutoCloseable {
  private final Library library;
  private final List<Integer> blocks = new ArrayList<>();
  private final List<Integer> functions = new ArrayList<>();

  Arena(Library library) {
    this.library = library;
  }

  /** Memory of this size, all zero. */
  public int alloc(int size) {
    int address = library.alloc(size);
    blocks.add(address);
    return address;
  }

  /** Room for a pointer or an {@code int}, zero. */
  public int word() {
    return alloc(4);
  }

  /** A copy of bytes. */
  public int bytes(byte[] bytes) {
    int address = alloc(bytes.length);
    library.memory().put(address, bytes, 0, bytes.length);
    return address;
  }

  /** A copy of a string in UTF-8, with a zero at its end; 0 for null. */
  public int string(String text) {
    if (text == null) {
      return 0;
    }
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    int address = alloc(bytes.length + 1);
    library.memory().put(address, bytes, 0, bytes.length);
    return address;
  }

  /** A function pointer that leads to Java. */
  public int function(Callback callback) {
    int address = library.function(callback);
    functions.add(address);
    return address;
  }

  @Override
  public void close() {
    functions.forEach(library::release);
    functions.clear();
    if (!library.isClosed()) {
      blocks.forEach(library::free);
    }
    blocks.clear();
  }
}
