// SPDX-License-Identifier: MIT OR Apache-2.0
import java.util.List;
import org.example.Host;

/** The functions of host.h. */
class Functions implements Host {
  @Override
  public int java_add(int a, int b) {
    return a + b;
  }

  @Override
  public double java_mix(int a, double b, long c, float d) {
    return a + b + c + d;
  }

  @Override
  public float java_half(float a) {
    return a / 2;
  }

  @Override
  public int java_length(String text) {
    return text.length();
  }

  @Override
  public Object java_make(String text) {
    return List.of(text.split(" "));
  }

  @Override
  public int java_size(Object list) {
    return ((List<?>) list).size();
  }

  @Override
  public void java_fail(int how) {
    if (how != 0) {
      throw new IllegalStateException(how == 2 ? "two" : "other");
    }
  }

  @Override
  public int java_again(int depth) {
    return 0;
  }
}
