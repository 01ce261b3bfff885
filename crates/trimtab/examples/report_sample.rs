//! Writes pages with made-up numbers, to look at what a report looks like.
//!
//!     cargo run -p trimtab --example report_sample -- DIRECTORY

#[path = "../tests/report/sample/mod.rs"]
mod sample;

use std::{env, fs, io, path::PathBuf};
use trimtab_report::Report;

fn main() -> io::Result<()> {
    let directory = PathBuf::from(env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    fs::create_dir_all(&directory)?;
    for spanned in [200, 2048, 6000] {
        let fit = sample::fit_kernel(spanned);
        fs::write(directory.join(format!("fit-{spanned}.html")), fit.page())?;
        fs::write(directory.join(format!("fit-{spanned}.json")), fit.to_json())?;
    }
    let pages = sample::pages(2048);
    fs::write(directory.join("pages.html"), pages.page())?;
    print!("{}\n{}", sample::fit_kernel(2048).terminal(80), pages.terminal(80));
    print!("\n{}\n{}", sample::check().terminal(80), sample::doctor().terminal(80));
    Ok(())
}
