#!/usr/bin/env python3
"""What Python programs use to copy, beside the case `copy` of streampool-bench: PyTorch's copies of pageable and of pinned tensors
(`.to('cuda', non_blocking=True)` and `copy_`), and KvikIO's reads and writes of a file (kvikio.CuFile with a CuPy array, in its
compatibility mode).

  copy_peers.py [--rounds N] --json FILE

Measures those that are installed, and writes results as streampool-bench does, by the names of its rows. All copies are finished
by a synchronise, and their bytes are compared before they are measured. PyTorch takes the device's memory from its pool at each
copy, as programs let it. KvikIO has 8 threads, as many as the library takes at most, unless KVIKIO_NTHREADS says otherwise. The
file lies in TMPDIR, /var/tmp or the current folder, in the first one that is on a disk, and has no name.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import peer_results

KIB, MIB = 1 << 10, 1 << 20
SMALL = {'64 B': 64, '512 B': 512, '4 KiB': 4 * KIB, '16 KiB': 16 * KIB, '32 KiB': 32 * KIB, '64 KiB': 64 * KIB,
         '128 KiB': 128 * KIB, '256 KiB': 256 * KIB}
LARGE = {'1 MiB': MIB, '4 MiB': 4 * MIB, '16 MiB': 16 * MIB, '64 MiB': 64 * MIB, '256 MiB': 256 * MIB, '1 GiB': 1024 * MIB}
SAMPLE = 16 * MIB  # smaller copies are made until they are so many bytes
SMALL_COPIES = 100
FILE_ROUNDS = 5


def spared():
    """A sixteenth of the machine's memory at most, as streampool-bench takes."""
    most = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') // 16
    return max(size for size in LARGE.values() if size <= most)


def measured(rounds, samplers):
    """The samples of each in interleaved rounds. The first round warms up."""
    return zip(*[[sample() for sample in samplers] for _ in range(rounds + 1)][1:])


# ---------------------------------------------------------------------------------------------------------------- PyTorch

class Torch:
    """Tensors of the host, pageable and pinned, and copies of slices of them."""

    def __init__(self):
        import torch
        torch.cuda.init()
        self.torch, self.size = torch, spared()
        self.told = {'device': torch.cuda.get_device_name(0), 'library': f'PyTorch {torch.__version__}', 'case': 'copy'}
        bytes_of = torch.arange(self.size // 8, dtype=torch.int64).view(torch.uint8)
        self.sources = {'PyTorch, pageable': bytes_of, 'PyTorch, pinned': bytes_of.pin_memory()}
        self.targets = {name: torch.empty(self.size, dtype=torch.uint8, pin_memory=source.is_pinned()).fill_(1)
                        for name, source in self.sources.items()}
        self.on_device = bytes_of.to('cuda')

    def to_device(self, subject, at, size):
        copied = self.sources[subject][at:at + size].to('cuda', non_blocking=True)
        self.torch.cuda.synchronize()
        return copied

    def to_host(self, subject, at, size):
        self.targets[subject][at:at + size].copy_(self.on_device[at:at + size], non_blocking=True)
        self.torch.cuda.synchronize()

    def check(self):
        for subject, source in self.sources.items():
            self.on_device.zero_()
            self.on_device.copy_(self.to_device(subject, 0, self.size))
            self.to_host(subject, 0, self.size)
            if not self.torch.equal(source, self.targets[subject]):
                sys.exit(f'{subject}: a byte is another one')

    def rate(self, copy, subject, size):
        """In bytes per nanosecond, which are GB/s."""
        copied = min(max(size, SAMPLE), self.size) // size * size
        begin = time.perf_counter_ns()
        for at in range(0, copied, size):
            copy(subject, at, size)
        return copied / (time.perf_counter_ns() - begin)

    @staticmethod
    def mean(copy, subject, size):
        """Of one copy, in microseconds."""
        begin = time.perf_counter_ns()
        for _ in range(SMALL_COPIES):
            copy(subject, 0, size)
        return (time.perf_counter_ns() - begin) / SMALL_COPIES / 1000

    def results(self, rounds):
        self.check()
        for sizes, sample, unit in (SMALL, self.mean, 'us'), (LARGE, self.rate, 'GB/s'):
            for name, size in sizes.items():
                if size > self.size:
                    print(f'{name}: left out, copies have {self.size // MIB} MiB here')
                    continue
                for direction, copy in ('in', self.to_device), ('out', self.to_host):
                    samplers = [lambda subject=subject: sample(copy, subject, size) for subject in self.sources]
                    for subject, samples in zip(self.sources, measured(rounds, samplers)):
                        yield peer_results.result(samples, setting=f'{name}, {direction}', at=size, subject=subject, unit=unit,
                                                  **self.told)


# ----------------------------------------------------------------------------------------------------------------- KvikIO

def folder_on_disk():
    """Nothing where there is none."""
    for folder in os.environ.get('TMPDIR'), '/var/tmp', '.':
        if folder and os.access(folder, os.W_OK):
            kind = subprocess.run(['stat', '-f', '-c', '%T', folder], check=True, capture_output=True, text=True).stdout.strip()
            if kind not in ('tmpfs', 'ramfs'):
                return folder
    return None


class Kvikio:
    """A file that was written, and an array of the device of the same size."""

    def __init__(self):
        os.environ.setdefault('KVIKIO_COMPAT_MODE', 'ON')
        os.environ.setdefault('KVIKIO_NTHREADS', '8')
        import cupy
        import kvikio
        self.cupy, self.kvikio = cupy, kvikio
        self.told = {'device': cupy.cuda.runtime.getDeviceProperties(0)['name'].decode(), 'library': f'KvikIO {kvikio.__version__}',
                     'case': 'copy', 'subject': 'KvikIO', 'unit': 'GB/s'}

    def open(self, folder):
        room = os.statvfs(folder)
        size = spared()
        while size > room.f_bavail * room.f_frsize // 2:
            size //= 2
        self.file = tempfile.TemporaryFile(dir=folder)  # it is gone when the process ends
        self.path = f'/proc/self/fd/{self.file.fileno()}'
        self.expected = self.cupy.arange(size // 8, dtype='u8')
        self.array = self.cupy.zeros_like(self.expected)
        self.file.write(memoryview(self.expected.get()))
        self.file.flush()
        os.fsync(self.file.fileno())

    def read(self):
        with self.kvikio.CuFile(self.path, 'r') as file:
            return self.rate(file.read)

    def read_from_disk(self):
        os.fsync(self.file.fileno())
        os.posix_fadvise(self.file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return self.read()

    def write(self):
        os.fsync(self.file.fileno())
        with self.kvikio.CuFile(self.path, 'r+') as file:
            return self.rate(file.write)

    def rate(self, move):
        """In GB/s. The file is opened outside the clock."""
        begin = time.perf_counter_ns()
        moved = move(self.array)
        self.cupy.cuda.Device().synchronize()
        if moved != self.array.nbytes:
            sys.exit(f'KvikIO has moved {moved} of {self.array.nbytes} bytes')
        return moved / (time.perf_counter_ns() - begin)

    def check(self):
        self.read()
        os.ftruncate(self.file.fileno(), 0)
        self.write()
        self.array.fill(0)
        self.read()
        if not bool((self.array == self.expected).all()):
            sys.exit('KvikIO: a byte is another one')

    def results(self, rounds):
        folder = folder_on_disk()
        if not folder:
            print('KvikIO: left out, no folder on a disk can be written (TMPDIR)')
            return
        self.open(folder)
        self.check()
        print(f'a file of {self.array.nbytes // MIB} MiB in {folder}, {os.environ["KVIKIO_NTHREADS"]} threads')
        samplers = {'file, in from the cache': self.read, 'file, in from the disk': self.read_from_disk,
                    'file, out into the cache': self.write}
        for setting, sample in samplers.items():
            (samples,) = measured(min(rounds, FILE_ROUNDS), [sample])
            yield peer_results.result(samples, setting=setting, at=self.array.nbytes, **self.told)


# -------------------------------------------------------------------------------------------------------------------- all

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--json', required=True)
    given = parser.parse_args()
    peers = list(peer_results.installed([Torch, Kvikio]))
    if not peers:
        return 'neither PyTorch nor KvikIO with CuPy is installed'
    peer_results.write(given.json, [one for peer in peers for one in peer.results(given.rounds)])
    return 0


if __name__ == '__main__':
    sys.exit(main())
