#!/bin/sh
# For machines with two NVMe drives: "publisher", whose controller memory is peer-to-peer memory, and "engine", whose
# DMA engine is to reach it. Makes links of these names in /dev, fills the first 8 MiB of engine with random bytes and
# copies all of it to /before. /publisher gets the publisher's PCI address, /out/bar where its memory lies on the bus.
set -eu
for serial in /sys/class/nvme/*/serial; do
  controller=${serial%/serial}
  name=$(tr -d ' ' <"$serial")
  ln -sf "/dev/${controller##*/}n1" "/dev/$name"
  if [ "$name" = publisher ]; then
    device=$(readlink -f "$controller/device")
    basename "$device" >/publisher
  fi
done
dd if=/dev/urandom of=/dev/engine bs=1M count=8 oflag=direct status=none
dd if=/dev/engine of=/before bs=1M iflag=direct status=none
cat "$device/p2pmem/size" "$device/p2pmem/available" "$device/p2pmem/published"
# Its memory is in the BAR that is as large as that.
size=$(cat "$device/p2pmem/size")
while read -r first last _; do
  [ $((last - first + 1)) -ge "$size" ] && echo "$first $last"
done <"$device/resource" >/out/bar
cat /out/bar
