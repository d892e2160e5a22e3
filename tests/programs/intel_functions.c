/* SPDX-License-Identifier: Apache-2.0
 *
 * What icd/host/alteracl.c makes of loaders: this program is one. Prints nothing if all is right.
 */
#include <CL/cl_ext_intelfpga.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *acl_aligned_malloc(size_t size);
void acl_aligned_free(void *memory);

enum { PLATFORMS = 65 };

static cl_int loader_status;
static cl_uint loader_count, first_with, asked;
static unsigned resets, tracked, reported, freed;
static char places[PLATFORMS];

static cl_platform_id platform_at(cl_uint number)
{
    return (cl_platform_id)&places[number];
}

cl_int CL_API_CALL clGetPlatformIDs(cl_uint most, cl_platform_id *platforms, cl_uint *count)
{
    for (cl_uint i = 0; i < most && i < loader_count; i++)
        platforms[i] = platform_at(i);
    *count = loader_count;
    return loader_status;
}

static cl_int CL_API_CALL reset(cl_context context, cl_uint count, const cl_device_id *devices)
{
    (void)context, (void)devices;
    resets++;
    return (cl_int)count;
}

static void CL_API_CALL track(cl_platform_id platform)
{
    tracked += platform == platform_at(3);
}

static void CL_API_CALL report(cl_platform_id platform,
                               void(CL_CALLBACK *told)(void *, void *, const char *, cl_uint),
                               void *data)
{
    reported += platform == platform_at(4) && told == NULL && data == &reported;
}

void *CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
                                                           const char *name)
{
    asked++;
    if (platform < platform_at(first_with))
        return NULL;
    if (strcmp(name, "clResetKernelsIntelFPGA") == 0)
        return (void *)(size_t)reset;
    if (strcmp(name, "clTrackLiveObjectsIntelFPGA") == 0)
        return (void *)(size_t)track;
    return strcmp(name, "clReportLiveObjectsIntelFPGA") == 0 ? (void *)(size_t)report : NULL;
}

/* alteracl.c is compiled with this name. */
void noted_free(void *memory);
void noted_free(void *memory)
{
    freed++;
    free(memory);
}

static void must(bool holds, const char *words)
{
    if (!holds)
        puts(words);
}

static cl_int ask(cl_int status, cl_uint count, cl_uint first)
{
    loader_status = status;
    loader_count = count;
    first_with = first;
    asked = 0;
    return clResetKernelsIntelFPGA(NULL, 7, NULL);
}

int main(void)
{
    must(ask(CL_SUCCESS, 0, 0) == CL_INVALID_OPERATION && asked == 0, "a platform is invented");
    must(ask(CL_SUCCESS, 2, PLATFORMS) == CL_INVALID_OPERATION && asked == 2,
         "not each platform is asked");
    must(ask(CL_SUCCESS, PLATFORMS, PLATFORMS) == CL_INVALID_OPERATION && asked == PLATFORMS - 1,
         "more platforms are asked than there is room for");
    must(ask(-1001, 2, 0) == CL_INVALID_OPERATION && asked == 0,
         "platforms are asked though the loader has failed");
    clTrackLiveObjectsIntelFPGA(platform_at(3));
    clReportLiveObjectsIntelFPGA(platform_at(4), NULL, &reported);
    must(resets + tracked + reported == 0, "a function is called that no platform has");

    must(ask(CL_SUCCESS, 3, 1) == 7 && resets == 1 && asked == 2,
         "the function of the first platform that has it is not called");
    must(clGetProfileInfoIntelFPGA(NULL) == CL_INVALID_OPERATION, "another function is called");
    must(clGetBoardExtensionFunctionAddressIntelFPGA("name", NULL) == NULL,
         "a board has a function");
    clTrackLiveObjectsIntelFPGA(platform_at(3));
    clReportLiveObjectsIntelFPGA(platform_at(4), NULL, &reported);
    must(tracked == 1 && reported == 1, "live objects are not told as the host asks");

    void *memory = acl_aligned_malloc(100);
    must(memory != NULL && (uintptr_t)memory % 64 == 0, "memory for DMA has another alignment");
    acl_aligned_free(memory);
    must(freed == 1, "memory for DMA is not freed");
    must(acl_aligned_malloc(SIZE_MAX) == NULL, "more memory than there is");
    return 0;
}
