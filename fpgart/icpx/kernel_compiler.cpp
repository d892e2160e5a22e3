// SPDX-License-Identifier: Apache-2.0
//
// The device compiler of the installed SYCL runtime, called by its documented interface, the
// extension sycl_ext_oneapi_kernel_compiler, which needs an OpenCL device and builds the kernels
// for it.
//
//     kernel_compiler FOLDER SOURCE OPTION...
//
// It writes FOLDER/<number>.spv, a device image each, and the compiler's log to stderr. Exit status
// 1: the compiler or the device refused the program.
#include <cstddef>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <sycl/sycl.hpp>

namespace compiler = sycl::ext::oneapi::experimental;

/// Returns a text that includes a source, so that messages and debug information name that by its
/// path.
static std::string text_of(const std::string &path)
{
    const bool has_quotes = path.find('"') != std::string::npos;
    return has_quotes ? "#include <" + path + ">\n" : "#include \"" + path + "\"\n";
}

int main(int count, char **words)
{
    const std::string folder = words[1], path = words[2];
    const std::vector<std::string> options(words + 3, words + count);
    std::string log;
    try {
        if (sycl::device::get_devices().empty()) {
            std::cerr << "icpx: the SYCL runtime finds no OpenCL device, for which it compiles "
                         "kernels; Intel's emulator is one: pip install 'fpgart[sycl]'"
                      << std::endl;
            return 1;
        }
        sycl::context context{sycl::device{sycl::default_selector_v}};
        auto source = compiler::create_kernel_bundle_from_source(
            context, compiler::source_language::sycl, text_of(path));
        auto built = compiler::build(source, compiler::properties{compiler::build_options{options},
                                                                  compiler::save_log{&log}});
        int number = 0;
        for (const auto &image : built) {
            const std::vector<std::byte> bytes = image.ext_oneapi_get_backend_content();
            std::ofstream file(folder + "/" + std::to_string(number++) + ".spv", std::ios::binary);
            file.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
            if (!file.flush()) {
                std::cerr << "error: " << folder << ": a device image cannot be written"
                          << std::endl;
                return 1;
            }
        }
        std::cerr << log;
        return 0;
    } catch (const std::exception &error) {
        std::cerr << error.what() << std::endl;
        return 1;
    }
}
