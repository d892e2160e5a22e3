/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of aocl_mmd.h: each calls Python (fpgart/mmd/entry_points.py), and fails if
 * there is no interpreter or the process exits. aocl_mmd_reprogram, the older name of
 * aocl_mmd_program, is missing on purpose: runtimes refuse a library that has both. */
#include "mmd.h"

const char fpgart_loss[] = "no board";

void fpgart_entered(void)
{
}

#define IN_PYTHON(type, otherwise, call)                                                           \
    struct fpgart_visit visit;                                                                     \
    if (!fpgart_enter(&visit))                                                                     \
        return otherwise;                                                                          \
    type answer = (type)(call);                                                                    \
    fpgart_leave(&visit);                                                                          \
    return answer

#define NUMBER(pointer) ((uintptr_t)(pointer))

int aocl_mmd_get_offline_info(aocl_mmd_offline_info_t query, size_t size, void *value,
                              size_t *size_ret)
{
    IN_PYTHON(int, -1, mmd_get_offline_info((int)query, size, NUMBER(value), size_ret));
}

int aocl_mmd_get_info(int handle, aocl_mmd_info_t query, size_t size, void *value, size_t *size_ret)
{
    IN_PYTHON(int, -1, mmd_get_info(handle, (int)query, size, NUMBER(value), size_ret));
}

int aocl_mmd_open(const char *name)
{
    IN_PYTHON(int, -1, mmd_open(name));
}

int aocl_mmd_close(int handle)
{
    IN_PYTHON(int, -1, mmd_close(handle));
}

int aocl_mmd_set_interrupt_handler(int handle, aocl_mmd_interrupt_handler_fn function, void *data)
{
    IN_PYTHON(int, -1, mmd_set_interrupt_handler(handle, NUMBER(function), NUMBER(data)));
}

int aocl_mmd_set_device_interrupt_handler(int handle, aocl_mmd_device_interrupt_handler_fn function,
                                          void *data)
{
    IN_PYTHON(int, -1, mmd_set_device_interrupt_handler(handle, NUMBER(function), NUMBER(data)));
}

int aocl_mmd_set_status_handler(int handle, aocl_mmd_status_handler_fn function, void *data)
{
    IN_PYTHON(int, -1, mmd_set_status_handler(handle, NUMBER(function), NUMBER(data)));
}

int aocl_mmd_yield(int handle)
{
    IN_PYTHON(int, 0, mmd_yield(handle));
}

int aocl_mmd_read(int handle, aocl_mmd_op_t op, size_t size, void *host, int interface,
                  size_t offset)
{
    IN_PYTHON(int, -1, mmd_read(handle, NUMBER(op), size, NUMBER(host), interface, offset));
}

int aocl_mmd_write(int handle, aocl_mmd_op_t op, size_t size, const void *host, int interface,
                   size_t offset)
{
    IN_PYTHON(int, -1, mmd_write(handle, NUMBER(op), size, NUMBER(host), interface, offset));
}

int aocl_mmd_copy(int handle, aocl_mmd_op_t op, size_t size, int interface, size_t source,
                  size_t destination)
{
    IN_PYTHON(int, -1, mmd_copy(handle, NUMBER(op), size, interface, source, destination));
}

int aocl_mmd_program(int handle, void *image, size_t size, aocl_mmd_program_mode_t mode)
{
    IN_PYTHON(int, -1, mmd_program(handle, NUMBER(image), size, mode));
}

static void *no_memory(int *error)
{
    if (error != NULL)
        *error = AOCL_MMD_ERROR_OUT_OF_MEMORY;
    return NULL;
}

void *aocl_mmd_host_alloc(int *handles, size_t count, size_t size, size_t alignment,
                          aocl_mmd_mem_properties_t *properties, int *error)
{
    IN_PYTHON(void *, no_memory(error),
              mmd_host_alloc(handles, count, size, alignment, (int *)properties, error));
}

void *aocl_mmd_shared_alloc(int handle, size_t size, size_t alignment,
                            aocl_mmd_mem_properties_t *properties, int *error)
{
    IN_PYTHON(void *, no_memory(error),
              mmd_shared_alloc(handle, size, alignment, (int *)properties, error));
}

int aocl_mmd_free(void *memory)
{
    IN_PYTHON(int, AOCL_MMD_ERROR_INVALID_POINTER, mmd_free(NUMBER(memory)));
}

/* Host pipes, which Python refuses with a message. */

int aocl_mmd_hostchannel_create(int handle, char *name, size_t depth, int direction)
{
    IN_PYTHON(int, -1, mmd_refuse_host_channel(handle));
}

int aocl_mmd_hostchannel_destroy(int handle, int channel)
{
    IN_PYTHON(int, -1, mmd_refuse_host_channel(handle));
}

void *aocl_mmd_hostchannel_get_buffer(int handle, int channel, size_t *size, int *status)
{
    if (size != NULL)
        *size = 0;
    if (status != NULL)
        *status = -1;
    return NULL;
}

size_t aocl_mmd_hostchannel_ack_buffer(int handle, int channel, size_t size, int *status)
{
    if (status != NULL)
        *status = -1;
    return 0;
}

/* Calls of the host's handlers. */

void mmd_tell_interrupt(uintptr_t function, int handle, uintptr_t data)
{
    FPGART_OUTSIDE(((aocl_mmd_interrupt_handler_fn)function)(handle, (void *)data));
}

void mmd_tell_device_interrupt(uintptr_t function, int handle, uint64_t exception, uintptr_t data)
{
    aocl_mmd_interrupt_info about = {.exception_type = exception};
    FPGART_OUTSIDE(((aocl_mmd_device_interrupt_handler_fn)function)(handle, &about, (void *)data));
}

void mmd_tell_status(uintptr_t function, int handle, uintptr_t data, uintptr_t op, int status)
{
    FPGART_OUTSIDE(
        ((aocl_mmd_status_handler_fn)function)(handle, (void *)data, (aocl_mmd_op_t)op, status));
}
