// The functions of the driver that the drop-in doesn't stand in for: each is a jump to the
// driver's.
//
// A jump goes through a slot. At first a slot leads to code that finds the function, fills the slot
// and goes on, with all of the caller's arguments. When this library is loaded, all slots are
// filled, and the names that the driver lacks are hidden: a program that looks one up is told that
// there is none, as it is by the driver. One that was linked with such a name finds a function that
// returns an error.
//
// The names are those of names.inc. Those of the drop-in's table are there, too: its functions take
// the place of the jumps, which are weak symbols.
#include "dropin/driver_file.h"
#include "dropin/forward/hide.h"
#include "dropin/lookup.h"
#include "dropin/real.h"

#include "base/atomic.h"
#include "driver/table.h"

#include <dlfcn.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define EXPORT __attribute__((visibility("default")))

struct slot {
    void *_Atomic function;
    const char *name;
};

// The linker's names for the first and behind the last.
extern HIDDEN struct slot __start_sp_forward_slots[]; // NOLINT(bugprone-reserved-identifier)
extern HIDDEN struct slot __stop_sp_forward_slots[];  // NOLINT(bugprone-reserved-identifier)

EXPORT void *sp_forward_library(void);
HIDDEN void *sp_forward_find(struct slot *slot);

void *sp_forward_library(void) {
    return sp_real_library();
}

static CUresult no_device(void) {
    return CUDA_ERROR_NO_DEVICE;
}

static void *address_of(CUresult (*function)(void)) {
    void *address;
    memcpy(&address, &function, sizeof address);
    return address;
}

// The error that cuInit returns on a machine without a driver is one that programs know. As there
// may be a driver later on, while this library is being loaded, the slot isn't filled.
static void *substitute(const char *name) {
    return address_of(strcmp(name, "cuInit") == 0 ? no_device : sp_real_lacks);
}

void *sp_forward_find(struct slot *slot) {
    void *library = sp_real_library();
    if (!library)
        return substitute(slot->name);
    void *found = sp_driver_file_find(library, slot->name);
    if (!found)
        found = address_of(sp_real_lacks);
    sp_store_release(&slot->function, found);
    return found;
}

static bool is_missing(const char *name) {
    const struct sp_lookup *row = sp_lookup_symbol(name);
    return strcmp(name, SP_FORWARDED_FUNCTION) != 0 &&
           !sp_driver_file_find(sp_real_library(), name) && !(row && sp_lookup_is_ours_alone(row));
}

__attribute__((constructor)) static void prepare(void) {
    struct link_map *own = NULL;
    Dl_info info;
    if (!sp_real_library())
        return;
    for (struct slot *slot = __start_sp_forward_slots; slot < __stop_sp_forward_slots; slot++)
        sp_forward_find(slot);
    if (dladdr1(__start_sp_forward_slots, &info, (void **)&own, RTLD_DL_LINKMAP) != 0)
        sp_hide_functions(own, is_missing);
}

// ------------------------------------------------------------------------------------------- jumps

// The driver's functions take their arguments in these registers and on the stack. The slot is
// handed on in r11, which no caller uses. 7 registers and the return address fill the stack to a
// multiple of 16 bytes.
// clang-format off
#define SAVE(name)    "\tpush %" name "\n\t.cfi_adjust_cfa_offset 8\n"
#define RESTORE(name) "\tpop %" name "\n\t.cfi_adjust_cfa_offset -8\n"
#define SAVE_FLOAT(number)    "\tmovups %xmm" #number ", 16*" #number "(%rsp)\n"
#define RESTORE_FLOAT(number) "\tmovups 16*" #number "(%rsp), %xmm" #number "\n"

__asm__("\t.text\n\t.p2align 4\n\t.type sp_forward_first, @function\nsp_forward_first:\n"
        "\t.cfi_startproc\n"
        SAVE("rdi") SAVE("rsi") SAVE("rdx") SAVE("rcx") SAVE("r8") SAVE("r9") SAVE("rax")
        "\tsub $128, %rsp\n\t.cfi_adjust_cfa_offset 128\n"
        SAVE_FLOAT(0) SAVE_FLOAT(1) SAVE_FLOAT(2) SAVE_FLOAT(3)
        SAVE_FLOAT(4) SAVE_FLOAT(5) SAVE_FLOAT(6) SAVE_FLOAT(7)
        "\tmov %r11, %rdi\n\tcall sp_forward_find\n\tmov %rax, %r11\n"
        RESTORE_FLOAT(0) RESTORE_FLOAT(1) RESTORE_FLOAT(2) RESTORE_FLOAT(3)
        RESTORE_FLOAT(4) RESTORE_FLOAT(5) RESTORE_FLOAT(6) RESTORE_FLOAT(7)
        "\tadd $128, %rsp\n\t.cfi_adjust_cfa_offset -128\n"
        RESTORE("rax") RESTORE("r9") RESTORE("r8") RESTORE("rcx")
        RESTORE("rdx") RESTORE("rsi") RESTORE("rdi")
        "\tjmp *%r11\n\t.cfi_endproc\n\t.size sp_forward_first, .-sp_forward_first\n");

#define X(name) \
    __asm__("\t.text\n\t.p2align 4\n\t.weak " #name "\n\t.type " #name ", @function\n" #name ":\n" \
            "\t.cfi_startproc\n\tendbr64\n\tjmp *1f(%rip)\n\t.cfi_endproc\n" \
            "\t.size " #name ", .-" #name "\n" \
            "2:\n\tendbr64\n\tlea 1f(%rip), %r11\n\tjmp sp_forward_first\n" \
            "\t.section sp_forward_slots, \"aw\", @progbits\n\t.p2align 3\n1:\n\t.quad 2b, 3f\n" \
            "\t.section .rodata.sp_forward, \"a\", @progbits\n3:\n\t.asciz \"" #name "\"\n" \
            "\t.text\n");
// clang-format on
#include "dropin/forward/names.inc"
#undef X
