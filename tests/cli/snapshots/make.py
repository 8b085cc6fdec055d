#!/usr/bin/env python3
"""make.py FOLDER: writes a PyTorch snapshot as a pickle of each protocol, and as JSON, and a little one.

Both have the structure that torch.cuda.memory._snapshot() returns, and made-up content. In the first, device 1 has a
history whose beginning is lost, and device 0 has none.
"""
import json
import pickle
import sys

BASE = 0x7F8A40000000
STREAM = 0x5581AB3CD200


def frame(line, name):
    return {"filename": "/home/user/train.py", "line": line, "name": name}


main, forward, backward = frame(10, "main"), frame(21, "forward"), frame(34, "backward")
time = 1_700_000_000_000_000


def entry(action, address, size, stream=0, frames=(main,)):
    global time
    time += 7
    place = "device_free" if action == "oom" else "addr"
    return {"action": action, place: address, "size": size, "stream": stream, "time_us": time, "frames": list(frames),
            "compile_context": "N/A", "user_metadata": ""}


def block(address, size, requested, state):
    return {"address": address, "size": size, "requested_size": requested, "state": state, "frames": [main]}


def segment(device, address, stream, kind, blocks):
    return {"device": device, "address": address, "total_size": sum(b["size"] for b in blocks),
            "allocated_size": 0, "active_size": 0, "requested_size": 0, "stream": stream, "segment_type": kind,
            "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": blocks}


history = [
    entry("free_completed", BASE + 0x600, 512),
    entry("free_requested", BASE, 500),  # older than the history
    entry("free_completed", BASE, 500),
    entry("alloc", BASE, 1000, 0, (forward, main)),
    entry("segment_alloc", BASE + 0x4000000, 20 << 20, STREAM),
    entry("alloc", BASE + 0x4000000, 3 << 32, STREAM, (forward, main)),
    entry("snapshot", 0, 0),
    entry("free_requested", BASE, 1000, 0, (backward, main)),
    entry("free_completed", BASE, 1000),
    entry("alloc", BASE, 700, 0, (forward, main)),
    entry("oom", 4096, 80 << 30),
    entry("free_requested", BASE + 0x4000000, 3 << 32, STREAM, (backward, main)),
    entry("segment_free", BASE + 0x2000000, 2 << 20),
]
snapshot = {
    "segments": [
        segment(0, BASE - 0x40000000, 0, "small", [block(BASE - 0x40000000, 2 << 20, 77, "active_allocated")]),
        segment(1, BASE, 0, "small", [
            block(BASE, 1024, 700, "active_allocated"),
            block(BASE + 1024, 512, 300, "active_allocated"),  # older than the history
            block(BASE + 1536, (2 << 20) - 1536, 0, "inactive"),
        ]),
        segment(1, BASE + 0x4000000, STREAM, "large", [block(BASE + 0x4000000, 20 << 20, 0, "active_pending_free")]),
    ],
    "device_traces": [[], history],
    "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
                           "expandable_segments": False, "large": 1 << 70, "none": None},
    "external_annotations": [],
}

# For tests that read it thousands of times.
little = {
    "segments": [{"device": 0, "address": BASE, "stream": STREAM, "blocks": [block(BASE, 512, 300, "active_allocated")]}],
    "device_traces": [[entry("free_requested", BASE + 512, 500), entry("alloc", BASE + 512, 1 << 33, STREAM)]],
}

folder = sys.argv[1]
for protocol in range(6):
    with open(f"{folder}/protocol_{protocol}.pickle", "wb") as out:
        pickle.dump(snapshot, out, protocol)
for protocol in 0, 2, 4:
    with open(f"{folder}/little_{protocol}.pickle", "wb") as out:
        pickle.dump(little, out, protocol)
for name, content in ("snapshot", snapshot), ("little", little):
    with open(f"{folder}/{name}.json", "w", encoding="utf-8") as out:
        json.dump(content, out, separators=(",", ":"))
