//! Small traces, as tracefs, trace-cmd and perf print them.

use super::*;

fn timeline(
    lines: &[&str],
    only: Option<&str>,
    fault: Option<u64>,
) -> Result<Timeline, TraceError> {
    let name: &dyn Fn(u64) -> Option<&'static str> = &|number| {
        [(0, "read"), (56, "clone"), (202, "futex")]
            .into_iter()
            .find(|one| one.0 == number)
            .map(|one| one.1)
    };
    Timeline::read(&lines.join("\n"), &Reading { name, only, fault })
}

const USER: Activity = Activity::User;
const FILES: Activity = Activity::Kernel(Subsystem::Files);
const IPC: Activity = Activity::Kernel(Subsystem::Ipc);
const PROCESSES: Activity = Activity::Kernel(Subsystem::Processes);
const MEMORY: Activity = Activity::Kernel(Subsystem::Memory);

#[test]
fn threads_run_wait_for_each_other_and_for_devices() {
    let trace = timeline(
        &[
            "a-1 [000] d.... 1.000000000: sys_enter: NR 56 ()",
            "a-1 [000] d.... 1.000000100: sched_wakeup_new: comm=a pid=2 prio=120",
            "a-1 [000] d.... 1.000000150: sys_exit: NR 56 = 2",
            "a-1 [000] d.... 1.000000200: sys_enter: NR 202 ()",
            "a-1 [000] d.... 1.000000300: sched_switch: prev_comm=a prev_pid=1 prev_prio=1 prev_state=S ==> next_comm=a next_pid=2 next_prio=1",
            "a-2 [000] d.... 1.000000350: sys_exit: NR 56 = 0",
            "a-2 [000] d.... 1.000000450: sys_enter: NR 0 ()",
            "a-2 [000] d.... 1.000000500: sched_switch: prev_comm=a prev_pid=2 prev_prio=1 prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=1",
            "<idle>-0 [000] d.h.. 1.000000900: sched_waking: comm=a pid=2 prio=120",
            "<idle>-0 [000] d.... 1.000000910: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=1 prev_state=R ==> next_comm=a next_pid=2 next_prio=1",
            "a-2 [000] d.... 1.000000920: sys_exit: NR 0 = 4",
            "a-2 [000] d.... 1.000000930: irq_handler_entry: irq=3 name=x",
            "a-2 [000] d.h.. 1.000000970: irq_handler_exit: irq=3 ret=handled",
            "a-2 [000] d.... 1.000001000: sys_enter: NR 202 ()",
            "a-2 [000] d.... 1.000001050: sched_waking: comm=a pid=1 prio=120",
            "a-2 [000] d.... 1.000001060: sched_switch: prev_comm=a prev_pid=2 prev_prio=1 prev_state=X ==> next_comm=a next_pid=1 next_prio=1",
            "a-1 [000] d.... 1.000001100: sys_exit: NR 202 = 0",
            "a-1 [000] d.... 1.000001180: page_fault_user: address=1",
            "a-1 [000] d.... 1.000001300: sys_enter: NR 999 ()",
        ],
        None,
        Some(50),
    )
    .unwrap();
    let [first, second] = &trace.threads[..] else { panic!("{trace:?}") };
    assert_eq!(
        first.spans,
        [
            Span::Run(PROCESSES, 100),
            Span::Wake(1),
            Span::Run(PROCESSES, 50),
            Span::Run(USER, 50),
            Span::Run(IPC, 100),
            Span::SleepUntilWoken,
            Span::Run(IPC, 40),
            Span::Run(USER, 80),
            Span::Run(MEMORY, 50),
            Span::Run(USER, 70),
        ]
    );
    assert_eq!(
        second.spans,
        [
            Span::SleepUntilWoken,
            Span::Run(PROCESSES, 50),
            Span::Run(USER, 100),
            Span::Run(FILES, 50),
            Span::Sleep(400),
            Span::Run(FILES, 10),
            Span::Run(USER, 10),
            Span::Run(Activity::Interrupt, 40),
            Span::Run(USER, 30),
            Span::Run(IPC, 50),
            Span::Wake(0),
            Span::Run(IPC, 10),
        ]
    );
    assert_eq!((trace.length, trace.cpus, trace.calls, trace.faults), (1300, 1, 5, 1));
    assert_eq!(trace.busy(), 540 + 350);
    assert_eq!(trace.warnings, Warnings::default());
}

#[test]
fn others_do_not_count_where_a_name_is_asked_for() {
    let lines = [
        "b-9 [001] d.... 1.000000000: sys_enter: NR 0 ()",
        "a-1 [000] d.... 1.000000100: sys_enter: NR 56 ()",
        "a-1 [000] d.... 1.000000200: sched_wakeup_new: comm=a pid=2 prio=120",
        "a-1 [000] d.... 1.000000300: sched_switch: prev_comm=a prev_pid=1 prev_prio=1 prev_state=S ==> next_comm=a next_pid=2 next_prio=1",
        "c-2 [000] d.... 1.000000400: sys_exit: NR 56 = 0",
        "b-9 [001] d.... 1.000000500: sched_waking: comm=a pid=1 prio=120",
        "c-2 [000] d.... 1.000000600: sched_switch: prev_comm=c prev_pid=2 prev_prio=1 prev_state=R ==> next_comm=a next_pid=1 next_prio=1",
        "a-1 [000] d.... 1.000000700: sys_exit: NR 56 = 2",
    ];
    let trace = timeline(&lines, Some("a"), None).unwrap();
    let names: Vec<&str> = trace.threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!((names, trace.cpus), (vec!["a", "c"], 1));
    // The other wakes it: nobody who counts.
    assert!(trace.threads[0].spans.contains(&Span::Sleep(200)), "{trace:?}");
    let none = timeline(&lines, Some("z"), None);
    assert_eq!(none, Err(TraceError::NoThread { name: "z".to_owned() }));
}

#[test]
fn programs_that_ran_one_after_the_other_are_not_side_by_side_where_only_they_count() {
    let switch = |time: u32, from: &str, to: &str| {
        let next = format!("next_comm={to} next_prio=1");
        let next = next.replace(" next_prio", &format!(" next_pid={} next_prio", &to[1..]));
        format!(
            "{from}-{} [000] d.... 1.000000{time}: sched_switch: prev_comm={from} prev_pid={} \
             prev_prio=1 prev_state=S ==> {next}",
            &from[1..],
            &from[1..]
        )
    };
    let call = |time: u32, number: u32| {
        format!("c-{number} [000] d.... 1.000000{time}: sys_enter: NR 0 ()")
    };
    let lines = [
        call(100, 1),
        switch(200, "c1", "c2").replace("c1-1", "c-1"),
        call(300, 2),
        switch(400, "c2", "c3").replace("c2-2", "c-2"),
        call(500, 3),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let trace = timeline(&lines, Some("c"), None).unwrap();
    let first: Vec<Option<&Span>> =
        trace.threads.iter().map(|thread| thread.spans.first()).collect();
    assert!(matches!(first[0], Some(Span::Run(..))), "{trace:?}");
    assert!(matches!(first[1], Some(Span::Sleep(200))), "{trace:?}");
    assert!(matches!(first[2], Some(Span::Sleep(400))), "{trace:?}");
}

#[test]
fn timers_wake_whoever_runs_and_threads_of_the_kernel_are_no_programs() {
    let trace = timeline(
        &[
            "b-2 [000] 1.000000000: sys_enter: NR 202 ()",
            "b-2 [000] 1.000000100: sched_switch: b:2 [120] S ==> a:1 [120]",
            // perf and trace-cmd print no flags: that of a timer while a program runs.
            "a-1 [000] 1.000000300: sched_waking: comm=b pid=2 prio=120",
            "a-1 [000] 1.000000400: sched_switch: a:1 [120] R ==> kworker/0:1:7 [120]",
            "kworker/0:1-7 [000] 1.000000500: sched_waking: comm=x pid=9 prio=120",
            "kworker/0:1-7 [000] 1.000000600: sched_switch: kworker/0:1:7 [120] S ==> b:2 [120]",
            "b-2 [000] 1.000000650: sys_exit: NR -1 = 0",
            "b-2 [000] 1.000000700: sys_exit: x",
        ],
        None,
        None,
    )
    .unwrap();
    let of = |number| trace.threads.iter().find(|thread| thread.number == number).unwrap();
    assert_eq!(of(2).spans, [Span::Run(IPC, 100), Span::Sleep(200), Span::Run(IPC, 50)]);
    assert_eq!(of(7).spans[0], Span::Run(PROCESSES, 100));
    assert!(matches!(of(7).spans[1], Span::Wake(_)), "{trace:?}");
    assert_eq!(trace.warnings.unread, 1);
}

#[test]
fn an_interrupt_does_not_end_a_page_fault() {
    let lines = [
        "a-1 [000] d.... 1.000000000: page_fault_user: address=1",
        "a-1 [000] d.... 1.000000200: irq_handler_entry: irq=3 name=x",
        "a-1 [000] d.h.. 1.000000300: irq_handler_exit: irq=3 ret=handled",
        "a-1 [000] d.... 1.000001000: sys_enter: NR 0 ()",
        "a-1 [000] d.... 1.000001100: sched_switch: a:1 [120] S ==> b:2 [120]",
    ];
    let trace = timeline(&lines, Some("a"), Some(700)).unwrap();
    assert_eq!(
        trace.threads[0].spans[..4],
        [
            Span::Run(MEMORY, 200),
            Span::Run(Activity::Interrupt, 100),
            Span::Run(MEMORY, 500),
            Span::Run(USER, 200),
        ]
    );
}

#[test]
fn what_is_no_trace_or_misses_something_is_refused() {
    let fails = |lines: &[&str]| timeline(lines, None, None).unwrap_err().to_string();
    assert!(fails(&["words"]).contains("no line that is an event"));
    assert!(fails(&["a-1 [000] 1.0: sys_enter: NR 0 ()"]).contains("none is sched_switch"));
    let switch = "a-1 [000] 1.000002: sched_switch: a:1 [120] S ==> b:2 [120]";
    assert!(fails(&[switch]).contains("no event of a system call"));
    assert_eq!(fails(&["CPU:1 [LOST 7 EVENTS]"]), "line 1 says that events are lost");
    let back = ["a-1 [000] 1.000003: sys_enter: NR 0 ()", switch];
    assert_eq!(fails(&back), "time goes back in line 2");
    let long = [switch, "a-1 [000] 99999.000003: sys_enter: NR 0 ()"];
    assert!(fails(&long).starts_with("it is 99998 seconds long"), "{}", fails(&long));
}

#[test]
fn locks_of_the_kernel_s_own_are_taken_and_waiting_for_them_is_no_work() {
    let trace = timeline(
        &[
            "a-1 [000] d.... 1.000000000: sys_enter: NR 0 ()",
            "a-1 [000] d.... 1.000000010: lock_acquire: 0xf1 &sb->s_type->i_mutex_key#5",
            "a-1 [000] d.... 1.000000015: lock_acquire: 0xf2 &rq->__lock",
            "a-1 [000] d.... 1.000000020: lock_release: 0xf2 &rq->__lock",
            "b-2 [001] d.... 1.000000020: sys_enter: NR 0 ()",
            "b-2 [001] d.... 1.000000030: lock_acquire: 0xf1 read &sb->s_type->i_mutex_key#5",
            "b-2 [001] d.... 1.000000035: contention_begin: 0xf1 (flags=READ)",
            "b-2 [001] d.... 1.000000036: lock_contended: 0xf1 &sb->s_type->i_mutex_key#5",
            "b-2 [001] d.... 1.000000040: sched_switch: prev_comm=b prev_pid=2 prev_prio=1 prev_state=D ==> next_comm=swapper/1 next_pid=0 next_prio=1",
            "a-1 [000] d.... 1.000000100: lock_release: 0xf1 &sb->s_type->i_mutex_key#5",
            "a-1 [000] d.... 1.000000110: sched_waking: comm=b pid=2 prio=120",
            "<idle>-0 [001] d.... 1.000000120: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=1 prev_state=R ==> next_comm=b next_pid=2 next_prio=1",
            "b-2 [001] d.... 1.000000125: contention_end: 0xf1 (ret=0)",
            "b-2 [001] d.... 1.000000125: lock_acquired: 0xf1 &sb->s_type->i_mutex_key#5",
            "b-2 [001] d.... 1.000000150: lock_release: 0xf1 &sb->s_type->i_mutex_key#5",
            "b-2 [001] d.... 1.000000160: sys_exit: NR 0 = 4",
        ],
        None,
        None,
    )
    .unwrap();
    assert_eq!(trace.locks, ["&sb->s_type->i_mutex_key#5"]);
    assert_eq!(trace.waited, 90);
    assert_eq!(
        trace.threads[0].spans,
        [
            Span::Run(FILES, 10),
            Span::Take(0, Taking::Alone),
            Span::Run(FILES, 90),
            Span::Release(0),
            Span::Run(FILES, 60),
        ]
    );
    let spans = &trace.threads[1].spans;
    let run: Vec<Span> = spans.iter().copied().filter(|span| *span != Span::Sleep(0)).collect();
    assert_eq!(
        run,
        [
            Span::Run(USER, 20),
            Span::Run(FILES, 10),
            Span::Take(0, Taking::Shared),
            Span::Run(FILES, 5),
            Span::Run(FILES, 25),
            Span::Release(0),
            Span::Run(FILES, 10),
        ]
    );
}
