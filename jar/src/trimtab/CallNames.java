// SPDX-License-Identifier: MIT OR Apache-2.0
package trimtab;

/**
 * The names of all of Linux's system calls for MIPS programs of the ABI o32, for messages. A call that is performed has
 * its number in {@link CallNumbers}.
 */
final class CallNames {
  /** The number of the first. */
  private static final int FIRST = 4000;

  /** By ascending number; {@code -} is none, {@code -*N} are N of these. */
  private static final String NAMES =
      "syscall exit fork read write open close waitpid creat link unlink execve chdir time mknod chmod "
          + "lchown break unused18 lseek getpid mount umount setuid getuid stime ptrace alarm unused28 pause "
          + "utime stty gtty access nice ftime sync kill rename mkdir rmdir dup pipe times prof brk setgid "
          + "getgid signal geteuid getegid acct umount2 lock ioctl fcntl mpx setpgid ulimit unused59 umask "
          + "chroot ustat dup2 getppid getpgrp setsid sigaction sgetmask ssetmask setreuid setregid "
          + "sigsuspend sigpending sethostname setrlimit getrlimit getrusage gettimeofday settimeofday "
          + "getgroups setgroups reserved82 symlink unused84 readlink uselib swapon reboot readdir mmap "
          + "munmap truncate ftruncate fchmod fchown getpriority setpriority profil statfs fstatfs ioperm "
          + "socketcall syslog setitimer getitimer stat lstat fstat unused109 iopl vhangup idle vm86 wait4 "
          + "swapoff sysinfo ipc fsync sigreturn clone setdomainname uname modify_ldt adjtimex mprotect "
          + "sigprocmask create_module init_module delete_module get_kernel_syms quotactl getpgid fchdir "
          + "bdflush sysfs personality afs_syscall setfsuid setfsgid _llseek getdents _newselect flock msync "
          + "readv writev cacheflush cachectl sysmips unused150 getsid fdatasync _sysctl mlock munlock "
          + "mlockall munlockall sched_setparam sched_getparam sched_setscheduler sched_getscheduler "
          + "sched_yield sched_get_priority_max sched_get_priority_min sched_rr_get_interval nanosleep mremap "
          + "accept bind connect getpeername getsockname getsockopt listen recv recvfrom recvmsg send sendmsg "
          + "sendto setsockopt shutdown socket socketpair setresuid getresuid query_module poll nfsservctl "
          + "setresgid getresgid prctl rt_sigreturn rt_sigaction rt_sigprocmask rt_sigpending rt_sigtimedwait "
          + "rt_sigqueueinfo rt_sigsuspend pread64 pwrite64 chown getcwd capget capset sigaltstack sendfile "
          + "getpmsg putpmsg mmap2 truncate64 ftruncate64 stat64 lstat64 fstat64 pivot_root mincore madvise "
          + "getdents64 fcntl64 reserved221 gettid readahead setxattr lsetxattr fsetxattr getxattr lgetxattr "
          + "fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr tkill sendfile64 "
          + "futex sched_setaffinity sched_getaffinity io_setup io_destroy io_getevents io_submit io_cancel "
          + "exit_group lookup_dcookie epoll_create epoll_ctl epoll_wait remap_file_pages set_tid_address "
          + "restart_syscall fadvise64 statfs64 fstatfs64 timer_create timer_settime timer_gettime "
          + "timer_getoverrun timer_delete clock_settime clock_gettime clock_getres clock_nanosleep tgkill "
          + "utimes mbind get_mempolicy set_mempolicy mq_open mq_unlink mq_timedsend mq_timedreceive "
          + "mq_notify mq_getsetattr vserver waitid - add_key request_key keyctl set_thread_area inotify_init "
          + "inotify_add_watch inotify_rm_watch migrate_pages openat mkdirat mknodat fchownat futimesat "
          + "fstatat64 unlinkat renameat linkat symlinkat readlinkat fchmodat faccessat pselect6 ppoll "
          + "unshare splice sync_file_range tee vmsplice move_pages set_robust_list get_robust_list "
          + "kexec_load getcpu epoll_pwait ioprio_set ioprio_get utimensat signalfd timerfd eventfd fallocate "
          + "timerfd_create timerfd_gettime timerfd_settime signalfd4 eventfd2 epoll_create1 dup3 pipe2 "
          + "inotify_init1 preadv pwritev rt_tgsigqueueinfo perf_event_open accept4 recvmmsg fanotify_init "
          + "fanotify_mark prlimit64 name_to_handle_at open_by_handle_at clock_adjtime syncfs sendmmsg setns "
          + "process_vm_readv process_vm_writev kcmp finit_module sched_setattr sched_getattr renameat2 "
          + "seccomp getrandom memfd_create bpf execveat userfaultfd membarrier mlock2 copy_file_range "
          + "preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free statx rseq io_pgetevents -*24 semget semctl "
          + "shmget shmctl shmat shmdt msgget msgsnd msgrcv msgctl clock_gettime64 clock_settime64 "
          + "clock_adjtime64 clock_getres_time64 clock_nanosleep_time64 timer_gettime64 timer_settime64 "
          + "timerfd_gettime64 timerfd_settime64 utimensat_time64 pselect6_time64 ppoll_time64 - "
          + "io_pgetevents_time64 recvmmsg_time64 mq_timedsend_time64 mq_timedreceive_time64 "
          + "semtimedop_time64 rt_sigtimedwait_time64 futex_time64 sched_rr_get_interval_time64 "
          + "pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen "
          + "fsconfig fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd faccessat2 "
          + "process_madvise epoll_pwait2 mount_setattr quotactl_fd landlock_create_ruleset landlock_add_rule "
          + "landlock_restrict_self - process_mrelease futex_waitv set_mempolicy_home_node";

  private CallNames() {}

  /** The name of a call, with its number where it has none. */
  static String name(int number) {
    int at = FIRST;
    for (String name : NAMES.split(" ")) {
      int count = name.startsWith("-*") ? Integer.parseInt(name.substring(2)) : 1;
      if (number >= at && number < at + count) {
        return name.startsWith("-") ? "number " + number : name;
      }
      at += count;
    }
    return "number " + number;
  }
}
