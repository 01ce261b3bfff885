// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.math.BigDecimal;

/**
 * Arithmetic that rounds as the control register says. Java rounds to nearest: of that the sign of
 * the error is found, without an error of its own, and where it says so the next number is taken.
 */
public final class Rounding {
  private static final int ZERO = 1;
  private static final int UP = 2;

  /** The flag and the cause of an inexact result. */
  private static final int INEXACT = 0x1004;

  /** Above, no part of an error is too small for a number. */
  private static final double ROOMY = 0x1p-900;

  private Rounding() {}

  /** {@code add.d}. */
  public static double add(double a, double b, Cpu cpu) {
    double sum = a + b;
    if ((cpu.control & 3) == 0 || !isFinite(a, b)) {
      return sum;
    }
    if (Double.isInfinite(sum)) {
      return next(sum, -sum, cpu);
    }
    double error = error(a, b, sum);
    if (sum == 0 && error == 0 && (a != 0 || 1 / a != 1 / b)) {
      return (cpu.control & 3) > UP ? -0.0 : 0.0;
    }
    return next(sum, error, cpu);
  }

  /** {@code sub.d}. */
  public static double sub(double a, double b, Cpu cpu) {
    return (cpu.control & 3) == 0 ? a - b : add(a, -b, cpu);
  }

  /** {@code mul.d}. */
  public static double mul(double a, double b, Cpu cpu) {
    double product = a * b;
    if ((cpu.control & 3) == 0 || !isFinite(a, b) || a == 0 || b == 0) {
      return product;
    }
    if (Double.isInfinite(product)) {
      return next(product, -product, cpu);
    }
    double error =
        Math.abs(product) > ROOMY
            ? Math.fma(a, b, -product)
            : exact(a).multiply(exact(b)).compareTo(exact(product));
    return next(product, error, cpu);
  }

  /** {@code div.d}. */
  public static double div(double a, double b, Cpu cpu) {
    double quotient = a / b;
    if ((cpu.control & 3) == 0 || !isFinite(a, b) || a == 0 || b == 0) {
      return quotient;
    }
    if (Double.isInfinite(quotient)) {
      return next(quotient, -quotient, cpu);
    }
    double rest =
        Math.abs(a) > ROOMY
            ? Math.fma(-quotient, b, a)
            : exact(a).compareTo(exact(quotient).multiply(exact(b)));
    return next(quotient, b < 0 ? -rest : rest, cpu);
  }

  /** {@code sqrt.d}. */
  public static double sqrt(double a, Cpu cpu) {
    double root = Math.sqrt(a);
    if ((cpu.control & 3) == 0 || !(a > 0) || Double.isInfinite(a)) {
      return root;
    }
    double rest =
        a > ROOMY
            ? Math.fma(-root, root, a)
            : exact(a).compareTo(exact(root).multiply(exact(root)));
    return next(root, rest, cpu);
  }

  /** {@code add.s}. */
  public static float add(float a, float b, Cpu cpu) {
    float sum = a + b;
    if ((cpu.control & 3) == 0 || !isFinite(a, b)) {
      return sum;
    }
    double wide = (double) a + b;
    if (wide == 0 && (a != 0 || 1 / a != 1 / b)) {
      return (cpu.control & 3) > UP ? -0.0f : 0.0f;
    }
    double error = wide - sum;
    return next(sum, error != 0 ? error : error(a, b, wide), cpu);
  }

  /** {@code sub.s}. */
  public static float sub(float a, float b, Cpu cpu) {
    return (cpu.control & 3) == 0 ? a - b : add(a, -b, cpu);
  }

  /** {@code mul.s}. */
  public static float mul(float a, float b, Cpu cpu) {
    float product = a * b;
    if ((cpu.control & 3) == 0 || !isFinite(a, b)) {
      return product;
    }
    return next(product, (double) a * b - product, cpu);
  }

  /** {@code div.s}. */
  public static float div(float a, float b, Cpu cpu) {
    float quotient = a / b;
    if ((cpu.control & 3) == 0 || !isFinite(a, b) || b == 0) {
      return quotient;
    }
    double rest = a - (double) quotient * b;
    return next(quotient, b < 0 ? -rest : rest, cpu);
  }

  /** {@code sqrt.s}. */
  public static float sqrt(float a, Cpu cpu) {
    float root = (float) Math.sqrt(a);
    if ((cpu.control & 3) == 0 || !(a > 0) || java.lang.Float.isInfinite(a)) {
      return root;
    }
    return next(root, a - (double) root * root, cpu);
  }

  /** {@code cvt.s.d}, and {@code cvt.s.w}, as a {@code double} has all integers. */
  public static float single(double a, Cpu cpu) {
    float value = (float) a;
    return (cpu.control & 3) == 0 || !isFinite(a, a) ? value : next(value, a - value, cpu);
  }

  private static boolean isFinite(double a, double b) {
    return Double.isFinite(a) && Double.isFinite(b);
  }

  private static BigDecimal exact(double value) {
    return new BigDecimal(value);
  }

  /** What is lost of a sum: Knuth's TwoSum. */
  private static double error(double a, double b, double sum) {
    double second = sum - a;
    return (a - (sum - second)) + (b - second);
  }

  /** The number that a result is rounded to, if that to nearest is too small by an error of this sign. */
  private static double next(double nearest, double error, Cpu cpu) {
    int step = step(nearest, error, cpu);
    return step > 0 ? Math.nextUp(nearest) : step < 0 ? Math.nextDown(nearest) : nearest;
  }

  private static float next(float nearest, double error, Cpu cpu) {
    int step = step(nearest, error, cpu);
    return step > 0 ? Math.nextUp(nearest) : step < 0 ? Math.nextDown(nearest) : nearest;
  }

  /** Which neighbour of the nearest number is the right one: the one above, that below, or none. What has an error is inexact. */
  private static int step(double nearest, double error, Cpu cpu) {
    if (error == 0) {
      return 0;
    }
    cpu.control |= INEXACT;
    int sign = error > 0 ? 1 : -1;
    switch (cpu.control & 3) {
      case ZERO:
        return nearest * sign < 0 ? sign : 0;
      case UP:
        return sign > 0 ? 1 : 0;
      default:
        return sign < 0 ? -1 : 0;
    }
  }
}
