/* Launches a kernel by several ways through the same function, again and again, for a trace: from
 * two functions with frames of the same size, and behind more frames than a trace shows. */
#include "host.h"

enum { TIMES = 6, DEPTH = 40 };

static struct host host;
static cl_kernel kernel;

static void enqueue(void)
{
    size_t items = 1;
    MUST(clEnqueueNDRangeKernel(host.queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
}

static void from_left(void)
{
    enqueue();
}

static void from_right(void)
{
    enqueue();
}

static void from_deep(int more)
{
    if (more > 0)
        from_deep(more - 1);
    else
        enqueue();
}

int main(void)
{
    start(&host, "kernel void nothing(void) { }");
    kernel = new_kernel(&host, "nothing");
    for (int i = 0; i < TIMES; i++) {
        from_left();
        from_right();
        from_deep(DEPTH);
    }
    MUST(clFinish(host.queue));
    return 0;
}
