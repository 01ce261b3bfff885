//! What a program sees of the processor that the tracer shares with it.

use super::*;

#[test]
fn a_program_may_run_on_all_processors_wherever_it_asks() {
    // Each tenth asks as soon as its breakpoint has been hit; what is started is so after others.
    let functions: String = (0..1000)
        .map(|index| {
            let does = if index % 10 == 9 { "few()" } else { "0" };
            format!("KEEP int f{index}(void) {{ return {does}; }}\n")
        })
        .collect();
    let calls = |some: std::ops::Range<usize>| -> String {
        some.map(|index| format!("fewer += f{index}();\n")).collect()
    };
    let code = format!(
        "#include <sched.h>
        static int all;
        static int few(void) {{
            cpu_set_t set;
            return sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) != all;
        }}
        {functions}
        KEEP void *thread(void *fewer) {{ *(int *)fewer = few(); return 0; }}
        KEEP int child(void) {{ return few(); }}
        int main(int argc, char **argv) {{
            int fewer = 0, status, started = 1;
            pthread_t other;
            all = atoi(argv[1]);
            {}
            if (!fork()) _exit(child());
            wait(&status);
            {}
            pthread_create(&other, 0, thread, &started);
            pthread_join(other, 0);
            fewer += status + started;
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(sched_getcpu(), &one);
            sched_setaffinity(0, sizeof one, &one);
            all = 1;
            {}
            printf(\"%d\\n\", fewer);
            return 0;
        }}",
        calls(0..505),
        calls(505..805),
        calls(805..1000),
    );
    let bench = Bench::new();
    let built = bench.build("asks", &code, &[]);
    let all = thread::available_parallelism().unwrap().to_string();
    bench.trace(&built, &[&all]);
    assert_eq!(bench.output(), "0\n");
    assert_eq!(thread::available_parallelism().unwrap().to_string(), all);
}
