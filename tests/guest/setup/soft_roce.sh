#!/bin/sh
# Makes the RDMA device rxe0 on a network interface that leads nowhere, and waits until its port is up.
# GID 0 is the one of the link-local IPv6 address, GID 1 that of 10.99.0.1.
set -e
ip link show dummy0 >/dev/null 2>&1 || ip link add dummy0 type dummy # the module may have made it
ip addr add 10.99.0.1/24 dev dummy0
ip link set dummy0 up mtu 4096
rdma link add rxe0 type rxe netdev dummy0
for _ in $(seq 60); do
  if ibv_devinfo -d rxe0 | grep -q PORT_ACTIVE && grep -q 0a63:0001 /sys/class/infiniband/rxe0/ports/1/gids/1; then
    ibv_devinfo -d rxe0
    exit 0
  fi
  sleep 1
done
ibv_devinfo -d rxe0
echo "the port of rxe0 is not up" >&2
exit 1
