//! More of the device tree of a machine that has one.

use super::{BootError, BootRequest, command};
use crate::arch::Platform;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trimtab_lab::process::Job;
use trimtab_lab::tools::{self, ToolError};

/// The whole tree, in the folder of a boot.
const TREE: &str = "device-tree.dtb";
/// How long QEMU and the compiler may take each.
const LIMIT: Duration = Duration::from_secs(60);

/// Nodes and properties that a machine's device tree has beside those that QEMU gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceTree {
    source: String,
    compiler: PathBuf,
}

impl DeviceTree {
    /// QEMU's with `source`, which is in the form of the device tree compiler, without a version: `/ { ... };`.
    /// What is in both is as `source` has it.
    ///
    /// # Errors
    /// There is no compiler of device trees.
    pub fn adding(source: &str) -> Result<Self, ToolError> {
        Ok(Self { source: source.to_owned(), compiler: tools::find("dtc")?.path })
    }

    /// What is added.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// Has QEMU write the tree of the machine that it makes for these `arguments`, and compiles both as one.
    /// The path of that.
    ///
    /// # Errors
    /// QEMU or the compiler fails, as it does where `source` is wrong.
    pub(super) fn compile(
        &self,
        request: &BootRequest,
        arguments: Vec<OsString>,
    ) -> Result<PathBuf, BootError> {
        let (machine, tree) = (request.folder.join("machine.dtb"), request.folder.join(TREE));
        Job::new("asking QEMU for the machine's device tree", request.qemu.program())
            .tool(request.qemu.isa().qemu())
            .args(arguments)
            .arg("-machine")
            .arg(command::option("dumpdtb=", &machine))
            .limit(LIMIT)
            .run()?;
        let own = self.job("dtb", "dts").arg(&machine).run_captured()?;
        // Nodes of one path are one node.
        let source = request.folder.join("device-tree.dts");
        fs::write(&source, [&own, "\n", &self.source].concat())
            .map_err(|error| BootError::File { path: source.clone(), source: error })?;
        self.job("dts", "dtb").arg("-o").arg(&tree).arg(&source).run()?;
        Ok(tree)
    }

    /// The compiler, which does not say what it thinks of QEMU's tree.
    fn job(&self, from: &str, to: &str) -> Job {
        Job::new("compiling the machine's device tree", &self.compiler)
            .tool("dtc")
            .args(["-q", "-I", from, "-O", to])
            .limit(LIMIT)
    }
}

/// Where the tree is called the same, whatever boot it is of.
pub(super) fn name() -> &'static Path {
    Path::new(TREE)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::boot;
    use super::*;
    use crate::qemu::Qemu;
    use crate::testing;
    use trimtab_lab::cache::{Hashes, Key};
    use trimtab_program::Isa;

    /// A request whose QEMU only has a device tree, and says what ours says.
    fn request(folder: &Path, isa: Isa) -> BootRequest {
        let tree = "/dts-v1/; / { compatible = \"a\"; bus { #address-cells = <1>; }; };";
        let qemu = format!(
            "#!/bin/sh\ncase $1 in\n--version) echo QEMU emulator version 7.2.0; exit;;\n--help) exit;;\nesac\n\
             for word; do\ncase $word in\n\
             dumpdtb=*) echo '{tree}' | dtc -q -I dts -O dtb -o \"${{word#dumpdtb=}}\"; exit;;\nesac\ndone\n\
             echo 'trimtab: ready'; echo 'trimtab: uptime 0.5'; echo 'trimtab: finished 1'; echo 'trimtab: end'\n"
        );
        let qemu = Qemu::probe(&testing::program(folder, "qemu", &qemu), isa).unwrap();
        for name in ["kernel", "root"] {
            fs::write(folder.join(name), "").unwrap();
        }
        let at = |name| folder.join(name);
        BootRequest::new(qemu, at("kernel"), at("root"), at("boot"))
    }

    #[test]
    fn what_is_added_is_in_one_tree_with_qemus_own() {
        let folder = tempfile::tempdir().unwrap();
        let mut request = request(folder.path(), Isa::Aarch64);
        let added = "/ { bus { device@1 { memory-region = <&m>; }; }; m: memory { }; };";
        request.device_tree = Some(DeviceTree::adding(added).unwrap());
        let line = boot(&request).unwrap().command_line;
        let tree = request.folder.join(TREE);
        assert!(line.contains(&format!(" -dtb {} ", tree.display())), "{line}");
        assert!(!line.contains("dumpdtb"), "{line}");
        let job = Job::new("reading a device tree", Path::new("dtc"));
        let read = job.args(["-q", "-I", "dtb", "-O", "dts"]).arg(&tree).run_captured().unwrap();
        for words in ["compatible = \"a\";", "#address-cells", "device@1 {", "phandle = <0x01>;"] {
            assert!(read.contains(words), "{words}: {read}");
        }
    }

    #[test]
    fn a_tree_that_is_wrong_or_that_the_machine_has_not_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let failure = |isa, added: &str| {
            let mut request = request(folder.path(), isa);
            request.device_tree = Some(DeviceTree::adding(added).unwrap());
            boot(&request).unwrap_err().to_string()
        };
        let text = failure(Isa::Aarch64, "/ { a = <&nobody>; };");
        assert!(text.contains("compiling the machine's device tree failed"), "{text}");
        let text = failure(Isa::X86_64, "/ { };");
        assert_eq!(
            text,
            "cannot boot a machine with more in its device tree, of which it has none"
        );
    }

    #[test]
    fn a_boot_is_known_by_what_is_added() {
        let folder = tempfile::tempdir().unwrap();
        let mut request = request(folder.path(), Isa::Aarch64);
        let (kernel, rest, hashes) =
            (Key::new("kernel"), Key::new("rest"), Hashes::open(folder.path().join("hashes")));
        let mut key = |added: Option<&str>| {
            request.device_tree = added.map(|added| DeviceTree::adding(added).unwrap());
            request.key(&kernel, &rest, &hashes).unwrap()
        };
        let keys = [None, Some("/ { };"), Some("/ { a; };"), None].map(&mut key);
        assert_eq!(keys[0], keys[3]);
        assert!(keys[0] != keys[1] && keys[1] != keys[2], "{keys:?}");
    }
}
