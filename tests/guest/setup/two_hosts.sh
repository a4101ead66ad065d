#!/bin/sh
# two_hosts.sh PROGRAM: rdmagpu verify between two network namespaces, with an RDMA device in each, over a veth pair.
# Kernels before 7 cannot give an RDMA device to a namespace: exit status 77.
set -eu
program=$1
rdma system set netns exclusive
for host in 1 2; do ip netns add host$host; done
ip link add veth1 netns host1 type veth peer name veth2 netns host2
for host in 1 2; do
  ip netns exec host$host ip addr add 10.97.0.$host/24 dev veth$host
  ip netns exec host$host ip link set veth$host up mtu 4096
  ip netns exec host$host ip link set lo up
  ip netns exec host$host rdma link add nic$host type rxe netdev veth$host
  if ! rdma dev set nic$host netns host$host; then
    echo "this kernel gives no RDMA device to a network namespace" >&2
    exit 77
  fi
done
# Both waits end with the machine's limit at the latest.
for host in 1 2; do
  until ip netns exec host$host grep -q 0a61:000$host /sys/class/infiniband/nic$host/ports/1/gids/1; do sleep 0.2; done
done
ip netns exec host2 "$program" verify --peer verbs:nic2 --listen &
server=$!
until ip netns exec host2 grep -q ':4854 .* 0A ' /proc/net/tcp /proc/net/tcp6; do # port 18516, listened on
  kill -0 "$server" # unless it has ended
  sleep 0.2
done
ip netns exec host1 "$program" verify --peer verbs:nic1 --to 10.97.0.2 --slots 3 --bytes 300000
wait "$server"
