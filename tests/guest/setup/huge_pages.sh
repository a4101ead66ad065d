#!/bin/sh
# Reserves huge pages of 2 MiB on each NUMA node; fails where the kernel finds fewer.
set -e
wanted=$1
for node in /sys/devices/system/node/node[0-9]*; do
  pool=$node/hugepages/hugepages-2048kB/nr_hugepages
  echo "$wanted" >"$pool"
  echo "${node##*/}: $(cat "$pool") huge pages"
  [ "$(cat "$pool")" = "$wanted" ]
done
