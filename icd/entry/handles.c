/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles are slots of equal size in one reserved range of addresses. So arithmetic alone
 * decides whether a pointer from the host is a handle, before anything is read through it. Freed
 * slots wait in a queue before they are reused, so that an old handle is recognised for long. */
#include "handles.h"

#include "interpreter.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

struct handle {
    const struct _cl_icd_dispatch *dispatch; /* first, as cl_khr_icd requires */
    atomic_int kind;
    /* The host's count is below CHILD; each carried command, and other temporary holder, adds
     * CHILD. The driver's own references are Python's. */
    _Atomic uint64_t references;
    uint64_t serial;
    size_t next_free;
    atomic_int viewed;            /* enum viewed */
    uintptr_t parent;             /* the parent, which an object of C's holds; or 0 */
    struct core_command *command; /* of an event; it has a reference */
    cl_command_type type;
    struct fpgart_contents contents;
};

/* The state of an object: made by Python; made by C, and Python does not know it; made by C,
 * and Python has a view; made by C, and released by the host before there was a view. */
enum viewed { MADE, UNSEEN, VIEWED, GONE };

#define CHILD (UINT64_C(1) << 32)

#define ARENA_SLOTS ((size_t)1 << 21)
#define QUARANTINE ((size_t)1 << 12) /* freed slots that wait before the oldest is used again */
#define NONE ((size_t)-1)

static struct handle *arena;
static size_t used_slots;
static size_t free_head = NONE, free_tail = NONE, free_count;
static uint64_t last_serial;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_size_t unseen[FPGART_SAMPLER]; /* by kind */

static struct handle *find(uintptr_t address)
{
    uintptr_t base = (uintptr_t)arena;
    if (base == 0 || address < base || address >= base + ARENA_SLOTS * sizeof(struct handle))
        return NULL;
    if ((address - base) % sizeof(struct handle) != 0)
        return NULL;
    return (struct handle *)address;
}

int fpgart_is_handle(uintptr_t address)
{
    return find(address) != NULL;
}

static struct handle *take_slot(void)
{
    if (arena == NULL) {
        void *memory = mmap(NULL, ARENA_SLOTS * sizeof(struct handle), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            return NULL;
        arena = memory;
    }
    if (free_count > QUARANTINE || (used_slots == ARENA_SLOTS && free_count > 0)) {
        struct handle *slot = &arena[free_head];
        free_head = slot->next_free;
        free_count--;
        return slot;
    }
    return used_slots < ARENA_SLOTS ? &arena[used_slots++] : NULL;
}

uintptr_t fpgart_handle_new(int kind, uint32_t references)
{
    pthread_mutex_lock(&lock);
    struct handle *slot = take_slot();
    if (slot != NULL) {
        slot->dispatch = &fpgart_dispatch;
        slot->serial = ++last_serial;
        fpgart_slot_begins(&slot->contents);
        atomic_store(&slot->references, references);
        atomic_store(&slot->viewed, MADE);
        slot->parent = 0;
        atomic_store(&slot->kind, kind);
    }
    pthread_mutex_unlock(&lock);
    return (uintptr_t)slot;
}

static void unhold(uintptr_t handle, int kind, int later);

static void free_slot(struct handle *slot, int later)
{
    int kind = atomic_exchange(&slot->kind, FPGART_FREE);
    if (kind == FPGART_FREE)
        return;
    struct core_command *command = slot->command;
    uintptr_t parent = atomic_load(&slot->viewed) != MADE ? slot->parent : 0;
    uint32_t mapped = slot->contents.mappings.of_all;
    slot->command = NULL;
    fpgart_object_ends(&slot->contents, kind, slot->serial);
    pthread_mutex_lock(&lock);
    size_t index = (size_t)(slot - arena);
    atomic_store(&slot->references, 0);
    slot->next_free = NONE;
    if (free_count == 0)
        free_head = index;
    else
        arena[free_tail].next_free = index;
    free_tail = index;
    free_count++;
    pthread_mutex_unlock(&lock);
    if (command != NULL)
        core_release(command);
    if (parent == 0)
        return;
    fpgart_child_ends(parent, kind, mapped);
    unhold(parent, fpgart_handle_kind(parent), later || kind == FPGART_EVENT);
}

/* Python calls this in destructors, while it holds locks. */
void fpgart_handle_free(uintptr_t handle)
{
    struct handle *slot = find(handle);
    if (slot != NULL)
        free_slot(slot, 1);
}

int fpgart_handle_kind(uintptr_t handle)
{
    struct handle *slot = find(handle);
    return slot == NULL ? FPGART_FREE : atomic_load(&slot->kind);
}

uint32_t fpgart_handle_references(uintptr_t handle)
{
    struct handle *slot = find(handle);
    return slot == NULL ? 0 : (uint32_t)atomic_load(&slot->references);
}

/* NULL if the handle is of another kind. */
static struct fpgart_contents *contents_of(uintptr_t handle, int kind)
{
    struct handle *slot = find(handle);
    return slot != NULL && atomic_load(&slot->kind) == kind ? &slot->contents : NULL;
}

fpgart_answers *fpgart_answers_of(uintptr_t handle, int kind)
{
    struct fpgart_contents *contents = contents_of(handle, kind);
    fpgart_answers *shared =
        contents != NULL && kind == FPGART_KERNEL ? fpgart_shared_answers(contents) : NULL;
    return contents == NULL || shared != NULL ? shared : &contents->answers;
}

fpgart_arguments_slot *fpgart_arguments_of(uintptr_t kernel)
{
    struct fpgart_contents *contents = contents_of(kernel, FPGART_KERNEL);
    return contents != NULL ? &contents->arguments : NULL;
}

fpgart_queue_slot *fpgart_queue_of(uintptr_t queue)
{
    struct fpgart_contents *contents = contents_of(queue, FPGART_QUEUE);
    return contents != NULL ? &contents->carried : NULL;
}

fpgart_board_slot *fpgart_boards_of(uintptr_t context)
{
    struct fpgart_contents *contents = contents_of(context, FPGART_CONTEXT);
    return contents != NULL ? contents->boards : NULL;
}

fpgart_kernels_slot *fpgart_kernels_of(uintptr_t program)
{
    struct fpgart_contents *contents = contents_of(program, FPGART_PROGRAM);
    return contents != NULL ? &contents->kernels : NULL;
}

struct fpgart_region *fpgart_region_of(uintptr_t buffer)
{
    struct fpgart_contents *contents = contents_of(buffer, FPGART_MEM);
    return contents != NULL ? &contents->region : NULL;
}

/* Returns the parent of a sub-buffer; other buffers themselves. */
static struct handle *owner_of(struct handle *slot)
{
    struct handle *parent = slot->parent != 0 ? find(slot->parent) : NULL;
    return parent != NULL && atomic_load(&parent->kind) == FPGART_MEM ? parent : slot;
}

uintptr_t fpgart_owner_of(uintptr_t buffer)
{
    return (uintptr_t)owner_of(find(buffer));
}

struct fpgart_place *fpgart_place_of(uintptr_t buffer)
{
    struct handle *slot = find(buffer);
    return slot != NULL && atomic_load(&slot->kind) == FPGART_MEM ? &owner_of(slot)->contents.place
                                                                  : NULL;
}

void fpgart_buffer_is(uintptr_t buffer, uintptr_t context, uintptr_t parent, uint64_t flags,
                      uint64_t origin, uint64_t size)
{
    struct handle *slot = find(buffer);
    slot->parent = parent;
    slot->contents.region =
        (struct fpgart_region){flags, origin, size, fpgart_handle_serial(context), 0};
}

struct fpgart_mappings *fpgart_mappings_of(uintptr_t buffer)
{
    struct fpgart_contents *contents = contents_of(buffer, FPGART_MEM);
    return contents != NULL ? &contents->mappings : NULL;
}

struct fpgart_block *fpgart_block_of(uintptr_t buffer)
{
    struct handle *slot = find(buffer);
    return slot != NULL && atomic_load(&slot->kind) == FPGART_MEM &&
                   atomic_load(&slot->viewed) == UNSEEN
               ? &slot->contents.block
               : NULL;
}

int fpgart_handle_is_held(uintptr_t handle)
{
    struct handle *slot = find(handle);
    return slot != NULL && atomic_load(&slot->references) != 0;
}

void fpgart_event_carry(uintptr_t event, const struct fpgart_event *made)
{
    struct handle *slot = find(event);
    slot->command = made->command;
    slot->type = made->type;
    fpgart_is_unseen(event, made->queue != 0 ? made->queue : made->context);
}

void fpgart_event_is(uintptr_t event, uintptr_t command, uintptr_t context, cl_command_type type)
{
    struct handle *slot = find(event);
    core_retain((struct core_command *)command);
    slot->command = (struct core_command *)command;
    slot->type = type;
    slot->parent = context;
}

void fpgart_is_unseen(uintptr_t handle, uintptr_t parent)
{
    struct handle *slot = find(handle);
    slot->parent = parent;
    atomic_fetch_add(&unseen[atomic_load(&slot->kind)], 1);
    atomic_store(&slot->viewed, UNSEEN);
}

struct core_command *fpgart_command_of(uintptr_t event, cl_command_type *type, uintptr_t *parent)
{
    struct handle *slot = find(event);
    if (slot == NULL || atomic_load(&slot->kind) != FPGART_EVENT)
        return NULL;
    *type = slot->type;
    *parent = slot->parent;
    return slot->command;
}

int fpgart_event_is_pythons(uintptr_t event)
{
    return atomic_load(&find(event)->viewed) != UNSEEN;
}

struct fpgart_contents *fpgart_begin_view(uintptr_t handle, uintptr_t *parent)
{
    struct handle *slot = find(handle);
    int expected = UNSEEN;
    if (slot == NULL || atomic_load(&slot->kind) == FPGART_FREE ||
        !atomic_compare_exchange_strong(&slot->viewed, &expected, VIEWED))
        return NULL;
    atomic_fetch_sub(&unseen[atomic_load(&slot->kind)], 1);
    *parent = slot->parent;
    return &slot->contents;
}

/* Returns the first object of a kind behind that handle, or of all for 0, that Python does
 * not know; 0 if there are no more. */
uintptr_t fpgart_next_unseen(uintptr_t handle, int kind)
{
    if (atomic_load(&unseen[kind]) == 0)
        return 0;
    pthread_mutex_lock(&lock);
    size_t slots = used_slots;
    pthread_mutex_unlock(&lock);
    for (size_t i = handle != 0 ? (size_t)(find(handle) - arena) + 1 : 0; i < slots; i++)
        if (atomic_load(&arena[i].kind) == kind && atomic_load(&arena[i].viewed) == UNSEEN)
            return (uintptr_t)&arena[i];
    return 0;
}

/* Frees an object that Python does not know. */
static int goes_unseen(struct handle *slot, int later)
{
    int expected = UNSEEN;
    if (!atomic_compare_exchange_strong(&slot->viewed, &expected, GONE))
        return 0;
    atomic_fetch_sub(&unseen[atomic_load(&slot->kind)], 1);
    free_slot(slot, later);
    return 1;
}

/* Records that a view could not be made. */
void fpgart_unview(uintptr_t handle)
{
    struct handle *slot = find(handle);
    atomic_fetch_add(&unseen[atomic_load(&slot->kind)], 1);
    atomic_store(&slot->viewed, UNSEEN);
    if (atomic_load(&slot->references) == 0)
        goes_unseen(slot, 1);
}

uint64_t fpgart_handle_serial(uintptr_t handle)
{
    struct handle *slot = find(handle);
    return slot == NULL ? 0 : slot->serial;
}

/* Last references that are released later, by the next call into Python or by a thread of the
 * driver. These are releases by threads without the interpreter's lock, in a host written in
 * Python: a host may release under a lock of its own, for which another of its threads waits
 * with the interpreter's lock, so that taking that lock would hang. They are also releases at
 * the ends of commands: threads that wait for that end must not wait for the host's
 * destructor callbacks. */
struct release {
    uintptr_t handle;
    uint64_t serial; /* its serial: another thread may have released it */
};
static struct release *released;
static size_t released_count, released_room, released_first;
static atomic_size_t unfinished; /* not released, or being released */
static int reaper_runs;
static atomic_int has_callbacks; /* Python has destructor callbacks left */
static atomic_int is_watched;    /* the host has set a destructor callback */
static pthread_mutex_t released_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released_more = PTHREAD_COND_INITIALIZER;

static void *reap(void *nothing)
{
    (void)nothing;
    for (;;) {
        pthread_mutex_lock(&released_lock);
        while (released_first == released_count && !atomic_load(&has_callbacks))
            pthread_cond_wait(&released_more, &released_lock);
        pthread_mutex_unlock(&released_lock);
        struct fpgart_visit visit;
        if (!fpgart_enter(&visit))
            return NULL;
        fpgart_leave(&visit); /* entering has released them */
    }
}

/* Returns 1 for kinds without destructor callbacks. Hosts expect those of memory objects and
 * contexts before the call returns. */
static int nobody_watches(int kind)
{
    return kind != FPGART_MEM && kind != FPGART_CONTEXT;
}

/* `soon`: by a thread of the driver, unless a call into Python comes before. */
static int release_later(uintptr_t handle, int soon)
{
    int taken = 0;
    pthread_mutex_lock(&released_lock);
    if (released_count == released_room) {
        size_t room = released_room == 0 ? 64 : 2 * released_room;
        struct release *larger = realloc(released, room * sizeof *released);
        if (larger != NULL) {
            released = larger;
            released_room = room;
        }
    }
    if (soon && !reaper_runs)
        reaper_runs = fpgart_start_thread(reap, NULL);
    if ((reaper_runs || !soon) && released_count < released_room) {
        released[released_count++] = (struct release){handle, find(handle)->serial};
        atomic_fetch_add(&unfinished, 1);
        if (soon)
            pthread_cond_signal(&released_more);
        taken = 1;
    }
    pthread_mutex_unlock(&released_lock);
    return taken;
}

int fpgart_any_released(void)
{
    return atomic_load(&unfinished) != 0 || atomic_load(&has_callbacks);
}

uintptr_t fpgart_next_released(void)
{
    uintptr_t handle = 0;
    pthread_mutex_lock(&released_lock);
    while (handle == 0 && released_first < released_count) {
        const struct release *next = &released[released_first++];
        if (find(next->handle)->serial == next->serial)
            handle = next->handle;
        else
            atomic_fetch_sub(&unfinished, 1);
    }
    if (released_first == released_count)
        released_first = released_count = 0;
    pthread_mutex_unlock(&released_lock);
    return handle;
}

/* From now on the host observes when objects are destroyed. Commands may use objects that it
 * has released already. */
void fpgart_destructors_are_watched(void)
{
    if (!atomic_exchange(&is_watched, 1))
        fpgart_observe_commands();
}

void fpgart_callbacks_are_left(int flag)
{
    atomic_store(&has_callbacks, flag);
    if (!flag)
        return;
    pthread_mutex_lock(&released_lock);
    if (!reaper_runs)
        reaper_runs = fpgart_start_thread(reap, NULL);
    pthread_cond_signal(&released_more);
    pthread_mutex_unlock(&released_lock);
}

void fpgart_released_done(void)
{
    atomic_fetch_sub(&unfinished, 1);
}

/* Returns `invalid`; Python reports why, on a thread that may wait for it. */
static cl_int refuse(const void *handle, int kind, int releases, cl_int invalid)
{
    struct fpgart_visit visit;
    if (fpgart_running() && fpgart_may_wait_for_interpreter() && fpgart_enter(&visit)) {
        fpgart_count_refused((uintptr_t)handle, kind, releases);
        fpgart_leave(&visit);
    }
    return invalid;
}

/* The specification counts references to sub-devices only, and boards have none. */
static int is_counted(int kind)
{
    return kind != FPGART_DEVICE;
}

cl_int fpgart_retain(const void *handle, int kind, cl_int invalid)
{
    if (fpgart_state == FPGART_FORKED && is_counted(kind))
        return CL_OUT_OF_RESOURCES;
    struct handle *slot = find((uintptr_t)handle);
    if (slot == NULL || atomic_load(&slot->kind) != kind)
        return refuse(handle, kind, 0, invalid);
    if (!is_counted(kind))
        return CL_SUCCESS;
    struct fpgart_visit visit;
    if (atomic_fetch_add(&slot->references, 1) == 0 && fpgart_running() && fpgart_enter(&visit)) {
        fpgart_host_retained((uintptr_t)handle);
        fpgart_leave(&visit);
    }
    return CL_SUCCESS;
}

/* Releases Python's reference, after the last holder's. */
static void let_go(uintptr_t handle, int kind)
{
    struct fpgart_visit visit;
    if (!fpgart_running())
        return;
    int must_not_enter = nobody_watches(kind) && !fpgart_may_wait_for_interpreter();
    if ((must_not_enter || core_in_ended()) &&
        release_later(handle, must_not_enter || atomic_load(&is_watched)))
        return;
    if (fpgart_enter(&visit)) {
        fpgart_host_released(handle);
        fpgart_leave(&visit);
    }
}

int fpgart_hold_same(uintptr_t handle, int kind, uint64_t serial)
{
    struct handle *slot = find(handle);
    if (slot == NULL || atomic_load(&slot->kind) != kind || slot->serial != serial)
        return 0;
    uint64_t references = atomic_load(&slot->references);
    do {
        if (references % CHILD == 0)
            return 0;
    } while (!atomic_compare_exchange_weak(&slot->references, &references, references + CHILD));
    if (atomic_load(&slot->kind) == kind && slot->serial == serial)
        return 1;
    /* It was freed, and its slot has another object. */
    unhold(handle, atomic_load(&slot->kind), 1);
    return 0;
}

int fpgart_hold(uintptr_t handle, int kind)
{
    return fpgart_hold_same(handle, kind, fpgart_handle_serial(handle));
}

static void unhold(uintptr_t handle, int kind, int later)
{
    struct handle *slot = find(handle);
    if (atomic_fetch_sub(&slot->references, CHILD) == CHILD && !goes_unseen(slot, later) &&
        !(later && release_later(handle, atomic_load(&is_watched))))
        let_go(handle, kind);
}

void fpgart_unhold(uintptr_t handle, int kind)
{
    unhold(handle, kind, 0);
}

void fpgart_unhold_later(uintptr_t handle, int kind)
{
    unhold(handle, kind, 1);
}

/* Ends the last hold of an object that the host has released. */
static void end_hold(struct handle *slot, int kind)
{
    int cancel_state;
    fpgart_disable_cancel(&cancel_state);
    int is_gone = goes_unseen(slot, 0);
    fpgart_restore_cancel(cancel_state);
    if (!is_gone)
        let_go((uintptr_t)slot, kind);
}

cl_int fpgart_release(const void *handle, int kind, cl_int invalid)
{
    if (fpgart_state == FPGART_FORKED && is_counted(kind))
        return CL_OUT_OF_RESOURCES;
    struct handle *slot = find((uintptr_t)handle);
    if (slot == NULL || atomic_load(&slot->kind) != kind)
        return refuse(handle, kind, 1, invalid);
    if (!is_counted(kind))
        return CL_SUCCESS;
    uint64_t references = atomic_load(&slot->references);
    int is_last = references > CHILD && references % CHILD == 1;
    if (is_last && kind == FPGART_QUEUE)
        fpgart_queue_goes((uintptr_t)handle);
    if (is_last && kind == FPGART_EVENT)
        fpgart_event_goes((uintptr_t)handle);
    do {
        if (references % CHILD == 0)
            return refuse(handle, kind, 1, invalid);
    } while (!atomic_compare_exchange_weak(&slot->references, &references, references - 1));
    if (references == 1)
        end_hold(slot, kind);
    if (references != 1 && references % CHILD == 1 && kind != FPGART_EVENT &&
        atomic_load(&is_watched))
        fpgart_observe_commands();
    return CL_SUCCESS;
}

const char fpgart_loss[] = "no platform";

void fpgart_entered(void)
{
    if (fpgart_any_released() && !core_in_ended())
        fpgart_reap();
}

int fpgart_all_ended(cl_uint count, const cl_event *events)
{
    for (cl_uint i = 0; i < count; i++)
        if (events == NULL || fpgart_handle_kind((uintptr_t)events[i]) != FPGART_EVENT)
            return 0;
    return fpgart_settled() && fpgart_ending();
}
