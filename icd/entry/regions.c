/* SPDX-License-Identifier: Apache-2.0
 *
 * Sub-buffers that C makes: only their bounds and flags have to be checked (OpenCL 3.0, 5.2.1).
 * Errors are left to Python. */
#include "regions.h"

#include "handles.h"
#include "permissions.h"

enum {
    HOST_POINTERS = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR,
    CHANNELS = 7 << 16,
    ALIGNMENT = 1024
};

/* Returns 1 if `asked`, one flag at most, is the buffer's flag, or restricts what the buffer
 * leaves open. */
static int restricts(uint64_t asked, uint64_t has)
{
    int is_open = has == 0 || has == CL_MEM_READ_WRITE;
    return (asked & (asked - 1)) == 0 && (asked == 0 || is_open || asked == has);
}

static int may_have(const struct fpgart_region *buffer, uint64_t flags)
{
    return (flags & ~(uint64_t)(FPGART_ACCESS | FPGART_HOST_ACCESS)) == 0 &&
           restricts(flags & FPGART_ACCESS, buffer->flags & FPGART_ACCESS) &&
           restricts(flags & FPGART_HOST_ACCESS, buffer->flags & FPGART_HOST_ACCESS);
}

static uint64_t inherited(const struct fpgart_region *buffer, uint64_t flags)
{
    uint64_t access = flags & FPGART_ACCESS, host_access = flags & FPGART_HOST_ACCESS;
    return (access != 0 ? access : buffer->flags & FPGART_ACCESS) |
           (host_access != 0 ? host_access : buffer->flags & FPGART_HOST_ACCESS) |
           (buffer->flags & (HOST_POINTERS | CHANNELS));
}

static int lies_within(const struct fpgart_region *buffer, const cl_buffer_region *region)
{
    return region->size != 0 && region->origin % ALIGNMENT == 0 && region->origin <= buffer->size &&
           region->size <= buffer->size - region->origin;
}

cl_mem fpgart_makes_sub_buffer(const void *buffer, cl_mem_flags flags, cl_buffer_create_type type,
                               const void *given)
{
    uintptr_t parent = (uintptr_t)buffer, made = 0;
    const cl_buffer_region *region = given;
    if (!fpgart_may_carry() || type != CL_BUFFER_CREATE_TYPE_REGION || region == NULL ||
        !fpgart_hold(parent, FPGART_MEM))
        return NULL;
    const struct fpgart_region *of = fpgart_region_of(parent);
    if (of->context != 0 && fpgart_owner_of(parent) == parent && may_have(of, flags) &&
        lies_within(of, region))
        made = fpgart_handle_new(FPGART_MEM, 1);
    if (made == 0) {
        fpgart_unhold(parent, FPGART_MEM);
        return NULL;
    }
    *fpgart_region_of(made) =
        (struct fpgart_region){inherited(of, flags), region->origin, region->size, of->context, 0};
    fpgart_is_unseen(made, parent);
    return (cl_mem)made;
}
