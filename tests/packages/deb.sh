#!/usr/bin/env bash
# Checks .deb packages, and installs, uses and purges them in an overlay of a Debian tree, which stays as it is.
#
# usage: deb.sh FOLDER [TREE]
#   FOLDER   has the packages
#   TREE     a Debian tree with g++, cmake, ninja-build and pkg-config, as debootstrap makes one; / by default
# Ends with 77, and says why, where it cannot be done.
set -euo pipefail # with no grep -q behind a pipe, whose writer would die of SIGPIPE
packages=$(realpath "$1")
tree=$(realpath "${2:-/}")
here=$(dirname "$(realpath "$0")")
sources=$(realpath "$here/../..")

fail() {
  echo "deb.sh: $*" >&2
  exit 1
}

names=()
for file in "$packages"/*.deb; do names+=("$(dpkg-deb --field "$file" Package)"); done
[[ ${names[*]} == *librdmagpu-c0* ]] || fail "no packages in $packages"

check_contents() {
  local file folder elf
  folder=$(mktemp -d)
  for file in "$packages"/*.deb; do dpkg-deb --extract "$file" "$folder"; done
  while IFS= read -r elf; do
    readelf --dynamic "$elf" >"$folder/dynamic"
    ! grep -E 'RPATH|RUNPATH' "$folder/dynamic" || fail "$elf has a run path"
    grep -q BIND_NOW "$folder/dynamic" || fail "$elf is not bound at start"
    readelf --program-headers --wide "$elf" | grep GNU_RELRO >/dev/null || fail "$elf has no relro"
    ! readelf --sections --wide "$elf" | grep ' \.symtab ' >/dev/null || fail "$elf is not stripped"
    [[ $elf != */bin/* ]] || readelf --file-header "$elf" | grep 'DYN' >/dev/null || fail "$elf is no PIE"
  done < <(find "$folder/usr/bin" "$folder/usr/lib" -type f \( -path '*/bin/*' -o -name '*.so.*' \))
  rm -rf "$folder"
  dpkg-deb --field "$packages"/librdmagpu-c0_*.deb Depends | grep 'librdmagpu0.1 (>= ' >/dev/null || fail "the library of C needs none of C++"
  ! dpkg-deb --info "$packages"/rdmagpu-testkit_*.deb shlibs 2>/dev/null || fail "the testkit offers its libcuda.so.1"
}
check_contents

if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error,warning "$packages"/*.deb
else
  echo "not run: lintian, which is not installed"
fi

skip() {
  echo "skipped: installation of .deb packages: $1"
  exit 77
}
((EUID == 0)) || skip "needs root"
unshare --mount true 2>/dev/null || skip "no mount namespace can be made here"
[[ -x $tree/usr/bin/dpkg ]] || skip "no dpkg in $tree"
! dpkg --root="$tree" --status librdmagpu-c0 >/dev/null 2>&1 || skip "the packages are installed in $tree already"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export packages tree here sources work
# What is mounted goes with the namespace.
unshare --mount --pid --fork bash -euo pipefail <<'END'
mount -t tmpfs tmpfs "$work"
mkdir "$work"/{upper,work,root}
if ! mount -t overlay overlay -o "lowerdir=$tree,upperdir=$work/upper,workdir=$work/work" "$work/root" 2>"$work/why"; then
  echo "skipped: installation of .deb packages: $(<"$work/why")"
  exit 77
fi
mount -t proc proc "$work/root/proc"
mount --rbind /dev "$work/root/dev"
mount --rbind /sys "$work/root/sys"
mount -t tmpfs tmpfs "$work/root/tmp"
mkdir "$work/root/tmp/packages" "$work/root/tmp/consumer"
cp "$packages"/*.deb "$work/root/tmp/packages"
cp -r "$sources"/tests/consumer/* "$work/root/tmp/consumer"
cp "$here/in_tree.sh" "$work/root/tmp"
chroot "$work/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
  bash /tmp/in_tree.sh
# What dpkg, ldconfig and man-db keep of their own is no package's.
left=$(cd "$work/upper" && find . ! -type d | grep -vE \
  '^\./(var/lib/dpkg/|var/log/|var/cache/(ldconfig|man|debconf)/|etc/ld\.so\.cache$|var/lib/apt/)' || true)
left+=$(cd "$work/upper" && find . -type d -path '*rdmagpu*')
left+=$(cd "$work/upper/var/lib/dpkg" && find . -name '*rdmagpu*')
if [[ $left ]]; then
  printf 'deb.sh: left after the purge:\n%s\n' "$left" >&2
  exit 1
fi
END
echo "deb.sh: ${names[*]}: installed, used and purged"
