/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates programs from SPIR-V with many specialisation constants in several threads at once, and
 * sets the last constant of each. Ends with status 77 if the device takes no SPIR-V. */
#include "../../conformance/c/host.h"

enum { THREADS = 8, PROGRAMS = 100, CONSTANTS = 1000, MOST_WORDS = 64 + 8 * CONSTANTS };
enum { UINT = 1, POINTER, VOID, FUNCTION, KERNEL, DATA, LABEL, FIRST_CONSTANT };

struct module {
    unsigned words[MOST_WORDS];
    size_t length;
};

static struct host host;
static struct module module;

#define ADD(...)                                                                                   \
    add((const unsigned[]){__VA_ARGS__}, sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

static void add(const unsigned *words, size_t count)
{
    memcpy(module.words + module.length, words, count * sizeof *words);
    module.length += count;
}

/* A kernel "k" that does nothing with its pointer, and constants with the numbers from 0 on. */
static void write_module(void)
{
    ADD(0x07230203, 0x00010000, 0, FIRST_CONSTANT + CONSTANTS, 0);
    ADD(0x00020011, 4, 0x00020011, 5, 0x00020011, 6); /* OpCapability Addresses, Linkage, Kernel */
    ADD(0x0003000e, 2, 2);                            /* OpMemoryModel Physical64 OpenCL */
    ADD(0x0004000f, 6, KERNEL, 'k');                  /* OpEntryPoint */
    for (unsigned i = 0; i < CONSTANTS; i++)
        ADD(0x00040047, FIRST_CONSTANT + i, 1, i); /* OpDecorate SpecId */
    ADD(0x00040015, UINT, 32, 0);                  /* OpTypeInt */
    for (unsigned i = 0; i < CONSTANTS; i++)
        ADD(0x00040032, UINT, FIRST_CONSTANT + i, 3); /* OpSpecConstant */
    ADD(0x00040020, POINTER, 5, UINT);                /* OpTypePointer CrossWorkgroup */
    ADD(0x00020013, VOID, 0x00040021, FUNCTION, VOID, POINTER);
    ADD(0x00050036, VOID, KERNEL, 0, FUNCTION, 0x00030037, POINTER, DATA);
    ADD(0x000200f8, LABEL, 0x000100fd, 0x00010038); /* OpLabel, OpReturn, OpFunctionEnd */
}

static void *create(void *unused)
{
    (void)unused;
    for (int i = 0; i < PROGRAMS; i++) {
        const unsigned value = 5;
        cl_int status;
        cl_program program = clCreateProgramWithIL(host.context, module.words,
                                                   module.length * sizeof *module.words, &status);
        must(status, "clCreateProgramWithIL");
        MUST(clSetProgramSpecializationConstant(program, CONSTANTS - 1, sizeof value, &value));
        MUST(clReleaseProgram(program));
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    char versions[1024] = "";
    find_context(&host);
    if (clGetDeviceInfo(host.device, CL_DEVICE_IL_VERSION, sizeof versions, versions, NULL) !=
            CL_SUCCESS ||
        versions[0] == '\0')
        return NOT_SUPPORTED;
    write_module();
    for (int i = 0; i < THREADS; i++)
        must_be(pthread_create(&threads[i], NULL, create, NULL) == 0, "a thread starts");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
