"""pytorch.py PART: PyTorch on CUDA's stream-ordered memory (backend:cudaMallocAsync), unchanged.

It prints what it computes, so that a run with the drop-in can be compared with one without it. The line that
begins with "device memory" tells how much memory of the device is taken at the end.

  transformer   trains a small transformer with varying batch and length
  streams       tensors that a second stream uses, by record_stream
  graph         a CUDA graph that is captured once and replayed
  full          two streams on a device with 1 GiB left
  profiled      the two-stream program under PyTorch's profiler, which has CUPTI watch the driver
"""
import ctypes
import hashlib
import os
import sys

os.environ.setdefault("PYTORCH_ALLOC_CONF", "backend:cudaMallocAsync")
os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync")
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch

torch.use_deterministic_algorithms(True)
MIB = 1 << 20


def digest(tensor):
    return hashlib.sha256(tensor.detach().float().cpu().numpy().tobytes()).hexdigest()[:16]


def transformer():
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    shapes = torch.Generator().manual_seed(2)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        for step in range(60):
            batch = int(torch.randint(4, 48, (1,), generator=shapes))
            length = int(torch.randint(32, 384, (1,), generator=shapes))
            data = torch.randn(batch, length, 256, generator=shapes).cuda()
            loss = (model(data) - data).pow(2).mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            if step % 10 == 9:
                print(f"step {step + 1}: loss {loss.item():.9g}")
    print("parameters:", digest(torch.cat([p.flatten() for p in model.parameters()])))


def two_streams(rounds, size):
    """The host runs ahead: blocks are freed on one stream while the other still uses them."""
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    total = torch.zeros(size, device="cuda")
    for number in range(rounds):
        block = torch.full((size,), float(number % 17), device="cuda")
        side.wait_stream(main)
        with torch.cuda.stream(side):
            scaled = block
            for _ in range(4):
                scaled = scaled * 1.0
            total += scaled
        block.record_stream(side)
        del block, scaled
    main.wait_stream(side)
    torch.cuda.synchronize()
    return total


def streams():
    print("sum:", digest(two_streams(300, 4 * MIB)))


def graph():
    torch.manual_seed(3)
    weight = torch.randn(512, 512, device="cuda")
    data = torch.randn(512, 512, device="cuda")

    def step():
        return torch.relu(data @ weight) * 0.5 + data

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        result = step()
    for number in range(5):
        data.copy_(torch.full((512, 512), number / 7.0))
        captured.replay()
        beside = torch.ones(3 * MIB, device="cuda") * number
        print(f"replay {number}: {digest(result)} {digest(beside)}")
        del beside


def take_all_but(left):
    """Takes the device's memory, as another program would. Returns it, so that it isn't freed."""
    driver = ctypes.CDLL("libcuda.so.1")
    taken = ctypes.c_uint64()
    size = torch.cuda.mem_get_info()[0] - left
    if driver.cuMemAlloc_v2(ctypes.byref(taken), ctypes.c_size_t(size)) != 0:
        raise RuntimeError("the device's memory could not be taken")
    return taken


def full():
    """Two streams fill what is left with tensors of varying size, free every other one, and want larger ones."""
    taken = take_all_but(1024 * MIB)
    main, side = torch.cuda.current_stream(), torch.cuda.Stream()
    sizes = torch.Generator().manual_seed(4)
    state = 0.0
    try:
        for number in range(20):
            live = []
            held = 0
            while held < 600 * MIB:
                size = int(torch.randint(3, 15, (1,), generator=sizes)) * MIB
                with torch.cuda.stream(side if len(live) % 2 else main):
                    live.append(torch.full((size // 4,), float(len(live)), device="cuda"))
                held += size
            main.wait_stream(side)
            side.wait_stream(main)
            for tensor in live[::2]:
                tensor.record_stream(side)
            del live[::2], tensor
            large = [torch.full((150 * MIB // 4,), float(number), device="cuda") for _ in range(2)]
            state += sum(tensor[-1].item() for tensor in large + live)
            del large, live
        print("sum:", state)
    except torch.OutOfMemoryError as error:
        print(f"round {number}: out of memory")
        print(error, file=sys.stderr)
    del taken


def profiled():
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as watched:
        total = two_streams(50, 4 * MIB)
    kernels = sum(event.count for event in watched.key_averages() if event.self_device_time_total > 0)
    print("sum:", digest(total))
    print("kernels were seen:", kernels >= 50 * 5)


if __name__ == "__main__":
    torch.cuda.init()
    before = torch.cuda.mem_get_info()[0]
    {"transformer": transformer, "streams": streams, "graph": graph, "full": full, "profiled": profiled}[sys.argv[1]]()
    torch.cuda.synchronize()
    print(f"device memory: {(before - torch.cuda.mem_get_info()[0]) / MIB:.0f} MiB")
