// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import trimtab.embed.FileTree;

/** What {@code stat} says of a file. */
final class Status {
  private static final int DIRECTORY = 0040755;
  private static final int REGULAR = 0100644;
  private static final int EXECUTABLE = 0100755;
  private static final int CHARACTERS = 0020620;
  private static final int PIPE = 0010600;
  private static final int SOCKET = 0140777;

  private final int mode;
  private final long inode;
  private final long size;
  private final long changed;

  private Status(int mode, long inode, long size, long changed) {
    this.mode = mode;
    this.inode = inode;
    this.size = size;
    this.changed = changed;
  }

  static Status stream(int file, boolean pipe, boolean socket) {
    return new Status(socket ? SOCKET : pipe ? PIPE : CHARACTERS, file + 1, 0, 0);
  }

  static Status of(FileTree.Info info) {
    int mode = info.isDirectory() ? DIRECTORY : info.isExecutable() ? EXECUTABLE : REGULAR;
    return new Status(mode, info.id() + 16, info.size(), info.changedMillis());
  }

  /** Writes {@code struct stat64}. */
  int write(int at) {
    Memory.clear(at, 104);
    Memory.writeInt(at, 1);
    Memory.writeLong(at + 16, inode);
    Memory.writeInt(at + 24, mode);
    Memory.writeInt(at + 28, 1);
    Memory.writeInt(at + 32, 1000);
    Memory.writeInt(at + 36, 1000);
    Memory.writeLong(at + 56, size);
    for (int time = 64; time < 88; time += 8) {
      Memory.writeInt(at + time, (int) (changed / 1000));
      Memory.writeInt(at + time + 4, (int) (changed % 1000 * 1000000));
    }
    Memory.writeInt(at + 88, 4096);
    Memory.writeLong(at + 96, (size + 511) / 512);
    return 0;
  }

  /** Writes {@code struct statx}. */
  int writeExtended(int at) {
    Memory.clear(at, 256);
    Memory.writeInt(at, 0x7ff);
    Memory.writeInt(at + 4, 4096);
    Memory.writeInt(at + 16, 1);
    Memory.writeInt(at + 20, 1000);
    Memory.writeInt(at + 24, 1000);
    Memory.writeShort(at + 28, mode);
    Memory.writeLong(at + 32, inode);
    Memory.writeLong(at + 40, size);
    Memory.writeLong(at + 48, (size + 511) / 512);
    for (int time = 64; time < 128; time += 16) {
      Memory.writeLong(at + time, changed / 1000);
      Memory.writeInt(at + time + 8, (int) (changed % 1000 * 1000000));
    }
    Memory.writeInt(at + 140, 1);
    return 0;
  }
}
