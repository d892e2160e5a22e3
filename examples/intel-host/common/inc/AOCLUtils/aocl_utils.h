/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions by the names that hosts for Intel's boards know: a platform by a part of its name, the
 * board's binary, memory that DMA takes. Written for this example. */
#ifndef AOCL_UTILS_H
#define AOCL_UTILS_H

#include "CL/opencl.h"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace aocl_utils
{

/* Ends the program with words unless `status` is CL_SUCCESS. */
void checkError(cl_int status, const char *what);

/* The first platform whose name contains `name`, letters' case aside; NULL for none. */
cl_platform_id findPlatform(const char *name);

std::vector<cl_device_id> getDevices(cl_platform_id platform, cl_device_type type);
std::string getDeviceName(cl_device_id device);

/* Sets the working folder to the one that the program lies in. */
bool setCwdToExeDir();

/* `prefix`_<board>.aocx if there is such a file for the device's board, else `prefix`.aocx. */
std::string getBoardBinaryFile(const char *prefix, cl_device_id device);

cl_program createProgramFromBinary(cl_context context, const std::string &file,
                                   const std::vector<cl_device_id> &devices);

/* Seconds between the begin and the end of a command. */
double seconds(cl_event event);

struct AlignedDeleter {
    void operator()(void *memory) const
    {
        std::free(memory);
    }
};

/* An array whose address boards' DMA takes. */
template <typename T> std::unique_ptr<T[], AlignedDeleter> alignedArray(std::size_t count)
{
    void *memory = nullptr;
    if (posix_memalign(&memory, 64, count * sizeof(T)) != 0)
        std::abort();
    return std::unique_ptr<T[], AlignedDeleter>(static_cast<T *>(memory));
}

} // namespace aocl_utils

#endif
