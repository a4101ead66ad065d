#!/bin/sh
# Prints the instructions of a slot's round trip (acquire, publish, take, release), for each policy.
# Usage: bench/ring_instructions.sh BUILD_DIR
# The difference of two runs leaves out what the program does once.
set -eu
program=${1:?usage: ring_instructions.sh BUILD_DIR}/bench/bench_ring_hot_path

count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 |
    sed -n 's/.*Collected : *//p'
}

for policy in fifo newest; do
  few=$(count 1000 $policy)
  many=$(count 101000 $policy)
  echo "$policy: $(((many - few) / 100000)) instructions a round trip"
done
