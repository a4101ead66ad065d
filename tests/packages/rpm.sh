#!/usr/bin/env bash
# Checks .rpm packages: what they have and need, and that rpm installs them into an empty tree and erases them again.
#
# usage: rpm.sh FOLDER
# There is no system of rpm's here: what they need is looked at, not resolved.
set -euo pipefail # with no grep -q behind a pipe, whose writer would die of SIGPIPE
packages=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
export HOME=$work # where Debian's rpm has its database

fail() {
  echo "rpm.sh: $*" >&2
  exit 1
}

needs() { rpm --query --package --requires "$packages"/"$1"-[0-9]*.rpm; }
offers() { rpm --query --package --provides "$packages"/"$1"-[0-9]*.rpm; }
has() { rpm --query --package --list "$packages"/"$1"-[0-9]*.rpm | grep -x "$2" >/dev/null || fail "$1 has no $2"; }

has rdmagpu-libs '/usr/lib64/librdmagpu\.so\.0\.1'
has rdmagpu-c-libs '/usr/lib64/librdmagpu_c\.so\.0'
has rdmagpu-devel '/usr/lib64/cmake/rdmagpu/rdmagpuConfig\.cmake'
has rdmagpu-devel '/usr/lib64/pkgconfig/rdmagpu-c\.pc'
has rdmagpu-devel '/usr/include/rdmagpu/rdmagpu\.h'
has rdmagpu-tools '/usr/share/man/man1/rdmagpu\.1\.gz'
has rdmagpu-tools '/usr/share/zsh/site-functions/_rdmagpu'
has rdmagpu-testkit '/usr/lib64/rdmagpu/testkit/cuda/libcuda\.so\.1'
offers rdmagpu-libs | grep '^librdmagpu\.so\.0\.1()(64bit)' >/dev/null || fail "rdmagpu-libs does not offer its library"
! offers rdmagpu-testkit | grep libcuda || fail "the testkit offers itself as the driver"
needs rdmagpu-c-libs | grep '^librdmagpu\.so\.0\.1()(64bit)' >/dev/null || fail "rdmagpu-c-libs does not need the library behind it"
needs rdmagpu-tools | grep '^librdmagpu\.so\.0\.1()(64bit)' >/dev/null || fail "rdmagpu-tools does not need the library"
needs rdmagpu-devel | grep '^rdmagpu-libs = ' >/dev/null || fail "rdmagpu-devel does not need its own libraries"

mkdir "$tree"
rpm=(rpm --root "$tree" --dbpath /var/lib/rpm)
if ! "${rpm[@]}" --initdb 2>"$work/why"; then
  echo "skipped: installation of .rpm packages: $(<"$work/why")"
  exit 77
fi
"${rpm[@]}" --install --nodeps --noscripts "$packages"/*.rpm
LD_LIBRARY_PATH=$tree/usr/lib64 "$tree/usr/bin/rdmagpu" --version
LD_LIBRARY_PATH=$tree/usr/lib64:$("$tree/usr/bin/rdmagpu-testkit" path) "$tree/usr/bin/rdmagpu" verify --api cuda --slots 2 --bytes 64K
mapfile -t names < <("${rpm[@]}" --query --all --queryformat '%{NAME}\n')
((${#names[@]} >= 5)) || fail "installed: ${names[*]}"
"${rpm[@]}" --erase --nodeps --noscripts "${names[@]}"
left=$(find "$tree" -path "$tree/var/lib/rpm" -prune -o -path '*rdmagpu*' -print)
[[ -z $left ]] || fail "left: $left"
echo "rpm.sh: ${names[*]}: installed into an empty tree, run and erased"
