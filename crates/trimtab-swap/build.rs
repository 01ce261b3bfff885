//! Compiles again when a file is added to the folder of a feature, which the compiler does not see.

fn main() {
    println!("cargo:rerun-if-changed=../../linux/coldswap");
}
