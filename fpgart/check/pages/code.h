/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FPGART_CODE_H
#define FPGART_CODE_H
#include <stdint.h>

/* Where code is: its file without folders, how far into it, and the exported function, if any. */
struct code_place {
    char file[128];
    uintptr_t offset;
    char function[128];
    char scratch[1024]; /* while it is looked for */
};

/* Looks an address up; 0 where no file has it. It may be called by a handler of signals: it takes
 * no lock and asks only the system and the memory that the code is in. */
int code_place(uintptr_t code, struct code_place *found);
#endif
