// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;

/** System calls about files by their names, which may begin at an open directory. */
final class NameCalls {
  /** Flag of {@code unlinkat}. */
  private static final int DIRECTORY = 0x200;

  private NameCalls() {}

  /** Performs a call, or gives {@link Linux#OTHER}. */
  static int call(Files files, int number, int a0, int a1, int a2, int a3, int stack) throws IOException {
    Names names = files.names;
    switch (number) {
      case CallNumbers.OPEN:
        return files.open(path(files, a0), a1);
      case CallNumbers.OPENAT:
        return files.open(path(files, a0, a1), a2);
      case CallNumbers.CREAT:
        return files.open(path(files, a0), 1 | Files.CREATE | Files.TRUNCATE);
      case CallNumbers.TRUNCATE:
        return files.truncate(path(files, a0), a1);
      case CallNumbers.TRUNCATE64:
        return files.truncate(path(files, a0), (long) a3 << 32 | a2 & 0xffffffffL);
      case CallNumbers.UNLINK:
        return names.remove(path(files, a0), false);
      case CallNumbers.RMDIR:
        return names.remove(path(files, a0), true);
      case CallNumbers.UNLINKAT:
        return (a2 & ~DIRECTORY) != 0 ? -Errors.EINVAL : names.remove(path(files, a0, a1), a2 != 0);
      case CallNumbers.RENAME:
        return files.rename(path(files, a0), path(files, a1), 0);
      case CallNumbers.RENAMEAT:
        return files.rename(path(files, a0, a1), path(files, a2, a3), 0);
      case CallNumbers.RENAMEAT2:
        return files.rename(path(files, a0, a1), path(files, a2, a3), Memory.readInt(stack + 16));
      case CallNumbers.MKDIR:
        return names.makeDirectory(path(files, a0));
      case CallNumbers.MKDIRAT:
        return names.makeDirectory(path(files, a0, a1));
      case CallNumbers.CHDIR:
        return names.enter(path(files, a0));
      case CallNumbers.FCHDIR:
        return files.enter(a0);
      case CallNumbers.GETCWD:
        return names.currentDirectory(a0, a1);
      case CallNumbers.ACCESS:
        return names.access(path(files, a0), a1);
      case CallNumbers.FACCESSAT:
      case CallNumbers.FACCESSAT2:
        return names.access(path(files, a0, a1), a2);
      case CallNumbers.STAT64:
        return names.status(path(files, a0)).write(a1);
      case CallNumbers.LSTAT64:
        return names.linkStatus(path(files, a0)).write(a1);
      case CallNumbers.FSTATAT64:
        return files.status(a0, Memory.string(a1), a3).write(a2);
      case CallNumbers.STATX:
        return files.status(a0, Memory.string(a1), a2).writeExtended(Memory.readInt(stack + 16));
      case CallNumbers.FSTAT64:
        return files.status(a0).write(a1);
      case CallNumbers.READLINK:
        return names.link(path(files, a0));
      case CallNumbers.READLINKAT:
        return names.link(path(files, a0, a1));
      default:
        return Linux.OTHER;
    }
  }

  private static String path(Files files, int name) throws IOException {
    return path(files, Files.HERE, name);
  }

  private static String path(Files files, int directory, int name) throws IOException {
    return files.path(directory, Memory.string(name));
  }
}
