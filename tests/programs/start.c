/* Asks what programs ask first, and says after each step whether the driver's interpreter runs. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <stdio.h>
#include <string.h>

static int interpreter_runs(void)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        found |= strstr(line, "_cffi_backend") != NULL;
    if (maps != NULL)
        fclose(maps);
    return found;
}

static void say(const char *step)
{
    printf("%s: %s\n", step, interpreter_runs() ? "runs" : "waits");
}

static void say_texts(cl_platform_id platform, const char *when)
{
    static const cl_platform_info queries[] = {CL_PLATFORM_PROFILE,    CL_PLATFORM_VERSION,
                                               CL_PLATFORM_NAME,       CL_PLATFORM_VENDOR,
                                               CL_PLATFORM_EXTENSIONS, CL_PLATFORM_ICD_SUFFIX_KHR};
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        char text[1024] = "";
        size_t size = 0;
        cl_int status = clGetPlatformInfo(platform, queries[i], sizeof text, text, &size);
        printf("%s %x %d %zu %s\n", when, queries[i], status, size, text);
    }
}

int main(void)
{
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    cl_uint count = 9, devices = 9;
    cl_int status = clGetPlatformIDs(1, &platform, &count);
    printf("platforms %d %u\n", status, count);
    say("after platforms");
    if (status != CL_SUCCESS)
        return 0;
    say_texts(platform, "text");
    status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &devices);
    printf("text devices %d %u\n", status, devices);
    say("after texts");
    status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    printf("device %d\n", status);
    say("after device");
    say_texts(platform, "text");
    status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &devices);
    printf("text devices %d %u\n", status, devices);
    return 0;
}
