//! Real programs, each with what makes tracing hard: threads, forks, signals, libraries.

use super::*;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;
use trimtab_lab::process::Invocation;
use trimtab_lab::script;

mod processors;

/// A folder with programs made of C.
struct Bench(TempDir);

impl Bench {
    fn new() -> Self {
        Bench(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Compiles `code` to `name`.
    fn build(&self, name: &str, code: &str, flags: &[&str]) -> PathBuf {
        let source = self.file(&format!("{name}.c"));
        fs::write(&source, format!("#define _GNU_SOURCE\n{HEAD}\n{code}")).unwrap();
        let program = self.file(name);
        let status = Command::new("cc")
            .args(["-O1", "-g0", "-fno-inline", "-o"])
            .args([&program, &source])
            .args(["-pthread", "-ldl"])
            .args(flags)
            .status()
            .unwrap();
        assert!(status.success(), "{name}");
        program
    }

    /// A command whose output goes to a file.
    fn request(&self, program: &Path) -> Request {
        self.request_with(program, &[])
    }

    fn request_with(&self, program: &Path, arguments: &[&str]) -> Request {
        let invocation = Invocation::new(program).args(arguments);
        Request::new(invocation).log(self.file("output")).limit(Duration::from_secs(60))
    }

    fn output(&self) -> String {
        fs::read_to_string(self.file("output")).unwrap()
    }

    /// Traces a program that must end well.
    fn trace(&self, program: &Path, arguments: &[&str]) -> Recording {
        self.finish(&self.request_with(program, arguments))
    }

    fn finish(&self, request: &Request) -> Recording {
        let recorded = trace(request).unwrap();
        assert_eq!(recorded.ended, End::Exited(0), "{}", self.output());
        recorded
    }
}

const HEAD: &str = "
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEEP __attribute__((noipa))
";

/// The names of what ran of an object, without what the C library's start-up adds.
fn names(object: &Object) -> Vec<&str> {
    let theirs = ["call_weak_fn", "frame_dummy", "init_have_lse_atomics"];
    let ours = |name: &&str| {
        !name.starts_with('_') && !name.contains("tm_clones") && !theirs.contains(name)
    };
    object.entered.iter().map(|entered| entered.name.as_str()).filter(ours).collect()
}

/// What ran of the program itself.
fn program(recorded: &Recording) -> Vec<&str> {
    names(&recorded.objects[0])
}

const SIMPLE: &str = "
KEEP int first(int x) { return x + 1; }
KEEP int second(int x) { return first(x) + first(x); }
KEEP int never(int x) { return x; }
int main(int argc, char **argv) { return argc > 9 ? never(1) : second(1) - 4; }
";

#[test]
fn functions_come_in_the_order_of_their_first_execution() {
    let bench = Bench::new();
    for (name, flags) in
        [("pie", &["-pie", "-fPIE"][..]), ("fixed", &["-no-pie"]), ("static", &["-static"])]
    {
        let built = bench.build(name, SIMPLE, flags);
        let recorded = bench.trace(&built, &[]);
        let ran = program(&recorded);
        let ours: Vec<_> =
            ran.iter().filter(|n| ["main", "first", "second", "never"].contains(n)).collect();
        assert_eq!(ours, [&"main", &"second", &"first"], "{name}");
        let [object] = &recorded.objects[..] else { panic!("{:?}", recorded.objects) };
        assert_eq!(object.path, built);
        assert!(object.functions > object.entered.len());
        assert!(object.entered.iter().enumerate().all(|(at, e)| e.order == at as u64));
        assert_eq!((recorded.processes, &recorded.skipped[..]), (1, &[][..]));
        // The C library's code of a static program, with its resolvers of functions, ran as well.
        assert_eq!(object.entered.len() > 20, name == "static", "{:?}", object.entered);
    }
}

#[test]
fn what_was_recorded_reads_back_as_a_trace_of_the_program() {
    let bench = Bench::new();
    let built = bench.build("app", SIMPLE, &["-Wl,--build-id"]);
    let recorded = bench.trace(&built, &[]);
    let text = recorded.objects[0].text();
    assert!(text.starts_with("trimtab-trace 1\nsource breakpoints\nbuild-id "), "{text}");
    let trace = read::read(&text).unwrap();
    let bytes = fs::read(&built).unwrap();
    let parsed = trimtab_program::Program::parse(&bytes).unwrap();
    let profile = trimtab_profile::Profile::resolve(&trace, &parsed);
    let id = hex::encode(parsed.build_id().unwrap());
    assert_eq!(trace.build_id, Some(id));
    assert_eq!(profile.coverage().names(), 1.0);
    assert_eq!(profile.precision(), trimtab_profile::Precision::Functions);
    let found = profile.functions().iter().map(|e| parsed.function(e.function).name);
    let entered = recorded.objects[0].entered.iter().map(|entered| entered.name.as_str());
    assert_eq!(found.collect::<Vec<_>>(), entered.collect::<Vec<_>>());
}

#[test]
fn threads_that_enter_a_function_at_the_same_time_all_go_through_it() {
    let mut code = String::from("static pthread_barrier_t barrier;\nstatic int sum;\n");
    for index in 0..400 {
        code.push_str(&format!(
            "KEEP void f{index}(void) {{ __atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED); }}\n"
        ));
    }
    code.push_str("typedef void (*function)(void);\nstatic function all[] = {");
    (0..400).for_each(|index| code.push_str(&format!("f{index},")));
    code.push_str(
        "};
        KEEP void *work(void *unused) {
            for (int i = 0; i < 400; i++) {
                if (i % 50 == 0) pthread_barrier_wait(&barrier);
                all[i]();
            }
            return unused;
        }
        int main(void) {
            pthread_t threads[8];
            pthread_barrier_init(&barrier, 0, 8);
            for (int i = 0; i < 8; i++) pthread_create(&threads[i], 0, work, 0);
            for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
            printf(\"%d\\n\", sum);
            return sum != 3200;
        }",
    );
    let bench = Bench::new();
    let built = bench.build("threads", &code, &[]);
    for _ in 0..3 {
        let recorded = bench.trace(&built, &[]);
        let ran = program(&recorded);
        assert_eq!(bench.output(), "3200\n");
        assert_eq!(ran.len(), 402, "{ran:?}");
        assert_eq!(ran[..2], ["main", "work"]);
        assert_eq!(recorded.processes, 1, "threads are no processes");
    }
}

#[test]
fn children_are_followed_and_remove_breakpoints_for_themselves() {
    let bench = Bench::new();
    let code = "
        KEEP void both(void) { write(1, \"b\", 1); }
        KEEP void in_child(void) { write(1, \"c\", 1); }
        KEEP void in_parent(void) { write(1, \"p\", 1); }
        int main(void) {
            int status;
            pid_t child = fork();
            if (child == 0) { in_child(); both(); in_parent(); _exit(7); }
            waitpid(child, &status, 0);
            in_parent(); both(); in_child();
            return WEXITSTATUS(status) != 7;
        }";
    let recorded = bench.trace(&bench.build("fork", code, &[]), &[]);
    assert_eq!(program(&recorded), ["main", "in_child", "both", "in_parent"]);
    assert_eq!(bench.output(), "cbppbc");
    assert_eq!(recorded.processes, 2);
}

#[test]
fn what_a_program_executes_is_followed_by_fork_vfork_spawn_and_threads() {
    let code = "
        #include <spawn.h>
        extern char **environ;
        KEEP void before(void) {}
        KEEP void after(void) {}
        KEEP void leaf(void) { write(1, \"x\", 1); }
        static char *again[] = { \"app\", \"leaf\", 0 };
        KEEP void *in_thread(void *self) { execv(self, again); return 0; }
        int main(int argc, char **argv) {
            char self[4096] = {0};
            int status = 0;
            pid_t child = 0;
            readlink(\"/proc/self/exe\", self, sizeof self - 1);
            if (argc > 1 && !strcmp(argv[1], \"leaf\")) { leaf(); return 0; }
            before();
            for (int i = 0; i < 2; i++) {
                child = i ? fork() : vfork();
                if (child == 0) { execv(self, again); _exit(1); }
                waitpid(child, &status, 0);
                if (status) return 1;
            }
            if (posix_spawn(&child, self, 0, 0, again, environ)) return 2;
            waitpid(child, &status, 0);
            if (status) return 3;
            after();
            pthread_t thread;
            pthread_create(&thread, 0, in_thread, self);
            pthread_join(thread, 0);
            return 4;
        }";
    let bench = Bench::new();
    let recorded = bench.trace(&bench.build("app", code, &[]), &[]);
    assert_eq!(program(&recorded), ["main", "before", "leaf", "after", "in_thread"]);
    assert_eq!(bench.output(), "xxxx");
    assert_eq!(recorded.processes, 4);
}

#[test]
fn a_child_that_has_ended_before_its_parent_tells_of_it_counts_once() {
    let code = "
        int main(void) {
            for (int i = 0; i < 300; i++) {
                pid_t child = i % 2 ? fork() : vfork();
                if (child == 0) _exit(0);
                waitpid(child, 0, 0);
            }
            return 0;
        }";
    let bench = Bench::new();
    let built = bench.build("app", code, &[]);
    assert_eq!(bench.trace(&built, &[]).processes, 301);
}

#[test]
fn signals_arrive_as_they_would_without_a_tracer() {
    let code = "
        static volatile int usr, alarms, traps, real, segv, value;
        KEEP void on_usr(int s) { (void)s; usr++; }
        KEEP void on_alarm(int s) { (void)s; alarms++; }
        KEEP void on_trap(int s) { (void)s; traps++; }
        KEEP void on_real(int s, siginfo_t *i, void *c) {
            (void)s; (void)c; real++; value = i->si_value.sival_int;
        }
        KEEP void on_segv(int s, siginfo_t *i, void *c) {
            (void)s; (void)c;
            segv++;
            mprotect(i->si_addr, 4096, PROT_READ | PROT_WRITE);
        }
        KEEP void after(void) {}
        int main(void) {
            struct sigaction a = { 0 };
            union sigval v = { .sival_int = 42 };
            char *page;
            int status;
            pid_t child;
            signal(SIGUSR1, on_usr);
            signal(SIGALRM, on_alarm);
            a.sa_flags = SA_NODEFER;
            a.sa_handler = on_trap;
            sigaction(SIGTRAP, &a, 0);
            a.sa_flags = SA_SIGINFO;
            a.sa_sigaction = on_real;
            sigaction(SIGRTMIN + 3, &a, 0);
            a.sa_sigaction = on_segv;
            sigaction(SIGSEGV, &a, 0);
            raise(SIGUSR1);
            kill(getpid(), SIGUSR1);
            raise(SIGTRAP);
            __asm__ volatile(TRAP);
            sigqueue(getpid(), SIGRTMIN + 3, v);
            page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            *(volatile char *)page = 1;
            alarm(1);
            pause();
            child = fork();
            if (child == 0) { raise(SIGSTOP); _exit(5); }
            if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status)) return 1;
            usleep(50000);
            if (waitpid(child, &status, WNOHANG) != 0) return 2;
            kill(child, SIGCONT);
            if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 5) return 3;
            after();
            printf(\"%d %d %d %d %d %d\\n\", usr, alarms, traps, real, value, segv);
            return 0;
        }";
    // A breakpoint of the program's own; that of AArch64 is not stepped over.
    let (trap, traps) = if cfg!(target_arch = "x86_64") { ("int3", 2) } else { ("nop", 1) };
    let bench = Bench::new();
    let built = bench.build("signals", &format!("#define TRAP \"{trap}\"\n{code}"), &[]);
    let recorded = bench.trace(&built, &[]);
    assert_eq!(bench.output(), format!("2 1 {traps} 1 42 1\n"));
    let expected = ["main", "on_usr", "on_trap", "on_real", "on_segv", "on_alarm", "after"];
    assert_eq!(program(&recorded), expected);
}

#[test]
fn a_handler_gets_what_a_program_does_wrong() {
    let code = "
        #include <setjmp.h>
        static sigjmp_buf back;
        static volatile int times;
        KEEP void on_segv(int s) { (void)s; times++; siglongjmp(back, 1); }
        KEEP int data(void) { return 0; }
        int main(void) {
            signal(SIGSEGV, on_segv);
            /* Code is not written to, data not executed, and nothing is at address 8. */
            if (!sigsetjmp(back, 1)) *(volatile char *)data = 0;
            void *page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            for (int i = 0; i < 2; i++)
                if (!sigsetjmp(back, 1)) ((void (*)(void))page)();
            if (!sigsetjmp(back, 1)) *(volatile int *)8 = 0;
            printf(\"%d\\n\", times);
            return data();
        }";
    let bench = Bench::new();
    let recorded = bench.trace(&bench.build("app", code, &[]), &[]);
    assert_eq!(bench.output(), "4\n");
    assert_eq!(program(&recorded), ["main", "on_segv", "data"]);
}

#[test]
fn a_program_that_forbids_itself_calls_of_the_system_is_traced() {
    let code = "
        #include <linux/filter.h>
        #include <linux/seccomp.h>
        #include <stddef.h>
        #include <sys/prctl.h>
        #include <sys/syscall.h>
        KEEP int far_away(void) { return 0; }
        KEEP int forbid(void) {
            struct sock_filter steps[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
            };
            struct sock_fprog program = { 4, steps };
            return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
                || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
        }
        int main(void) { return forbid() || far_away(); }";
    let bench = Bench::new();
    let recorded = bench.trace(&bench.build("app", code, &[]), &[]);
    assert_eq!(program(&recorded), ["main", "forbid", "far_away"]);
}

#[test]
fn libraries_are_watched_from_their_first_instruction_on() {
    let bench = Bench::new();
    let library = "
        KEEP static void early(void) {}
        __attribute__((constructor)) KEEP static void constructor(void) { early(); }
        KEEP void exported(void) { early(); }
        KEEP void unused(void) {}";
    let folder = bench.0.path().to_str().unwrap();
    let linked = bench.build("liblinked.so.1", library, &["-shared", "-fPIC"]);
    let loaded = bench.build("libloaded.so", library, &["-shared", "-fPIC"]);
    let code = "
        void exported(void);
        int main(int argc, char **argv) {
            exported();
            for (int i = 0; i < 2; i++) {
                void *handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
                if (!handle) return 1;
                ((void (*)(void))dlsym(handle, \"exported\"))();
                dlclose(handle);
            }
            return argc != 2;
        }";
    let built = bench.build(
        "app",
        code,
        &[linked.to_str().unwrap(), "-Wl,-rpath", folder, "-Wl,--no-as-needed"],
    );
    let request = || bench.request_with(&built, &[loaded.to_str().unwrap()]);
    let objects = |named: &[&str], all| Objects {
        named: named.iter().map(|name| (*name).to_owned()).collect(),
        all,
        ..Objects::default()
    };

    let only = bench.finish(&request());
    assert_eq!(only.objects.len(), 1);
    let named = bench.finish(&request().objects(objects(&["liblinked", "libloaded.so"], false)));
    let found: Vec<_> = named.objects.iter().map(|object| object.path.as_path()).collect();
    assert_eq!(found, [&built, &linked, &loaded]);
    assert_eq!(program(&named), ["main"]);
    for library in &named.objects[1..] {
        assert_eq!(names(library), ["constructor", "early", "exported"], "{:?}", library.path);
    }
    let mut orders: Vec<u64> =
        named.objects.iter().flat_map(|o| o.entered.iter().map(|e| e.order)).collect();
    orders.sort_unstable();
    assert!(orders.iter().enumerate().all(|(at, order)| *order == at as u64));

    let all = bench.finish(&request().objects(objects(&[], true)));
    let libc = all.objects.iter().find(|o| o.path.to_str().unwrap().contains("libc.so")).unwrap();
    assert!(libc.entered.iter().any(|entered| entered.name == "dlopen"), "{libc:?}");
    for part in &named.objects {
        let same = all.objects.iter().find(|object| object.path == part.path).unwrap();
        assert_eq!(names(same), names(part));
    }
}

#[test]
fn a_stripped_library_is_watched_by_what_it_exports_and_a_stripped_program_refused() {
    let bench = Bench::new();
    let code = "KEEP static void hidden(void) {} KEEP void exported(void) { hidden(); }";
    let library = bench.build("libx.so", code, &["-shared", "-fPIC", "-s"]);
    let main = "void exported(void); int main(void) { exported(); return 0; }";
    let folder = bench.0.path().to_str().unwrap();
    let flags = [library.to_str().unwrap(), "-Wl,-rpath", folder];
    let built = bench.build("app", main, &flags);
    let named = Objects { named: vec!["libx".to_owned()], ..Objects::default() };
    let recorded = bench.finish(&bench.request(&built).objects(named));
    assert_eq!(names(&recorded.objects[1]), ["exported"]);

    let stripped = bench.build("stripped", SIMPLE, &["-s"]);
    let error = trace(&bench.request(&stripped)).unwrap_err().to_string();
    let expected = "/stripped cannot be traced: it has no symbols of functions; build it without \
                    stripping";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn a_script_is_its_interpreter_and_the_programs_of_these_names() {
    let bench = Bench::new();
    bench.build("app", SIMPLE, &[]);
    let folder = bench.0.path().display().to_string();
    let path = bench.file("script");
    script::write(&path, &format!("#!/bin/sh\n{folder}/app && {folder}/app\n")).unwrap();
    let app = Objects { program: false, named: vec!["app".to_owned()], all: false };
    let recorded = bench.finish(&bench.request(&path).objects(app));
    let [object] = &recorded.objects[..] else { panic!("{:?}", recorded.objects) };
    assert_eq!(object.path, bench.file("app"));
    assert_eq!(names(object), ["main", "second", "first"]);
}

#[test]
fn how_a_program_ends_is_told_and_what_ran_until_then() {
    let bench = Bench::new();
    let code = "
        KEEP void forked(void) { for (;;) fork(); }
        KEEP void loop(void) { for (;;) pause(); }
        KEEP void crash(void) { *(volatile int *)8 = 0; }
        int main(int argc, char **argv) {
            signal(SIGTERM, argc > 2 ? SIG_IGN : SIG_DFL);
            switch (argv[1][0]) {
                case 'c': crash();
                case 'l': loop();
                case 'f': forked();
            }
            return 3;
        }";
    let built = bench.build("ends", code, &[]);
    let run = |arguments: &[&str]| trace(&bench.request_with(&built, arguments)).unwrap();
    let status = run(&["x"]);
    assert_eq!((status.ended, program(&status)), (End::Exited(3), vec!["main"]));
    let crash = run(&["c"]);
    assert_eq!(crash.ended, End::Killed(nix::libc::SIGSEGV));
    assert_eq!(crash.ended.to_string(), "was killed by SIGSEGV");
    assert_eq!(End::Killed(40).to_string(), "was killed by signal 40");
    assert_eq!(program(&crash), ["main", "crash"]);

    let second = Duration::from_secs(1);
    let hang = trace(&bench.request_with(&built, &["l"]).limit(second)).unwrap();
    assert_eq!((hang.ended, program(&hang)), (End::TimeOver, vec!["main", "loop"]));
    let stubborn = bench.request_with(&built, &["l", "x"]).limit(second).grace(second / 2);
    let stubborn = trace(&stubborn).unwrap();
    assert_eq!(stubborn.ended, End::TimeOver);

    let bomb = trace(&bench.request_with(&built, &["f"]).processes(40)).unwrap_err();
    assert!(matches!(bomb, NativeError::TooManyProcesses { limit: 40 }), "{bomb}");
    assert_nothing_runs(&built);
}

#[test]
fn an_interrupt_ends_everything() {
    let bench = Bench::new();
    let code = "
        int main(void) {
            for (int i = 0; i < 3; i++) fork();
            setsid();
            for (;;) pause();
        }";
    let built = bench.build("endless", code, &[]);
    let flag = Arc::new(AtomicBool::new(false));
    let request = bench.request(&built).interrupt(flag.clone());
    let traced = thread::spawn(move || trace(&request));
    while processes(&built) < 8 {
        thread::sleep(TICK);
    }
    flag.store(true, Ordering::SeqCst);
    assert!(matches!(traced.join().unwrap(), Err(NativeError::Interrupted)));
    assert_nothing_runs(&built);
}

/// How many processes run this program.
fn processes(program: &Path) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let runs = |entry: &fs::DirEntry| {
        fs::read_link(entry.path().join("exe")).is_ok_and(|path| path == program)
    };
    entries.filter(runs).count()
}

fn assert_nothing_runs(program: &Path) {
    assert_eq!(processes(program), 0, "{}", program.display());
}

#[test]
fn what_cannot_be_started_is_named() {
    let bench = Bench::new();
    let said = |path: &Path| trace(&bench.request(path)).unwrap_err().to_string();
    let none = "there is no program `no-such-program`; give its path, or a name that is in PATH";
    assert_eq!(said(Path::new("no-such-program")), none);
    let text = bench.file("text");
    fs::write(&text, "text").unwrap();
    assert!(said(&text).ends_with("/text`: Permission denied (os error 13)"), "{}", said(&text));
    let folder = bench.request(Path::new("true")).log(bench.file("none/log"));
    assert!(matches!(trace(&folder), Err(NativeError::Log { .. })));
}

#[test]
fn two_programs_can_be_traced_at_the_same_time() {
    let built: Vec<_> = (0..2).map(|_| Bench::new()).collect();
    thread::scope(|scope| {
        for bench in &built {
            scope.spawn(|| {
                let app = bench.build("app", SIMPLE, &[]);
                for _ in 0..5 {
                    assert_eq!(program(&bench.trace(&app, &[])), ["main", "second", "first"]);
                }
            });
        }
    });
}
