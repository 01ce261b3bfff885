//! Instruments objects: `rewrite HOOK in.o out.o`.
use trimtab_probe::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let options =
        Options { hook: Hook::from_name(&a[1]).unwrap(), selection: Selection::default() };
    match instrument(&std::fs::read(&a[2]).unwrap(), &options) {
        Ok(r) => {
            std::fs::write(&a[3], r.bytes).unwrap();
            eprintln!("{} done, {} framed, left {:?}", r.instrumented.len(), r.with_frame, r.left);
        }
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(1)
        }
    }
}
