#!/usr/bin/env bash
# Run by deb.sh inside the tree: installs the packages of /tmp/packages, uses them, and purges them.
set -euo pipefail # with no grep -q behind a pipe, whose writer would die of SIGPIPE
cd /tmp
names=()
for file in packages/*.deb; do names+=("$(dpkg-deb --field "$file" Package)"); done

fail() {
  echo "in_tree.sh: $*" >&2
  exit 1
}

# Runs a command, and shows what it printed only where it fails.
quietly() {
  "$@" >log 2>&1 || { cat log && fail "$*"; }
}

quietly dpkg --install packages/*.deb
[[ -z $(dpkg --audit) ]]
for name in "${names[@]}"; do dpkg --verify "$name"; done

rdmagpu --version
head -c $((64 * 48 * 5)) /dev/urandom >clip.raw
rdmagpu stream clip.raw --pix gray --size 64x48 --api host --out copy.raw
cmp clip.raw copy.raw
LD_LIBRARY_PATH=$(rdmagpu-testkit path) rdmagpu verify --api cuda --slots 2 --bytes 64K
for page in rdmagpu rdmagpu-testkit; do
  gzip --test "/usr/share/man/man1/$page.1.gz"
  ! command -v man >/dev/null || quietly env MANPAGER=cat man --warnings "$page"
done

bash -c 'source /usr/share/bash-completion/completions/rdmagpu && complete -p rdmagpu' >/dev/null
if command -v zsh >/dev/null; then
  [[ $(zsh -fc 'autoload -Uz compinit && compinit -u -d /tmp/zcompdump && echo $_comps[rdmagpu]') == _rdmagpu ]]
fi
if command -v fish >/dev/null; then
  fish -c 'complete -C "rdmagpu "' | grep '^stream' >/dev/null
fi

# Each as somebody would build it, against what lies in /usr.
for project in find_package pkg_config c testkit score; do
  quietly cmake -G Ninja -S "consumer/$project" -B "build/$project"
  quietly cmake --build "build/$project"
  case $project in
  testkit | score) quietly ctest --test-dir "build/$project" --output-on-failure --no-tests=error ;;
  *) quietly "build/$project/consumer" ;;
  esac
  echo "consumer $project: passes"
done
read -ra flags < <(pkg-config --cflags --libs rdmagpu-c)
cc consumer/c_program.c "${flags[@]}" -o c_program
quietly ./c_program
echo "consumer of C, by pkg-config: passes"

quietly dpkg --purge "${names[@]}"
! grep -i warning log || fail "the purge warns"
for name in "${names[@]}"; do
  ! dpkg-query --show "$name" 2>/dev/null || fail "$name is still known"
done
[[ ! -e /usr/bin/rdmagpu ]] || fail "the program is still there"
