// The kernels that tests, benches and the simulated driver share: a PTX image for cuModuleLoadData,
// which a GPU of compute capability 5.2 or later compiles and the simulated driver knows by its
// entry names. They need no compiler to build and give the same results with any grid and block.
//
//   sp_fill(u64 address, u64 bytes, u32 seed)
//       Writes the 32-bit words seed, seed + 1, seed + 2, ... to [address, address + bytes).
//   sp_check(u64 address, u64 bytes, u32 seed, u64 errors)
//       Compares the bytes with what sp_fill writes, and adds the number of wrong words to the
//       64-bit word at address `errors`, atomically.
//   sp_spin(u64 nanoseconds, u64 flag)
//       Runs for that time by the device's clock, or until the 32-bit word at address `flag` is not
//       0; flag 0: only for the time. With a flag one thread of one block is enough.
//   sp_trap()
//       Fails, and with it the context: CUDA_ERROR_LAUNCH_FAILED.
//
// Addresses are multiples of 8, and bytes of 4; what is over is left out. Parameters have the sizes
// stated, in that order.
#ifndef STREAMPOOL_SIMCUDA_KERNEL_KERNELS_H
#define STREAMPOOL_SIMCUDA_KERNEL_KERNELS_H

// %rd1 is the thread's index in the grid and %rd2 the number of threads: the kernels that touch
// memory stride by it.
#define SP_KERNELS_PTX_INDEX                                                                       \
    "    mov.u32 %r3, %ctaid.x;\n"                                                                 \
    "    mov.u32 %r4, %ntid.x;\n"                                                                  \
    "    mov.u32 %r5, %tid.x;\n"                                                                   \
    "    mov.u32 %r6, %nctaid.x;\n"                                                                \
    "    mad.wide.u32 %rd1, %r3, %r4, 0;\n"                                                        \
    "    cvt.u64.u32 %rd2, %r5;\n"                                                                 \
    "    add.u64 %rd1, %rd1, %rd2;\n"                                                              \
    "    mul.wide.u32 %rd2, %r6, %r4;\n"

#define SP_KERNELS_PTX                                                                             \
    ".version 6.0\n"                                                                               \
    ".target sm_52\n"                                                                              \
    ".address_size 64\n"                                                                           \
    "\n"                                                                                           \
    ".visible .entry sp_fill(\n"                                                                   \
    "    .param .u64 address, .param .u64 bytes, .param .u32 seed)\n"                              \
    "{\n"                                                                                          \
    "    .reg .pred %p<2>;\n"                                                                      \
    "    .reg .b32 %r<10>;\n"                                                                      \
    "    .reg .b64 %rd<10>;\n"                                                                     \
    "    ld.param.u64 %rd3, [address];\n"                                                          \
    "    ld.param.u64 %rd4, [bytes];\n"                                                            \
    "    ld.param.u32 %r1, [seed];\n"                                                              \
    "    cvta.to.global.u64 %rd3, %rd3;\n"                                                         \
    "    shr.u64 %rd4, %rd4, 2;\n" SP_KERNELS_PTX_INDEX                                            \
    "fill_next:\n"                                                                                 \
    "    setp.ge.u64 %p1, %rd1, %rd4;\n"                                                           \
    "    @%p1 bra fill_end;\n"                                                                     \
    "    cvt.u32.u64 %r7, %rd1;\n"                                                                 \
    "    add.u32 %r7, %r7, %r1;\n"                                                                 \
    "    shl.b64 %rd5, %rd1, 2;\n"                                                                 \
    "    add.u64 %rd5, %rd3, %rd5;\n"                                                              \
    "    st.global.u32 [%rd5], %r7;\n"                                                             \
    "    add.u64 %rd1, %rd1, %rd2;\n"                                                              \
    "    bra fill_next;\n"                                                                         \
    "fill_end:\n"                                                                                  \
    "    ret;\n"                                                                                   \
    "}\n"                                                                                          \
    "\n"                                                                                           \
    ".visible .entry sp_check(\n"                                                                  \
    "    .param .u64 address, .param .u64 bytes, .param .u32 seed, .param .u64 errors)\n"          \
    "{\n"                                                                                          \
    "    .reg .pred %p<4>;\n"                                                                      \
    "    .reg .b32 %r<10>;\n"                                                                      \
    "    .reg .b64 %rd<10>;\n"                                                                     \
    "    ld.param.u64 %rd3, [address];\n"                                                          \
    "    ld.param.u64 %rd4, [bytes];\n"                                                            \
    "    ld.param.u32 %r1, [seed];\n"                                                              \
    "    ld.param.u64 %rd6, [errors];\n"                                                           \
    "    cvta.to.global.u64 %rd3, %rd3;\n"                                                         \
    "    cvta.to.global.u64 %rd6, %rd6;\n"                                                         \
    "    mov.u64 %rd7, 0;\n"                                                                       \
    "    shr.u64 %rd4, %rd4, 2;\n" SP_KERNELS_PTX_INDEX                                            \
    "check_next:\n"                                                                                \
    "    setp.ge.u64 %p1, %rd1, %rd4;\n"                                                           \
    "    @%p1 bra check_end;\n"                                                                    \
    "    cvt.u32.u64 %r7, %rd1;\n"                                                                 \
    "    add.u32 %r7, %r7, %r1;\n"                                                                 \
    "    shl.b64 %rd5, %rd1, 2;\n"                                                                 \
    "    add.u64 %rd5, %rd3, %rd5;\n"                                                              \
    "    ld.global.u32 %r8, [%rd5];\n"                                                             \
    "    setp.ne.u32 %p2, %r7, %r8;\n"                                                             \
    "    @%p2 add.u64 %rd7, %rd7, 1;\n"                                                            \
    "    add.u64 %rd1, %rd1, %rd2;\n"                                                              \
    "    bra check_next;\n"                                                                        \
    "check_end:\n"                                                                                 \
    "    setp.eq.u64 %p3, %rd7, 0;\n"                                                              \
    "    @%p3 ret;\n"                                                                              \
    "    red.global.add.u64 [%rd6], %rd7;\n"                                                       \
    "    ret;\n"                                                                                   \
    "}\n"                                                                                          \
    "\n"                                                                                           \
    ".visible .entry sp_spin(\n"                                                                   \
    "    .param .u64 nanoseconds, .param .u64 flag)\n"                                             \
    "{\n"                                                                                          \
    "    .reg .pred %p<4>;\n"                                                                      \
    "    .reg .b32 %r<4>;\n"                                                                       \
    "    .reg .b64 %rd<8>;\n"                                                                      \
    "    ld.param.u64 %rd1, [nanoseconds];\n"                                                      \
    "    ld.param.u64 %rd2, [flag];\n"                                                             \
    "    setp.eq.u64 %p1, %rd2, 0;\n"                                                              \
    "    mov.u64 %rd3, %globaltimer;\n"                                                            \
    "spin_next:\n"                                                                                 \
    "    mov.u64 %rd4, %globaltimer;\n"                                                            \
    "    sub.u64 %rd5, %rd4, %rd3;\n"                                                              \
    "    setp.ge.u64 %p2, %rd5, %rd1;\n"                                                           \
    "    @%p2 bra spin_end;\n"                                                                     \
    "    @%p1 bra spin_next;\n"                                                                    \
    "    ld.volatile.u32 %r1, [%rd2];\n"                                                           \
    "    setp.eq.u32 %p3, %r1, 0;\n"                                                               \
    "    @%p3 bra spin_next;\n"                                                                    \
    "spin_end:\n"                                                                                  \
    "    ret;\n"                                                                                   \
    "}\n"                                                                                          \
    "\n"                                                                                           \
    ".visible .entry sp_trap()\n"                                                                  \
    "{\n"                                                                                          \
    "    trap;\n"                                                                                  \
    "    ret;\n"                                                                                   \
    "}\n"

#endif
