/* Asks for strings as hosts with memory of a fixed size do: `p<query>:<size>` of the platform,
 * `d<query>:<size>` of each device, in hexadecimal. Asks for those of the platform before the first
 * device, and again after it. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(const char *asked, const void *object, int is_device)
{
    char text[4096] = "";
    char *end = NULL;
    cl_uint query = strtoul(asked + 1, &end, 16);
    size_t size = strtoul(end + 1, NULL, 16), length = 0;
    cl_int status = is_device
                        ? clGetDeviceInfo((cl_device_id)object, query, size, text, &length)
                        : clGetPlatformInfo((cl_platform_id)object, query, size, text, &length);
    printf("%s\t%d\t%d\t%s\n", asked, status, length == strlen(text) + 1, text);
}

static void say_all(char **asked, char kind, const void *object)
{
    for (; *asked != NULL; asked++)
        if ((*asked)[0] == kind)
            say(*asked, object, kind == 'd');
}

int main(int argc, char **argv)
{
    cl_platform_id platform = NULL;
    cl_device_id devices[16];
    cl_uint count = 0;
    if (argc < 2 || clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS)
        return 1;
    say_all(argv + 1, 'p', platform);
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 16, devices, &count) != CL_SUCCESS)
        return 2;
    say_all(argv + 1, 'p', platform);
    for (cl_uint i = 0; i < count; i++)
        say_all(argv + 1, 'd', devices[i]);
    printf("devices\t0\t1\t%u\n", count);
    return 0;
}
