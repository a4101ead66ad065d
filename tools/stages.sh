# shellcheck shell=bash
# shellcheck disable=SC2154 # jobs, logs, all, install and skipped_status are those of ./test
#
# The stages of ./test, which sources this file. Each runs in a shell of its own under set -e.

skip() { # reason
  echo "skipped: $1"
  echo "$1" >"$logs/skip"
  exit "$skipped_status"
}

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi

# Without a terminal only warnings, errors and failures are worth a line.
ninja_options=()
[[ -t 1 ]] || ninja_options=(-- --quiet)

# The shadow memory of the sanitizers collides with mappings that a kernel with many bits of address
# randomisation makes. Where personality() is forbidden, as in some containers, we take the chance.
without_aslr=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
  without_aslr=(setarch "$(uname -m)" -R)
fi
runner=() # what builds (which run test programs to list their tests) and tests are started with

configure() { # preset cmake-options...
  local preset=$1
  shift
  cmake --preset "$preset" "${launcher[@]}" "$@" >"$logs/configure-$preset.log" 2>&1 ||
    { cat "$logs/configure-$preset.log" && return 1; }
}

configure_and_build() { # preset cmake-options...
  local preset=$1
  shift
  configure "$preset" -DRDMAGPU_BUILD_TESTS=ON "$@"
  "${runner[@]}" cmake --build "build/$preset" --parallel "$jobs" "${ninja_options[@]}"
}

run_ctest() { # preset ctest-options...
  local preset=$1
  shift
  "${runner[@]}" ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --parallel "$jobs" "$@" 2>&1 |
    tee "$logs/ctest-$preset.log"
}

# Files of the tree by name, each with a null after it, without what was built.
files() { # pattern...
  local pattern expression=(-false)
  for pattern; do expression+=(-o -name "$pattern"); done
  find . \( -name .git -o -path './build*' \) -prune -o -type f \( "${expression[@]}" \) -print0
}

install_packages() {
  if ((all)); then tools/setup all; else tools/setup build media test; fi
}

check_format() {
  local version
  version=$(clang-format --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p')
  [[ $version == 14 ]] || skip "clang-format 14 decides the format, this is ${version:-absent}"
  files '*.cpp' '*.hpp' '*.h' | xargs -0 clang-format --dry-run -Werror
}

check_sources() {
  python3 tools/check_layers.py
  python3 tools/check_docs.py
  python3 tools/check_sizes.py
  shellcheck ./test ./quickstart .ci/run tools/setup tools/stages.sh tools/package python/check-wheel
  shellcheck tests/packages/*.sh
  shellcheck tests/guest/init tests/guest/steps.sh tests/guest/setup/*.sh
  files '*.1' | xargs -0 --no-run-if-empty mandoc -T lint -W warning
}

build_release() {
  local bench=OFF
  ((all)) && bench=ON
  configure_and_build release -DRDMAGPU_BUILD_BENCH=$bench -DRDMAGPU_BUILD_EXAMPLES=ON
}

test_release() { run_ctest release; }

# On kernels of the distribution in an emulated machine: tests/guest/README.md. What could not be run is named.
test_guest() {
  local reasons
  ctest --test-dir build/release --build-config Guest --label-regex guest --output-on-failure --no-tests=error \
    --parallel "$jobs" 2>&1 | tee "$logs/ctest-guest.log"
  reasons=$(sed -n 's/^skipped: //p' build/release/Testing/Temporary/LastTest.log | sort -u | paste -sd ';')
  [[ -z $reasons ]] || skip "all or some of it: $reasons"
}

# The tests of the insides stay with the static library; here it is what a consumer sees.
test_shared() {
  configure shared
  cmake --build build/shared --parallel "$jobs" --target src/all cli/all examples/all testkit/all "${ninja_options[@]}"
  run_ctest shared --label-regex package
}

# Of the shared library's build; nothing but a file that knows where libraries lie is compiled again.
test_packages() {
  local kind status=0 reasons=()
  command -v dpkg-shlibdeps >/dev/null || skip "no dpkg-dev: packages are built on Debian"
  tools/package --no-build deb >"$logs/package-deb.log" 2>&1 || { cat "$logs/package-deb.log" && return 1; }
  if command -v rpmbuild >/dev/null; then
    tools/package --no-build rpm >"$logs/package-rpm.log" 2>&1 || { cat "$logs/package-rpm.log" && return 1; }
  else
    reasons+=(".rpm: no rpmbuild")
  fi
  for kind in deb rpm; do
    [[ $kind == deb || ${#reasons[@]} == 0 ]] || continue
    status=0
    tests/packages/$kind.sh build/shared/packages 2>&1 | tee "$logs/packages-$kind.log" || status=$?
    ((status == 0 || status == skipped_status)) || return 1
    ((status == 0)) || reasons+=("$(sed -n 's/^skipped: //p' "$logs/packages-$kind.log")")
  done
  ((${#reasons[@]} == 0)) || skip "$(printf '%s; ' "${reasons[@]}")"
}

# The wheel of the Python package, with what it needs from PyPI.
test_wheel() {
  local status=0
  python/check-wheel 2>&1 | tee "$logs/wheel.log" || status=$?
  ((status != skipped_status)) || skip "$(sed -n 's/^skipped: //p' "$logs/wheel.log")"
  return "$status"
}

# For Windows, by the cross compiler and under Wine, whose first start makes its own folder.
test_windows() {
  local wine
  command -v x86_64-w64-mingw32-g++-posix >/dev/null || skip "no x86_64-w64-mingw32-g++-posix"
  wine=$(PATH=$PATH:/usr/lib/wine command -v wine64 || command -v wine) || skip "no Wine"
  export WINEPREFIX=$PWD/build/windows-prefix WINEARCH=win64 WINEDEBUG=-all WINEDLLOVERRIDES="mscoree=d;mshtml=d"
  configure_and_build windows
  "$wine" wineboot -i >"$logs/wine.log" 2>&1 || { cat "$logs/wine.log" && return 1; }
  run_ctest windows
  "${wine/wine64/wineserver64}" -k 2>/dev/null || true
}

# By the build for ThreadSanitizer, of which it reads the precompiled headers. What is for Windows alone no build of
# Clang's has: it does not find windows.h.
run_clang_tidy() {
  local version
  version=$(clang-tidy --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p')
  [[ $version == 14 ]] || skip "clang-tidy 14 decides, this is ${version:-absent}"
  find src cli examples -name '*.cpp' ! -name '*_windows.cpp' -print0 |
    xargs -0 --max-procs "$jobs" --max-args 1 clang-tidy -p build/tsan --quiet --warnings-as-errors='*'
}

# One build for the sanitizers and for coverage, as neither wants it optimised.
test_asan() {
  export ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=1
  export UBSAN_OPTIONS=print_stacktrace=1
  runner=("${without_aslr[@]}")
  configure_and_build asan
  find build/asan -name '*.gcda' -delete
  run_ctest asan
  gcovr --root . --filter src/ --fail-under-line 90 --print-summary -j "$jobs" build/asan/src
}

# Clang's, so that its warnings see all there is without a build of their own.
test_tsan() {
  export TSAN_OPTIONS="second_deadlock_stack=1 suppressions=$PWD/tools/tsan.supp"
  runner=("${without_aslr[@]}")
  configure_and_build tsan
  run_ctest tsan
}

# A build of its own: what fuzzers bring does not mix with ThreadSanitizer.
test_fuzz() {
  configure fuzz -DRDMAGPU_BUILD_TESTS=ON
  cmake --build build/fuzz --parallel "$jobs" --target fuzzers "${ninja_options[@]}"
  run_ctest fuzz --tests-regex '^fuzz[.]'
}

# On the build that is there already: an optimised one takes half the time, and what the optimiser reads and then
# ignores is in valgrind.supp, by function.
test_memcheck() { python3 tools/memcheck.py build/release --jobs "$jobs"; }

run_benchmarks() {
  local program
  for program in $(find build/release/bench -maxdepth 1 -type f -executable | sort); do
    echo "${program##*/}"
    RDMAGPU_BENCH_ONCE=1 "$program" --benchmark_min_time=0.01 >"$logs/bench.log" 2>&1 || { cat "$logs/bench.log" && return 1; }
  done
}

run_quickstart() {
  if ((install)); then ./quickstart; else ./quickstart --no-setup; fi
}
