#!/bin/sh
# Makes the iWARP device siw0 on a network interface that leads nowhere, beside rxe0, and waits until its port is up.
set -e
ip link show dummy1 >/dev/null 2>&1 || ip link add dummy1 type dummy
ip addr add 10.98.0.1/24 dev dummy1
ip link set dummy1 up
rdma link add siw0 type siw netdev dummy1
for _ in $(seq 60); do
  if ibv_devinfo -d siw0 | grep -q PORT_ACTIVE; then
    ibv_devinfo -d siw0
    exit 0
  fi
  sleep 1
done
ibv_devinfo -d siw0
echo "the port of siw0 is not up" >&2
exit 1
