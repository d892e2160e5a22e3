/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>

/* The place of code: its file without folders, the offset in it, and the exported function, if
 * any. */
struct code_place {
    char file[128];
    uintptr_t offset;
    char function[128];
    char scratch[1024]; /* used during the search */
};

/* Finds the place of an address; 0 for code of no file. A signal handler may call it: it takes
 * no lock, and reads only the system and the memory of the code. */
int code_place(uintptr_t code, struct code_place *found);
