//! Compiles again when a file is added to a folder that is taken in whole, which the compiler does not see.

fn main() {
    println!("cargo::rerun-if-changed=../../guest/smp");
    println!("cargo::rerun-if-changed=../../linux/appkernel");
    println!("cargo::rerun-if-changed=../../linux/calls");
    println!("cargo::rerun-if-changed=../../linux/disk");
    println!("cargo::rerun-if-changed=../../linux/null-block");
}
