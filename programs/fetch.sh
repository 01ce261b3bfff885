# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What the scripts beside it share: getting sources without changing the machine.

# Unpacks the upstream source of a Debian package into the folder ./source. The lists of source
# packages are read into a folder of our own: the system need not offer sources, and no root is
# needed.
debian_source() {
    local package=$1 lists=$PWD/lists tarball
    [[ -d source ]] && return
    mkdir -p "$lists/partial" cache
    # The system's own entries, for sources in place of programs. It has one of the two files.
    : >lists.sources
    : >lists.list
    if [[ -e /etc/apt/sources.list.d/debian.sources ]]; then
        sed 's/^Types: .*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >lists.sources
    fi
    if [[ -e /etc/apt/sources.list ]]; then
        sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >lists.list
    fi
    local from=lists.list
    [[ -s lists.sources ]] && from=lists.sources
    local apt=(
        apt-get --quiet -o "Dir::Etc::sourcelist=$PWD/$from" -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$lists" -o "Dir::Cache=$PWD/cache" -o APT::Sandbox::User=root
    )
    "${apt[@]}" update >fetch.log 2>&1
    "${apt[@]}" source --download-only --tar-only "$package" >>fetch.log 2>&1 || {
        echo "$0: cannot fetch the source of the package $package; see $PWD/fetch.log" >&2
        return 1
    }
    tarball=$(ls -- *.orig.tar.* | head -n 1)
    mkdir source.tmp
    tar -xf "$tarball" -C source.tmp --strip-components=1
    mv source.tmp source
}

# Unpacks a crate, with what it bundles, into the folder ./source. Its licence must allow that; it
# is not part of what trimtab ships.
crate_source() {
    local name=$1 version=$2
    [[ -d source ]] && return
    mkdir -p vendoring/src
    : >vendoring/src/lib.rs
    printf '[package]\nname = "vendoring"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n%s = "=%s"\n\n[workspace]\n' \
        "$name" "$version" >vendoring/Cargo.toml
    (cd vendoring && cargo vendor --quiet vendor >/dev/null)
    mv "vendoring/vendor/$name" source
    rm -r vendoring
}
