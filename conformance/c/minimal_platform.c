/* SPDX-License-Identifier: Apache-2.0
 *
 * A host that asks for platforms and then is done: nothing else has to be called for a clean end.
 */
#include "host.h"

int main(void)
{
    cl_uint count = 0;
    MUST(clGetPlatformIDs(0, NULL, &count));
    printf("%u platforms\n", count);
    return count == 0;
}
