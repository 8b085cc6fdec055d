// The first way to the driver: dlsym and dlvsym, as this library exports them.
//
// A look-up that isn't ours goes on to the next function by a jump, with its arguments and its
// return address: RTLD_NEXT and RTLD_DEFAULT mean what they mean to the caller.
#include "dropin/driver_file.h"
#include "dropin/lookup.h"
#include "dropin/real.h"
#include "dropin/resolver.h"
#include "dropin/route.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

// `where` is the result, or the function to go on to. It comes in two registers.
struct answer {
    uint64_t is_result;
    void *where;
};

#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN struct answer sp_seam_dlsym_answer(void *handle, const char *name, const void *caller);
HIDDEN struct answer sp_seam_dlvsym_answer(void *handle, const char *name, const char *version,
                                           const void *caller);

static struct answer result(void *address) {
    return (struct answer){true, address};
}

// Nobody finds our names while the process has no driver. The failed look-up behind this library
// leaves the text for dlerror.
static struct answer answer_default(const struct sp_lookup *row, void *next) {
    if (sp_resolver_find(RTLD_DEFAULT, row->symbol) != row->function || sp_driver_file_is_loaded())
        return (struct answer){false, next};
    return result(sp_resolver_find(RTLD_NEXT, row->symbol));
}

// A driver that looks for its own functions must find them, or it would call us and we it.
static const struct sp_lookup *row_of(void *handle, const char *name, const void *caller) {
    const struct sp_lookup *row = name && handle != RTLD_NEXT ? sp_lookup_symbol(name) : NULL;
    return row && !sp_real_asks_itself(handle, caller) ? row : NULL;
}

// `found` is what the look-up would find without us.
static struct answer answer_handle(const struct sp_lookup *row, void *handle, void *found,
                                   void *next) {
    if (found && sp_real_is_found(handle, row->symbol, found))
        return result(row->function);
    if (!found && sp_real_is_handle(handle) && sp_lookup_is_ours_alone(row)) {
        dlerror(); // the failure that nobody shall hear of
        return result(row->function);
    }
    return (struct answer){false, next};
}

// A look-up in all libraries that goes on finds what we export.
static bool gives_ours(struct answer answer, const struct sp_lookup *row, void *handle) {
    if (!row || answer.is_result)
        return row && answer.where == row->function;
    return handle == RTLD_DEFAULT && sp_resolver_find(RTLD_DEFAULT, row->symbol) == row->function;
}

// The driver's names are cu and a capital.
static bool is_drivers(const char *name) {
    return name && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

static struct answer noted(struct answer answer, const struct sp_lookup *row, void *handle,
                           const char *name, const void *caller) {
    if (sp_wanted_is() && is_drivers(name))
        sp_route_note(SP_ROUTE_dlsym, caller, gives_ours(answer, row, handle));
    return answer;
}

static struct answer dlsym_answer(const struct sp_lookup *row, void *handle, const char *name) {
    sp_resolver_by_name next_function = sp_resolver_dlsym();
    void *next;
    memcpy(&next, &next_function, sizeof next);
    if (!row)
        return (struct answer){false, next};
    if (handle == RTLD_DEFAULT)
        return answer_default(row, next);
    return answer_handle(row, handle, sp_resolver_find(handle, name), next);
}

struct answer sp_seam_dlsym_answer(void *handle, const char *name, const void *caller) {
    const struct sp_lookup *row = row_of(handle, name, caller);
    return noted(dlsym_answer(row, handle, name), row, handle, name, caller);
}

// The driver's functions have no versions, and neither have ours.
struct answer sp_seam_dlvsym_answer(void *handle, const char *name, const char *version,
                                    const void *caller) {
    sp_resolver_by_version next_function = sp_resolver_dlvsym();
    void *next;
    memcpy(&next, &next_function, sizeof next);
    const struct sp_lookup *row = handle != RTLD_DEFAULT ? row_of(handle, name, caller) : NULL;
    void *found = row ? next_function(handle, name, version) : NULL;
    if (found && sp_real_is_found(handle, name, found))
        return noted(result(row->function), row, handle, name, caller);
    return noted((struct answer){false, next}, row, handle, name, caller);
}

// The stack is 8 bytes off a multiple of 16 at the entry, and must be at one at the call.
#define SAVE(register)           "push " register "\n\t.cfi_adjust_cfa_offset 8\n\t"
#define RESTORE(register)        "pop " register "\n\t.cfi_adjust_cfa_offset -8\n\t"
#define RETURN_ADDRESS(register) "mov (%rsp), " register "\n\t"
#define ENTRY(function, old_function, name)                                                        \
    "\t.globl " function "\n\t.type " function ", @function\n\t.globl " old_function               \
    "\n\t.type " old_function ", @function\n\t.symver " function ", " name                         \
    "@@GLIBC_2.34\n\t.symver " old_function ", " name "@GLIBC_2.2.5\n" function ":\n" old_function \
    ":\n\t.cfi_startproc\n\tendbr64\n\t"

__asm__(".text\n\t.p2align 4\n"
        ENTRY("sp_seam_dlsym", "sp_seam_dlsym_old", "dlsym")
        RETURN_ADDRESS("%rdx")
        SAVE("%rdi") SAVE("%rsi") SAVE("%rax")
        "call sp_seam_dlsym_answer\n\t"
        "add $8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\t"
        RESTORE("%rsi") RESTORE("%rdi")
        "test %rax, %rax\n\tjnz 1f\n\tjmp *%rdx\n1:\tmov %rdx, %rax\n\tret\n\t"
        ".cfi_endproc\n\t.size sp_seam_dlsym, .-sp_seam_dlsym\n"
        "\t.size sp_seam_dlsym_old, .-sp_seam_dlsym_old\n"
        "\t.p2align 4\n"
        ENTRY("sp_seam_dlvsym", "sp_seam_dlvsym_old", "dlvsym")
        RETURN_ADDRESS("%rcx")
        SAVE("%rdi") SAVE("%rsi") SAVE("%rdx")
        "call sp_seam_dlvsym_answer\n\t"
        "mov %rdx, %r11\n\t"
        RESTORE("%rdx") RESTORE("%rsi") RESTORE("%rdi")
        "test %rax, %rax\n\tjnz 1f\n\tjmp *%r11\n1:\tmov %r11, %rax\n\tret\n\t"
        ".cfi_endproc\n\t.size sp_seam_dlvsym, .-sp_seam_dlvsym\n"
        "\t.size sp_seam_dlvsym_old, .-sp_seam_dlvsym_old\n");
