#include "mam/manager.h"

struct sp_manager sp_manager_table[SP_MANAGER_PLACES];
_Thread_local struct sp_manager *sp_manager_entered;

// Guards who is in which place, and nothing of the managers themselves.
static struct sp_lock table_lock;
static bool taken[SP_MANAGER_PLACES] = {true};

static size_t find_place(void) {
    size_t place = 1;
    while (place < SP_MANAGER_PLACES && taken[place])
        place++;
    return place;
}

// The number is part of the handle, and 0 stands for none.
static poolMam_t handle_of(struct sp_manager *manager) {
    uintptr_t place = (uintptr_t)(manager - sp_manager_table);
    return (poolMam_t)(++manager->next_number * SP_MANAGER_PLACES + place);
}

bool sp_manager_add(const struct sp_manager *made, poolMam_t *handle) {
    sp_lock_acquire(&table_lock);
    size_t place = find_place();
    bool found = place < SP_MANAGER_PLACES;
    if (found) {
        struct sp_manager *manager = &sp_manager_table[place];
        taken[place] = true;
        manager->device = made->device;
        manager->chunk_size = made->chunk_size;
        manager->flags = made->flags;
        *handle = handle_of(manager);
        atomic_store(&manager->handle, *handle);
    }
    sp_lock_release(&table_lock);
    return found;
}

// Another thread that destroys it at the same time finds that the handle is gone.
struct sp_manager *sp_manager_take_out(poolMam_t handle) {
    struct sp_manager *manager = &sp_manager_table[(uintptr_t)handle % SP_MANAGER_PLACES];
    poolMam_t expected = handle;
    if (!handle || !atomic_compare_exchange_strong(&manager->handle, &expected, NULL))
        return NULL;
    for (unsigned round = 0; atomic_load(&manager->inside) != 0; round++)
        sp_lock_pause(round);
    return manager;
}

void sp_manager_give_back(struct sp_manager *manager) {
    sp_lock_acquire(&table_lock);
    sp_store_relaxed(&manager->home, NULL);
    manager->pool = NULL;
    sp_known_clear(&manager->known);
    taken[manager - sp_manager_table] = false;
    sp_lock_release(&table_lock);
}
