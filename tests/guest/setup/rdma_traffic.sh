#!/bin/sh
# A reliable connection of rdma-core's own example program through rxe0: what fails here is not our doing.
set -e
ibv_rc_pingpong --ib-dev=rxe0 --gid-idx=1 --iters=100 &
server=$!
for _ in $(seq 60); do
  sleep 1
  ibv_rc_pingpong --ib-dev=rxe0 --gid-idx=1 --iters=100 127.0.0.1 && break
done
wait "$server"
