"""cupy_streams.py [SCALE [SEED]]: programs of science and data in CuPy, with several threads and streams.

record.sh runs it under `streampool run --record`, which makes bench/traces/cupy_streams.csv.gz. CuPy takes each array
from CUDA's pool (MemoryAsyncPool).

  spectra x 2  Fourier transforms of signals of random length, on two streams in turn
  tables x 2   sorts, groups and joins columns of random length
  stack        the mean, the spread and the outliers of the last images of a series
  solver       conjugate gradients for matrices of random size: very many small vectors
  main         collects what the others found, on the default stream

Each job of a thread begins at a random time, so all threads are at work to the end. What a thread draws is the same in
each run; how the threads interleave is up to the machine. SCALE multiplies the number of jobs.
"""
import collections
import queue
import random
import sys
import threading
import time

import cupy

SCALE = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
SECONDS = 12 * SCALE
FOUND_KEPT = 400

found = queue.Queue(maxsize=32)


class Worker(threading.Thread):
    """Runs job() JOBS times, on its streams in turn."""

    def __init__(self, number=0):
        super().__init__(name=f"{type(self).__name__} {number}")
        self.draw = random.Random(f"{SEED} {self.name}")
        self.seed = self.draw.getrandbits(30)
        self.error = None

    def run(self):
        try:
            self.work()
        except Exception as error:
            self.error = error
        found.put(None)

    def work(self):
        jobs = max(1, int(self.JOBS * SCALE))
        # They live as long as the worker: arrays that the main thread keeps are freed on them.
        self.streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(self.STREAMS)]
        self.numbers = cupy.random.RandomState(self.seed)
        start = time.monotonic()
        begins = sorted(self.draw.uniform(0, SECONDS) for _ in range(jobs))
        for job, begin in enumerate(begins):
            time.sleep(max(0, start + begin - time.monotonic()))
            with self.streams[job % self.STREAMS]:
                self.job()
        with self.streams[0]:
            self.end()
            cupy.fft.config.get_plan_cache().clear()
        for stream in self.streams:
            stream.synchronize()

    def end(self):
        pass

    def tell(self, array):
        """Hands an array to the main thread, with an event behind what made it."""
        ready = cupy.cuda.Event(disable_timing=True)
        ready.record()
        found.put((array, ready))


class Spectra(Worker):
    JOBS, STREAMS = 100, 2

    def job(self):
        length = self.draw.choice((1, 3, 5, 9)) * 2 ** self.draw.randint(10, 17)
        signals = max(1, min(96, int(2 ** self.draw.uniform(10, 25)) // length))
        signal = self.numbers.random_sample((signals, length), dtype=cupy.float32)
        signal -= signal.mean(axis=1, keepdims=True)
        signal *= cupy.hanning(length).astype(cupy.float32)
        spectrum = cupy.fft.rfft(signal, axis=1)
        power = cupy.abs(spectrum) ** 2
        mean = power.mean(axis=0)
        if self.draw.random() < 0.5:  # without the noise
            spectrum[power < 2 * mean] = 0
            signal = cupy.fft.irfft(spectrum, n=length, axis=1)
        self.tell(cupy.argsort(mean)[-64:])
        if self.draw.random() < 0.2:
            self.tell(cupy.stack([mean, power.max(axis=0)]))


class Tables(Worker):
    JOBS, STREAMS = 80, 1

    def job(self):
        rows = int(2 ** self.draw.uniform(10, 23))
        keys = (self.numbers.random_sample(rows) * rows / self.draw.randint(2, 200)).astype(cupy.int64)
        values = self.numbers.random_sample(rows, dtype=cupy.float32)
        order = cupy.argsort(keys)
        keys, values = keys[order], values[order]
        begins = cupy.concatenate([cupy.ones(1, dtype=bool), keys[1:] != keys[:-1]])
        first = cupy.flatnonzero(begins)  # the host waits: it needs the number of groups
        sums = cupy.diff(cupy.concatenate([cupy.cumsum(values, dtype=cupy.float64)[first], values.sum()[None]]))
        counts = cupy.bincount(cupy.cumsum(begins) - 1)
        large = sums[counts > counts.mean()]
        if self.draw.random() < 0.4:  # a join with another table
            others = cupy.unique((self.numbers.random_sample(rows // 3 + 1) * rows).astype(cupy.int64))
            places = cupy.searchsorted(others, keys)
            joined = keys[others[cupy.minimum(places, len(others) - 1)] == keys]
            self.tell(cupy.histogram(joined, bins=128)[0])
        self.tell(cupy.sort(large)[-256:])


class Stack(Worker):
    JOBS, STREAMS = 150, 1

    def __init__(self):
        super().__init__()
        self.images = collections.deque()
        self.left = 0

    def job(self):
        if self.left == 0:  # another series begins
            self.images.clear()
            self.left = self.draw.randint(15, 50)
            self.window = self.draw.randint(4, 20)
            self.side = self.draw.randint(16, 96) * 16
        self.left -= 1
        image = self.numbers.random_sample((self.side, self.side), dtype=cupy.float32)
        self.images.append(image)
        if len(self.images) > self.window:
            self.images.popleft()
        stack = cupy.stack(list(self.images))
        mean, spread = stack.mean(axis=0), stack.std(axis=0)
        outliers = cupy.abs(image - mean) > 2 * spread
        cleaned = cupy.where(outliers, mean, image)
        self.tell(cupy.percentile(cleaned, cupy.array([1.0, 50.0, 99.0])))
        if self.left % 10 == 0:
            self.tell(cleaned[::4, ::4].copy())

    def end(self):
        self.images.clear()


class Solver(Worker):
    JOBS, STREAMS = 35, 1

    def job(self):
        size = int(2 ** self.draw.uniform(6, 12))
        matrix = self.numbers.random_sample((size, size), dtype=cupy.float32)
        matrix = (matrix + matrix.T) / 2
        matrix[cupy.arange(size), cupy.arange(size)] += size
        solution = cupy.zeros(size, dtype=cupy.float32)
        rest = self.numbers.random_sample(size, dtype=cupy.float32)
        direction = rest.copy()
        square = rest @ rest
        for step in range(self.draw.randint(5, 30)):
            image = matrix @ direction
            length = square / (direction @ image)
            solution = solution + length * direction
            rest = rest - length * image
            last, square = square, rest @ rest
            direction = rest + square / last * direction
            if step % 5 == 4 and float(square) < 1e-10:
                break
        self.tell(solution)


def main():
    pool = cupy.cuda.MemoryAsyncPool()
    cupy.cuda.set_allocator(pool.malloc)
    workers = [Spectra(0), Spectra(1), Tables(0), Tables(1), Stack(), Solver()]
    for worker in workers:
        worker.start()
    kept = collections.deque(maxlen=FOUND_KEPT)
    at_work = len(workers)
    while at_work > 0:
        item = found.get()
        if item is None:
            at_work -= 1
            continue
        array, ready = item
        cupy.cuda.get_current_stream().wait_event(ready)
        kept.append((array, ready, array.astype(cupy.float64).sum()))
    kept.clear()
    item = array = ready = None  # no array outlives the workers' streams
    cupy.cuda.Device().synchronize()
    errors = [worker.error for worker in workers if worker.error]
    if errors:
        raise errors[0]


if __name__ == "__main__":
    main()
