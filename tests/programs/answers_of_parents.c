/* What an event is said to be while another thread makes it, and its parent's handle becomes that
 * of something else (icd/handles.c, icd/remembered.c): its parent's answers, or none. */
#include "steps.h"

#include "../../icd/handles.c"
#include "../../icd/remembered.c"

atomic_int fpgart_state = FPGART_RUNNING;
const struct _cl_icd_dispatch fpgart_dispatch;

int fpgart_running(void)
{
    return 1;
}
int fpgart_enter(struct fpgart_visit *visit)
{
    (void)visit;
    return 0;
}
void fpgart_leave(const struct fpgart_visit *visit)
{
    (void)visit;
}
int fpgart_is_guest(void)
{
    return 0;
}
int fpgart_holds_interpreter(void)
{
    return 0;
}
int fpgart_settled(void)
{
    return 0;
}
int fpgart_ending(void)
{
    return 0;
}
int fpgart_any_launches(void)
{
    return 0;
}
void fpgart_count_call(void)
{
}
void fpgart_uncount_call(void)
{
}
void fpgart_take_in(void)
{
}
void fpgart_reap(void)
{
}
void fpgart_host_retained(uintptr_t handle)
{
    (void)handle;
}
void fpgart_host_released(uintptr_t handle)
{
    (void)handle;
}
void fpgart_recorder_free(fpgart_recorder_slot *slot)
{
    (void)slot;
}
void fpgart_arguments_free(fpgart_arguments_slot *slot)
{
    (void)slot;
}
void fpgart_allocations_go(uint64_t context)
{
    (void)context;
}

static const uint64_t context_of_parent = 0x1111, context_of_others = 0x2222;
static uintptr_t event, parent;
static uint64_t answer;
static int is_known;

static void ends_well_in(uintptr_t ended, uint64_t context)
{
    static const cl_int complete = CL_COMPLETE;
    fpgart_remember(ended, CL_EVENT_COMMAND_EXECUTION_STATUS, (const char *)&complete,
                    sizeof complete);
    fpgart_remember(ended, CL_EVENT_CONTEXT, (const char *)&context, sizeof context);
}

static void ask(void)
{
    answer = 0;
    is_known = fpgart_knows((const void *)event, FPGART_EVENT, CL_EVENT_CONTEXT, sizeof answer,
                            &answer, NULL);
}

/* Python makes the event; its parent's handle is used again when thousands of others were freed. */
static void make_event(void)
{
    if (!fpgart_event_bear(event))
        abort();
    if (!fpgart_event_loses_child(parent))
        return;
    fpgart_handle_free(parent);
    for (size_t i = 0; i <= 2 * QUARANTINE; i++) {
        uintptr_t other = fpgart_handle_new(FPGART_EVENT, 1);
        ends_well_in(other, context_of_others);
        if (other != parent)
            fpgart_handle_free(other);
    }
}

int main(void)
{
    int at = 0;
    for (;; at++) {
        parent = fpgart_handle_new(FPGART_EVENT, 0);
        ends_well_in(parent, context_of_parent);
        event = fpgart_event_unborn(1, 1);
        if (!fpgart_event_late(event, parent))
            abort();
        if (!interrupted_at(at, ask, make_event))
            break;
        if (is_known ? answer != context_of_parent : answer != 0) {
            printf("made before step %d, the event is said to be of context %#llx\n", at,
                   (unsigned long long)answer);
            return 1;
        }
        uintptr_t released = fpgart_next_released();
        if (fpgart_handle_kind(parent) == FPGART_EVENT && !fpgart_handle_is_held(parent) &&
            released != parent) {
            printf("made before step %d, the parent is never released\n", at);
            return 1;
        }
    }
    printf("%d steps\n", at);
    return at < 5;
}
