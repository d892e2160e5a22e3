/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks for the binary of a program that was just built. POCL_CACHE_DIR names an empty folder: the
 * machine code that the driver makes for the answer appears there. The binary need not have any,
 * and for large work-groups it takes minutes. */
#include "../../conformance/c/host.h"

#include <ftw.h>

static const char *SOURCE =
    "kernel __attribute__((reqd_work_group_size(256, 1, 1))) void add(global int *data)\n"
    "{\n"
    "    data[get_global_id(0)] += 1;\n"
    "}\n";
static int libraries;

static int count(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    const char *end = strrchr(path, '.');
    (void)facts;
    (void)place;
    libraries += kind == FTW_F && end != NULL && strcmp(end, ".so") == 0;
    return 0;
}

int main(void)
{
    struct host host;
    size_t size;
    start(&host, SOURCE);
    free(binary_of(host.program, &size));
    nftw(getenv("POCL_CACHE_DIR"), count, 8, FTW_PHYS);
    must_be(libraries == 0, "the binary was made without machine code");
    return 0;
}
