// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

/** Numbers of errors, as Linux has them on MIPS. */
final class Errors {
  static final int EPERM = 1;
  static final int ENOENT = 2;
  static final int ESRCH = 3;
  static final int EINTR = 4;
  static final int EIO = 5;
  static final int EBADF = 9;
  static final int ECHILD = 10;
  static final int EAGAIN = 11;
  static final int ENOMEM = 12;
  static final int EACCES = 13;
  static final int EFAULT = 14;
  static final int EEXIST = 17;
  static final int ENOTDIR = 20;
  static final int EISDIR = 21;
  static final int EINVAL = 22;
  static final int EMFILE = 24;
  static final int ENOTTY = 25;
  static final int ENOSPC = 28;
  static final int ESPIPE = 29;
  static final int EROFS = 30;
  static final int EPIPE = 32;
  static final int ERANGE = 34;
  static final int ENOSYS = 89;
  static final int ENOTEMPTY = 93;
  static final int ETIMEDOUT = 145;

  private Errors() {}
}
