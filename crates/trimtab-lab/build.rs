//! Has the catalogue of workloads embedded anew when a folder of it changes.

fn main() {
    println!("cargo::rerun-if-changed=../../workloads");
}
