"""RMM's cuda_async resource, unchanged. It prints what it computes; see pytorch.py."""
import hashlib

import numpy
import rmm

MIB = 1 << 20
rmm.mr.set_current_device_resource(rmm.mr.CudaAsyncMemoryResource())
random = numpy.random.default_rng(9)
streams = [rmm.pylibrmm.stream.Stream() for _ in range(3)]
state = hashlib.sha256()
live = []
for number in range(400):
    size = int(random.integers(1, 8 * MIB))
    stream = streams[number % 3]
    data = random.integers(0, 256, size, dtype=numpy.uint8)
    live.append((rmm.DeviceBuffer.to_device(data, stream), stream))
    if len(live) > 12:
        buffer, stream = live.pop(int(random.integers(0, len(live))))
        stream.synchronize()
        state.update(buffer.copy_to_host().tobytes())
for buffer, stream in live:
    stream.synchronize()
    state.update(buffer.copy_to_host().tobytes())
print("bytes:", state.hexdigest()[:16])
