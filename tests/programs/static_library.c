/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that makes a static object when it is used. */
#include <stdio.h>
#include <stdlib.h>

static void destroy(void)
{
    puts("closed");
}

void use(void);
void use(void)
{
    atexit(destroy);
}
