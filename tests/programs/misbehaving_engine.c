/* SPDX-License-Identifier: Apache-2.0
 *
 * An engine whose compiler and linker do what options of the step say, in this order:
 * -DENGINE_TALKS, _CRASHES, _ABORTS, _EXITS, _HANGS, _EATS. */
#include "wrapped_engine.h"

#include <signal.h>
#include <stdio.h>

enum { PIECE = 64 << 20, PIECES = 53, LINES = 20000 };

static clBuildProgram_fn build;
static clCompileProgram_fn compile;
static clLinkProgram_fn link_programs;

static void crash(void)
{
    *(volatile int *)8 = 0;
}

static void leave(void)
{
    exit(3);
}

static void hang(void)
{
    for (;;)
        pause();
}

/* 3.3 GiB, which no system gives where a process may have less. */
static void eat(void)
{
    for (int i = 0; i < PIECES; i++)
        if (mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0) == MAP_FAILED) {
            fprintf(stderr, "ENGINE ERROR: out of memory\n");
            abort();
        }
}

static void talk(void)
{
    for (int i = 0; i < LINES; i++)
        fprintf(stderr, "the engine says line %d\n", i);
}

static void misbehave(const char *options)
{
    static const struct {
        const char *option;
        void (*act)(void);
    } acts[] = {{"-DENGINE_TALKS", talk},  {"-DENGINE_CRASHES", crash}, {"-DENGINE_ABORTS", abort},
                {"-DENGINE_EXITS", leave}, {"-DENGINE_HANGS", hang},    {"-DENGINE_EATS", eat}};
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++)
        if (options != NULL && strstr(options, acts[i].option) != NULL)
            acts[i].act();
}

static cl_int build_after(cl_program program, cl_uint count, const cl_device_id *devices,
                          const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                          void *data)
{
    misbehave(options);
    return build(program, count, devices, options, notify, data);
}

static cl_int compile_after(cl_program program, cl_uint count, const cl_device_id *devices,
                            const char *options, cl_uint headers, const cl_program *texts,
                            const char **names, void(CL_CALLBACK *notify)(cl_program, void *),
                            void *data)
{
    misbehave(options);
    return compile(program, count, devices, options, headers, texts, names, notify, data);
}

static cl_program link_after(cl_context context, cl_uint count, const cl_device_id *devices,
                             const char *options, cl_uint programs, const cl_program *parts,
                             void(CL_CALLBACK *notify)(cl_program, void *), void *data,
                             cl_int *status)
{
    misbehave(options);
    return link_programs(context, count, devices, options, programs, parts, notify, data, status);
}

static void wrap(struct _cl_icd_dispatch *table)
{
    build = table->clBuildProgram;
    compile = table->clCompileProgram;
    link_programs = table->clLinkProgram;
    table->clBuildProgram = build_after;
    table->clCompileProgram = compile_after;
    table->clLinkProgram = link_after;
}
