// SPDX-License-Identifier: Apache-2.0
#include "AOCLUtils/aocl_utils.h"

#include <cctype>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace aocl_utils
{

namespace
{

std::string lowerCase(std::string text)
{
    for (char &letter : text)
        letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return text;
}

std::string platformName(cl_platform_id platform)
{
    char name[256] = "";
    checkError(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL),
               "clGetPlatformInfo");
    return name;
}

bool exists(const std::string &file)
{
    return access(file.c_str(), R_OK) == 0;
}

} // namespace

void checkError(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    std::fprintf(stderr, "%s: OpenCL status %d\n", what, status);
    std::exit(1);
}

cl_platform_id findPlatform(const char *name)
{
    cl_uint count = 0;
    checkError(clGetPlatformIDs(0, NULL, &count), "clGetPlatformIDs");
    std::vector<cl_platform_id> platforms(count);
    checkError(clGetPlatformIDs(count, platforms.data(), NULL), "clGetPlatformIDs");
    for (cl_platform_id platform : platforms)
        if (lowerCase(platformName(platform)).find(lowerCase(name)) != std::string::npos)
            return platform;
    return NULL;
}

std::vector<cl_device_id> getDevices(cl_platform_id platform, cl_device_type type)
{
    cl_uint count = 0;
    checkError(clGetDeviceIDs(platform, type, 0, NULL, &count), "clGetDeviceIDs");
    std::vector<cl_device_id> devices(count);
    checkError(clGetDeviceIDs(platform, type, count, devices.data(), NULL), "clGetDeviceIDs");
    return devices;
}

std::string getDeviceName(cl_device_id device)
{
    char name[256] = "";
    checkError(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL),
               "clGetDeviceInfo");
    return name;
}

bool setCwdToExeDir()
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (length < 0)
        return false;
    path[length] = '\0';
    *std::strrchr(path, '/') = '\0';
    return chdir(path) == 0;
}

std::string getBoardBinaryFile(const char *prefix, cl_device_id device)
{
    const std::string name = getDeviceName(device);
    const std::string ofBoard =
        std::string(prefix) + "_" + name.substr(0, name.find_first_of(" :")) + ".aocx";
    return exists(ofBoard) ? ofBoard : std::string(prefix) + ".aocx";
}

cl_program createProgramFromBinary(cl_context context, const std::string &file,
                                   const std::vector<cl_device_id> &devices)
{
    std::ifstream stream(file, std::ios::binary);
    const std::string data((std::istreambuf_iterator<char>(stream)),
                           std::istreambuf_iterator<char>());
    if (data.empty()) {
        std::fprintf(stderr, "%s: cannot be read\n", file.c_str());
        std::exit(1);
    }
    const std::vector<std::size_t> lengths(devices.size(), data.size());
    std::vector<const unsigned char *> binaries(
        devices.size(), reinterpret_cast<const unsigned char *>(data.data()));
    cl_int status;
    cl_program program =
        clCreateProgramWithBinary(context, static_cast<cl_uint>(devices.size()), devices.data(),
                                  lengths.data(), binaries.data(), NULL, &status);
    checkError(status, "clCreateProgramWithBinary");
    return program;
}

double seconds(cl_event event)
{
    cl_ulong begin = 0, end = 0;
    checkError(
        clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(begin), &begin, NULL),
        "clGetEventProfilingInfo");
    checkError(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL),
               "clGetEventProfilingInfo");
    return static_cast<double>(end - begin) * 1e-9;
}

} // namespace aocl_utils
