//! Compiles again when a file is added to a folder that is taken in whole, which the compiler does not see.

fn main() {
    println!("cargo::rerun-if-changed=../../guest/rent");
    println!("cargo::rerun-if-changed=../../linux/rent-devices");
    println!("cargo::rerun-if-changed=../../linux/rent-gcma");
    println!("cargo::rerun-if-changed=../../linux/rental");
    println!("cargo::rerun-if-changed=../../linux/rental-heap");
    println!("cargo::rerun-if-changed=../../linux/rental-mutants");
}
