/* SPDX-License-Identifier: Apache-2.0
 *
 * What a handler of SIGSEGV reads from the processor's registers; one part for each processor. */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)

static inline uintptr_t code_at_fault(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

/* The return address of the function if it keeps nothing on the stack, as copies of the C
 * library do. */
static inline uintptr_t caller_at_fault(const ucontext_t *context)
{
    return *(const uintptr_t *)context->uc_mcontext.gregs[REG_RSP];
}

static inline int was_write(const ucontext_t *context)
{
    return (context->uc_mcontext.gregs[REG_ERR] & 2) != 0;
}

#elif defined(__aarch64__)

#include <asm/sigcontext.h>
#include <stddef.h>

static inline uintptr_t code_at_fault(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.pc;
}

static inline uintptr_t caller_at_fault(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.regs[30];
}

/* Linux puts records behind the registers, among them the syndrome register: its bit 6 is set
 * for writes. Without that record, a write is assumed. */
static inline int was_write(const ucontext_t *context)
{
    const unsigned char *records = (const unsigned char *)context->uc_mcontext.__reserved;
    size_t at = 0;
    while (at + sizeof(struct esr_context) <= sizeof context->uc_mcontext.__reserved) {
        const struct _aarch64_ctx *head = (const void *)(records + at);
        if (head->magic == ESR_MAGIC)
            return (((const struct esr_context *)(const void *)head)->esr & 1 << 6) != 0;
        if (head->magic == 0 || head->size == 0)
            break;
        at += head->size;
    }
    return 1;
}

#else
#error "FPGART_CHECK=usm and buffers know the registers of x86-64 and AArch64 alone"
#endif
