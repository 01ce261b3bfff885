# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sources of Debian's packages, for the scripts beside."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def source(package, work, errors=sys.stderr):
    """Unpacks a package's source below a folder; gives its folder, or none where that failed."""
    fetch = ["cargo", "run", "--quiet", "--release", "--package", "trimtab-lab", "--example", "debian_source", "--"]
    done = subprocess.run([*fetch, package, str(work)], cwd=HERE, stdout=subprocess.PIPE, stderr=errors, text=True, check=False)
    return None if done.returncode else done.stdout.splitlines()[-1]
