#!/usr/bin/env python3
# Tensors of PyTorch's in pinned memory of a pool. PyTorch takes no allocator for pinned memory from Python, so a tensor is made
# around a block. Without PyTorch or a GPU the blocks alone are shown.
#     LD_LIBRARY_PATH=FOLDER_OF_LIBSTREAMPOOL python3 pinned_torch.py
import ctypes
import weakref

try:
    import torch
    torch.cuda.current_stream()  # makes the device's context current
except (ImportError, RuntimeError, AssertionError):
    torch = None

PINNED, HOST, DEVICE, READ_WRITE = 1, 2, 1, 3  # of poolMemAllocationType, poolMemLocationType, poolMemAccessFlags
library = ctypes.CDLL("libstreampool.so.0.1")
library.poolGetLastErrorDetail.restype = ctypes.c_char_p


class Props(ctypes.Structure):  # poolMemPoolProps
    _fields_ = [("allocType", ctypes.c_int), ("handleTypes", ctypes.c_int), ("type", ctypes.c_int), ("id", ctypes.c_int),
                ("security", ctypes.c_void_p), ("maxSize", ctypes.c_size_t), ("usage", ctypes.c_ushort),
                ("reserved", ctypes.c_ubyte * 54)]


def check(error):
    if error:
        raise RuntimeError(library.poolGetLastErrorDetail().decode())


def make_pool():
    pool, props = ctypes.c_void_p(), Props(allocType=PINNED, type=HOST)
    check(library.poolMemPoolCreate(ctypes.byref(pool), ctypes.byref(props)))
    check(library.poolMemPoolSetAccess(pool, (ctypes.c_int * 3)(DEVICE, 0, READ_WRITE), ctypes.c_size_t(1)))
    return pool


# The block is freed in the order of the stream when nothing refers to it any more; so the copies from it must be on that stream.
def allocate(pool, size):
    block = ctypes.c_void_p()
    check(library.poolMallocFromPool(ctypes.byref(block), ctypes.c_size_t(size), pool))
    buffer = (ctypes.c_char * size).from_address(block.value)
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream if torch else 0)
    weakref.finalize(buffer, library.poolFreeAsync, block, stream)
    return buffer


def used(pool):
    value = ctypes.c_uint64()
    check(library.poolMemPoolGetAttribute(pool, 7, ctypes.byref(value)))  # poolMemPoolAttrUsedMemCurrent
    return value.value


pool = make_pool()
batch = allocate(pool, 4 << 20)
print(used(pool), "bytes are used")
if torch:
    batch = torch.frombuffer(batch, dtype=torch.float32).fill_(1)  # is_pinned()
    print("sum on the device:", int(batch.to("cuda", non_blocking=True).sum()))
batch = None
print(used(pool), "bytes are used")
