#!/usr/bin/env python3
"""Creates slots as a user of NVIDIA's cuda.core does, an allocation each, and prints how long that takes as JSON.

Prints {"skipped": reason} where cuda.core or a GPU is missing.
"""
import json
import statistics
import sys
import time

ROUNDS = 7
BYTES = 4_147_200


def create(resource, slots):
    """Microseconds that it takes, the slots being given back afterwards."""
    start = time.perf_counter_ns()
    made = [resource.allocate(BYTES) for _ in range(slots)]
    took = time.perf_counter_ns() - start
    for slot in made:
        slot.close()
    return took / 1000


def main():
    try:
        from cuda import core

        device = core.Device(0)
        device.set_current()
        options = core.VirtualMemoryResourceOptions(gpu_direct_rdma=True)
        resource = core.VirtualMemoryResource(device, config=options)
        create(resource, 1)
    except Exception as error:  # whatever is missing, the reason is what is told
        return {"skipped": f"cuda.core: {error}"}
    rows = {f"slots:{n}/bytes:{BYTES}": statistics.median(create(resource, n) for _ in range(ROUNDS)) for n in (64, 256)}
    return {"version": core.__version__, "create_us": rows}


if __name__ == "__main__":
    json.dump(main(), sys.stdout)
    print()
