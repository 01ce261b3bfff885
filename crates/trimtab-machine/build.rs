//! Compiles again when a file is added to the folder of a feature, which the compiler does not see.

fn main() {
    for name in ["disk", "null-block", "modules"] {
        println!("cargo:rerun-if-changed=../../linux/{name}");
    }
}
