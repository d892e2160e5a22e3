/* Checks each of its calls but one: where the buffer is not mapped, it writes to address 0. */
#include "host.h"

int main(void)
{
    struct host host;
    cl_int status;
    find_context(&host);
    host.queue = new_queue(&host);
    cl_mem buffer = new_buffer(&host, 64);
    char *mapped = clEnqueueMapBuffer(host.queue, buffer, CL_TRUE, CL_MAP_WRITE, 0, 64, 0, NULL,
                                      NULL, &status);
    memset(mapped, 1, 64);
    MUST(clEnqueueUnmapMemObject(host.queue, buffer, mapped, 0, NULL, NULL));
    return 0;
}
