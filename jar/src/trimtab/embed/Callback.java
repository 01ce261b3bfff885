// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab.embed;

/** A function of Java's that the program calls. */
@FunctionalInterface
public interface Callback {
  /**
   * Does what the C function of this type would do.
   *
   * @param arguments what it is given, read one after the other
   * @return its result: an {@code int}, a pointer or a {@code long long}; where the C function gives a floating-point
   *     number, what {@link Arguments#result(double)} returns
   */
  long call(Arguments arguments);
}
