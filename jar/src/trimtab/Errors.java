// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.PortUnreachableException;
import java.net.SocketException;
import java.nio.channels.ClosedChannelException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.util.Map;
import trimtab.embed.NoSpaceException;

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
  static final int ENODEV = 19;
  static final int ENOTDIR = 20;
  static final int EISDIR = 21;
  static final int EINVAL = 22;
  static final int EMFILE = 24;
  static final int ENOTTY = 25;
  static final int EFBIG = 27;
  static final int ENOSPC = 28;
  static final int ESPIPE = 29;
  static final int EROFS = 30;
  static final int EPIPE = 32;
  static final int ERANGE = 34;
  static final int ENAMETOOLONG = 78;
  static final int ENOSYS = 89;
  static final int ELOOP = 90;
  static final int ENOTEMPTY = 93;
  static final int ENOTSOCK = 95;
  static final int EDESTADDRREQ = 96;
  static final int EMSGSIZE = 97;
  static final int ESOCKTNOSUPPORT = 121;
  static final int EOPNOTSUPP = 122;
  static final int EAFNOSUPPORT = 124;
  static final int EADDRINUSE = 125;
  static final int EADDRNOTAVAIL = 126;
  static final int ENETUNREACH = 128;
  static final int ECONNRESET = 131;
  static final int EISCONN = 133;
  static final int ENOTCONN = 134;
  static final int ETIMEDOUT = 145;
  static final int ECONNREFUSED = 146;
  static final int EHOSTUNREACH = 148;
  static final int EALREADY = 149;
  static final int EINPROGRESS = 150;

  /** How the operating system's words for it begin, as they are in exceptions of Java's. */
  static final String BROKEN_PIPE = "Broken pipe";

  /** What is the matter with a file, in the operating system's words: Java has no class for it. */
  private static final Map<String, Integer> FILES =
      Map.of(
          "Not a directory", ENOTDIR,
          "Is a directory", EISDIR,
          "Invalid argument", EINVAL,
          "File too large", EFBIG,
          "No space left on device", ENOSPC,
          "File name too long", ENAMETOOLONG,
          "Too many levels of symbolic links", ELOOP);

  private Errors() {}

  /** The number of an error for what Java throws. */
  static int of(IOException thrown) {
    if (thrown instanceof LinuxException) {
      return ((LinuxException) thrown).error;
    }
    if (thrown instanceof NoSuchFileException) {
      return ENOENT;
    }
    if (thrown instanceof FileAlreadyExistsException) {
      return EEXIST;
    }
    if (thrown instanceof AccessDeniedException) {
      return EACCES;
    }
    if (thrown instanceof DirectoryNotEmptyException) {
      return ENOTEMPTY;
    }
    if (thrown instanceof NoSpaceException) {
      return ENOSPC;
    }
    if (thrown instanceof NotDirectoryException) {
      return ENOTDIR;
    }
    String words = thrown instanceof FileSystemException ? ((FileSystemException) thrown).getReason() : thrown.getMessage();
    if (words != null && FILES.containsKey(words)) {
      return FILES.get(words);
    }
    if (thrown instanceof SocketException || thrown instanceof ClosedChannelException) {
      return ofSocket(thrown);
    }
    return isBrokenPipe(thrown) ? EPIPE : ofSocket(thrown);
  }

  /** Whether nobody reads what a stream writes any more. Java has no class for it: the operating system's words, and PipedOutputStream's. */
  private static boolean isBrokenPipe(IOException thrown) {
    String message = String.valueOf(thrown.getMessage());
    return message.startsWith(BROKEN_PIPE) || message.equals("Pipe closed") || message.equals("Read end dead");
  }

  /** The same for sockets; often only the operating system's words tell. */
  private static int ofSocket(IOException thrown) {
    String message = String.valueOf(thrown.getMessage());
    if (thrown instanceof ClosedChannelException || message.startsWith(BROKEN_PIPE)) {
      return EPIPE;
    }
    if (thrown instanceof NoRouteToHostException) {
      return EHOSTUNREACH;
    }
    if (message.startsWith("Connection reset")) {
      return ECONNRESET;
    }
    if (message.startsWith("Network is unreachable")) {
      return ENETUNREACH;
    }
    if (message.startsWith("Permission denied")) {
      return EACCES;
    }
    if (thrown instanceof BindException) {
      return message.startsWith("Cannot assign") ? EADDRNOTAVAIL : EADDRINUSE;
    }
    if (thrown instanceof ConnectException || thrown instanceof PortUnreachableException) {
      return message.contains("timed out") ? ETIMEDOUT : ECONNREFUSED;
    }
    return EIO;
  }
}
