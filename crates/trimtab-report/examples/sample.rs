//! Writes pages with made-up numbers, to look at what a report looks like.
//!
//!     cargo run -p trimtab-report --example sample -- DIRECTORY

#[path = "../tests/sample/mod.rs"]
mod sample;

use std::{env, fs, io, path::PathBuf};
use trimtab_report::{html, table};

fn main() -> io::Result<()> {
    let directory = PathBuf::from(env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    fs::create_dir_all(&directory)?;
    for spanned in [200, 2048, 6000] {
        let fit = sample::fit_kernel(spanned);
        fs::write(directory.join(format!("fit-{spanned}.html")), html::fit_kernel(&fit))?;
        fs::write(directory.join(format!("fit-{spanned}.json")), fit.to_json())?;
    }
    let pages = sample::pages(2048);
    fs::write(directory.join("pages.html"), html::pages(&pages))?;
    print!("{}\n{}", table::fit_kernel(&sample::fit_kernel(2048), 80), table::pages(&pages, 80));
    print!("\n{}\n{}", table::check(&sample::check(), 80), table::doctor(&sample::doctor(), 80));
    Ok(())
}
