/* SPDX-License-Identifier: Apache-2.0
 *
 * Banks and memories that a host asks for (CL_CHANNEL_n_INTELFPGA, CL_MEM_CHANNEL_INTEL,
 * CL_MEM_ALLOC_BUFFER_LOCATION_INTEL): which wishes are granted, which errors the others give, and
 * that a full board says so and goes on. `buffer_places places|exhaustion`. */
#include "host.h"

#include <CL/cl_ext.h>

#ifndef CL_CHANNEL_1_INTELFPGA
#define CL_CHANNEL_1_INTELFPGA (1 << 16)
#endif

static struct host host;

static cl_int create(const cl_mem_properties *properties, cl_mem_flags flags)
{
    cl_int status;
    cl_mem buffer =
        clCreateBufferWithProperties(host.context, properties, flags, 4096, NULL, &status);
    must_be((buffer != NULL) == (status == CL_SUCCESS), "a buffer comes with success");
    if (buffer != NULL) {
        cl_int value = 42, got = 0;
        write_buffer(host.queue, buffer, sizeof value, &value);
        read_back(host.queue, buffer, sizeof got, &got);
        must_be(got == value, "the buffer holds what was written");
        clReleaseMemObject(buffer);
    }
    return status;
}

static cl_int with(cl_mem_properties name, cl_mem_properties value, cl_mem_flags flags)
{
    const cl_mem_properties properties[] = {name, value, 0};
    return create(properties, flags);
}

static void locations(void)
{
    const cl_mem_properties first[] = {CL_MEM_ALLOC_BUFFER_LOCATION_INTEL, 0, 0};
    cl_int status;
    cl_uint location = 99;
    cl_mem buffer =
        clCreateBufferWithProperties(host.context, first, CL_MEM_READ_WRITE, 8192, NULL, &status);
    cl_buffer_region region = {4096, 4096};
    must(status, "location 0");
    cl_mem window = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    must(status, "a sub-buffer of it");
    for (int placed = 0; placed < 2; placed++) {
        must(clGetMemObjectInfo(buffer, CL_MEM_ALLOC_BUFFER_LOCATION_INTEL, sizeof location,
                                &location, NULL),
             "CL_MEM_ALLOC_BUFFER_LOCATION_INTEL");
        must_be(location == 0, "the location is reported");
        location = 99;
        must(clGetMemObjectInfo(window, CL_MEM_ALLOC_BUFFER_LOCATION_INTEL, sizeof location,
                                &location, NULL),
             "CL_MEM_ALLOC_BUFFER_LOCATION_INTEL of a sub-buffer");
        must_be(location == 0, "the location of the sub-buffer is its parent's");
        fill(host.queue, buffer, 1, 8192);
        MUST(clFinish(host.queue));
    }
    clReleaseMemObject(window);
    clReleaseMemObject(buffer);
    must_be(with(CL_MEM_ALLOC_BUFFER_LOCATION_INTEL, 99, 0) == CL_INVALID_VALUE,
            "a location that is no memory");
    must_be(with(0x7777, 1, 0) == CL_INVALID_PROPERTY, "a property that is none");
}

/* A bank is a hint, whether the board interleaves its banks or not. */
static void banks(void)
{
    for (cl_mem_flags bank = 1; bank <= 7; bank++) {
        must_be(create(NULL, CL_MEM_READ_WRITE | bank << 16) == CL_SUCCESS, "a bank by flag");
        must_be(with(CL_MEM_CHANNEL_INTEL, bank, CL_MEM_READ_WRITE) == CL_SUCCESS,
                "a bank by property");
    }
    must_be(with(CL_MEM_CHANNEL_INTEL, 8, 0) == CL_INVALID_VALUE, "bank 8");
    must_be(with(CL_MEM_CHANNEL_INTEL, 1, CL_CHANNEL_1_INTELFPGA) == CL_INVALID_PROPERTY,
            "a bank by flag and property");
    must(create(NULL, CL_MEM_READ_WRITE), "no bank at all");
}

/* The board is full when the buffers are used, not when they are made. */
static void exhaustion(void)
{
    enum { PARTS = 8 };
    cl_ulong total, largest;
    cl_mem parts[PARTS], extra;
    cl_int value = 7, got;
    size_t size;
    must(clGetDeviceInfo(host.device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof total, &total, NULL),
         "CL_DEVICE_GLOBAL_MEM_SIZE");
    must(clGetDeviceInfo(host.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, NULL),
         "CL_DEVICE_MAX_MEM_ALLOC_SIZE");
    must_be(clCreateBuffer(host.context, 0, largest + 1, NULL, &got) == NULL &&
                got == CL_INVALID_BUFFER_SIZE,
            "more than the largest allocation");
    size = total / PARTS;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < PARTS; i++)
            parts[i] = new_buffer(&host, size);
        for (int i = 0; i < PARTS - 1; i++)
            must(clEnqueueWriteBuffer(host.queue, parts[i], CL_FALSE, 0, 4, &value, 0, NULL, NULL),
                 "write");
        /* The page at address 0 is kept free, so that the last part does not fit. */
        must_be(clEnqueueWriteBuffer(host.queue, parts[PARTS - 1], CL_FALSE, 0, 4, &value, 0, NULL,
                                     NULL) == CL_MEM_OBJECT_ALLOCATION_FAILURE,
                "a full board");
        extra = new_buffer(&host, size / 2);
        must(clEnqueueWriteBuffer(host.queue, extra, CL_TRUE, 0, 4, &value, 0, NULL, NULL),
             "a smaller request");
        clReleaseMemObject(parts[0]);
        must(clEnqueueWriteBuffer(host.queue, parts[PARTS - 1], CL_TRUE, 0, 4, &value, 0, NULL,
                                  NULL),
             "the same request when there is room again");
        read_back(host.queue, parts[PARTS - 1], 4, &got);
        must_be(got == value, "and its contents");
        clReleaseMemObject(extra);
        for (int i = 1; i < PARTS; i++)
            clReleaseMemObject(parts[i]);
    }
}

int main(int count, char **words)
{
    must_be(count == 2, "one argument");
    start(&host, "kernel void nothing(void) {}");
    if (strcmp(words[1], "exhaustion") == 0) {
        exhaustion();
    } else {
        banks();
        locations();
    }
    stop(&host);
    puts("ok");
    return 0;
}
