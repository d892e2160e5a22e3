/* A call that comes while the switchers go to sleep wakes them (icd/interpreter/switcher.c). */
#include "steps.h"

#define PY_VERSION_HEX 0x030B0000
typedef struct thread_state PyThreadState;
static PyThreadState *PyThreadState_New(void *interpreter)
{
    return interpreter;
}
static void PyEval_RestoreThread(PyThreadState *state)
{
    (void)state;
}
static void PyEval_SaveThread(void)
{
}

#include "../../icd/interpreter/switcher.c"

int fpgart_running(void)
{
    return 1;
}
int fpgart_busy(void)
{
    return 0;
}
int fpgart_go_in(struct fpgart_visit *visit)
{
    return visit != NULL;
}
int fpgart_start_thread(void *(*run)(void *), void *given)
{
    return run == NULL && given == NULL; /* it is not called */
}
void fpgart_go_out(const struct fpgart_visit *visit)
{
    (void)visit;
}

static unsigned calls_seen;

static void go_to_sleep(void)
{
    sleep_unless_called(calls_seen);
}

int main(void)
{
    int at = 0;
    for (;; at++) {
        atomic_store(&awake, 1);
        calls_seen = atomic_load(&calls);
        if (!interrupted_at(at, go_to_sleep, fpgart_wake_switchers))
            break;
        if (!atomic_load(&awake)) {
            printf("a call before step %d does not wake the switchers\n", at);
            return 1;
        }
    }
    printf("%d steps\n", at);
    return at < 3;
}
