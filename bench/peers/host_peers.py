#!/usr/bin/env python3
"""What Python programs use for pinned memory, beside the case `host` of streampool-bench: pairs of CuPy's pinned memory pool
(cupy.cuda.PinnedMemoryPool) and of PyTorch's caching host allocator (torch.empty with pin_memory).

  host_peers.py [--rounds N] [--pairs N] --json FILE

Measures those that are installed in interleaved rounds, and writes results as streampool-bench does. A sample is the mean of
many pairs of a block and its end, with what Python adds.
"""

import argparse
import sys
import time

import peer_results

SIZES = {'64 KiB': 64 << 10, '1 MiB': 1 << 20, '16 MiB': 16 << 20}


def cupy_peer():
    """Its name and version, the device's name, and what allocates a block that ends with its last reference."""
    import cupy
    pool = cupy.cuda.PinnedMemoryPool()
    return ('CuPy, pinned', f'CuPy {cupy.__version__}', cupy.cuda.runtime.getDeviceProperties(0)['name'].decode(), pool.malloc)


def torch_peer():
    import torch
    torch.cuda.init()
    return ('PyTorch, pinned', f'PyTorch {torch.__version__}', torch.cuda.get_device_name(0),
            lambda size: torch.empty(size, dtype=torch.uint8, pin_memory=True))


def mean_of_pairs(allocate, size, pairs):
    """In nanoseconds."""
    begin = time.perf_counter_ns()
    for _ in range(pairs):
        allocate(size)  # nobody keeps it
    return (time.perf_counter_ns() - begin) / pairs


def measure(peers, setting, rounds, pairs):
    """The first round warms up."""
    samples = [[mean_of_pairs(allocate, SIZES[setting], pairs) for _, _, _, allocate in peers] for _ in range(rounds + 1)][1:]
    for (subject, version, device, _), of_peer in zip(peers, zip(*samples)):
        yield peer_results.result(of_peer, device=device, library=version, case='host', setting=f'pair of {setting}',
                                  at=SIZES[setting], subject=subject, unit='ns')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=21)
    parser.add_argument('--pairs', type=int, default=2000)
    parser.add_argument('--json', required=True)
    given = parser.parse_args()
    peers = list(peer_results.installed([cupy_peer, torch_peer]))
    if not peers:
        return 'neither CuPy nor PyTorch is installed'
    peer_results.write(given.json, [one for setting in SIZES for one in measure(peers, setting, given.rounds, given.pairs)])
    return 0


if __name__ == '__main__':
    sys.exit(main())
