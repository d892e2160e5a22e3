// SPDX-License-Identifier: Apache-2.0
// A SYCL program that carries out the steps on its standard input, one on each line, so that DPC++ makes an execution graph of
// them. Behind each step it prints the number of graphs (*.dot) that the runtime has written into the current folder, and
// behind the name of a step that makes a buffer the address by which the graphs identify the buffer.
//
//     queue Q CONTEXT DEVICE      a queue of a context, which is made at its first use; DEVICE: an accelerator's index, or cpu
//     buffer B KIND               a buffer of 1024 int: over memory of the host (suitable, const, unaligned, use_host_ptr), or none
//     part B WHOLE BEGIN SIZE     a sub-buffer
//     kernel Q B:MODE...          a kernel that accesses buffers
//     task Q B:MODE...            a host task that accesses buffers
//     copy Q B:MODE C:MODE        a copy from a buffer to another one
//     get Q B:MODE                a copy from a buffer to memory of the host
//     put Q B:MODE                a copy from memory of the host to a buffer
//     fill Q B:MODE               the same value for each element of a buffer
//     update Q B:MODE             update_host
//     host B MODE                 a host accessor, which ends at once
//     final B                     the buffer's contents have no destination when it is closed
//     close B                     the buffer's destructor
#include <sycl/sycl.hpp>

#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr size_t SIZE = 1024;
using Buffer = sycl::buffer<int, 1>;
using Mode = sycl::access_mode;

class Nothing;

std::map<std::string, sycl::queue> queues;
std::map<std::string, sycl::context> contexts;
std::map<std::string, std::unique_ptr<Buffer>> buffers;
std::vector<std::unique_ptr<int[]>> memories;

struct Use {
    std::string buffer, mode;
};

std::vector<Use> uses(std::istringstream &words) {
    std::vector<Use> found;
    for (std::string word; words >> word;) {
        size_t colon = word.find(':');
        found.push_back({word.substr(0, colon), word.substr(colon + 1)});
    }
    return found;
}

// Calls a function with an accessor of the mode that a word names.
template <sycl::target Target, typename Function> void with_accessor(const Use &use, Function function) {
    Buffer &buffer = *buffers.at(use.buffer);
    auto made = [&]<Mode M>(auto... properties) {
        function(sycl::accessor<int, 1, M, Target, sycl::access::placeholder::true_t>(buffer, properties...));
    };
    sycl::property_list discards{sycl::property::no_init{}};
    if (use.mode == "read")
        made.template operator()<Mode::read>();
    else if (use.mode == "write")
        made.template operator()<Mode::write>();
    else if (use.mode == "read_write")
        made.template operator()<Mode::read_write>();
    else if (use.mode == "discard_write")
        made.template operator()<Mode::write>(discards);
    else if (use.mode == "discard_read_write")
        made.template operator()<Mode::read_write>(discards);
    else
        throw std::runtime_error("no mode " + use.mode);
}

template <Mode M, sycl::target Target, sycl::access::placeholder Placeholder, typename... Rest>
constexpr Mode mode_of(const sycl::accessor<int, 1, M, Target, Placeholder, Rest...> &) {
    return M;
}

// Call a function with an accessor that a copy may read, and with one that it may write.
template <typename Function> void with_source(sycl::handler &group, const Use &use, Function function) {
    with_accessor<sycl::target::device>(use, [&](auto accessor) {
        if constexpr (mode_of(accessor) == Mode::write)
            throw std::runtime_error(use.mode + " does not read");
        else {
            group.require(accessor);
            function(accessor);
        }
    });
}

template <typename Function> void with_destination(sycl::handler &group, const Use &use, Function function) {
    with_accessor<sycl::target::device>(use, [&](auto accessor) {
        if constexpr (mode_of(accessor) == Mode::read)
            throw std::runtime_error(use.mode + " does not write");
        else {
            group.require(accessor);
            function(accessor);
        }
    });
}

template <typename Function> void with_host_accessor(const Use &use, Function function) {
    Buffer &buffer = *buffers.at(use.buffer);
    sycl::property_list discards{sycl::property::no_init{}};
    if (use.mode == "read")
        function(sycl::host_accessor<int, 1, Mode::read>(buffer));
    else if (use.mode == "write")
        function(sycl::host_accessor<int, 1, Mode::write>(buffer));
    else if (use.mode == "read_write")
        function(sycl::host_accessor<int, 1, Mode::read_write>(buffer));
    else if (use.mode == "discard_write")
        function(sycl::host_accessor<int, 1, Mode::write>(buffer, discards));
    else if (use.mode == "discard_read_write")
        function(sycl::host_accessor<int, 1, Mode::read_write>(buffer, discards));
    else
        throw std::runtime_error("no mode " + use.mode);
}

int *memory() {
    memories.push_back(std::make_unique<int[]>(SIZE + 1));
    return memories.back().get();
}

std::unique_ptr<Buffer> make(const std::string &kind) {
    if (kind == "none")
        return std::make_unique<Buffer>(SIZE);
    if (kind == "const")
        return std::make_unique<Buffer>(const_cast<const int *>(memory()), SIZE);
    if (kind == "unaligned") {
        char *bytes = reinterpret_cast<char *>(memory());
        return std::make_unique<Buffer>(reinterpret_cast<int *>(bytes + 1), SIZE);
    }
    if (kind == "use_host_ptr")
        return std::make_unique<Buffer>(memory(), SIZE, sycl::property_list{sycl::property::buffer::use_host_ptr{}});
    return std::make_unique<Buffer>(memory(), SIZE);
}

void explicit_operation(const std::string &what, sycl::handler &group, const std::vector<Use> &used) {
    if (what == "copy")
        with_source(group, used.at(0), [&](auto source) {
            with_destination(group, used.at(1), [&](auto destination) { group.copy(source, destination); });
        });
    else if (what == "get")
        with_source(group, used.at(0), [&](auto source) { group.copy(source, memory()); });
    else if (what == "put")
        with_destination(group, used.at(0), [&](auto destination) { group.copy(memory(), destination); });
    else if (what == "fill")
        with_destination(group, used.at(0), [&](auto destination) { group.fill(destination, 7); });
    else
        with_accessor<sycl::target::device>(used.at(0), [&](auto accessor) {
            group.require(accessor);
            group.update_host(accessor);
        });
}

sycl::device device_of(const std::string &word) {
    if (word == "cpu")
        return sycl::device::get_devices(sycl::info::device_type::cpu).at(0);
    return sycl::device::get_devices(sycl::info::device_type::accelerator).at(std::stoul(word));
}

void step(std::istringstream &words) {
    std::string what, name;
    words >> what >> name;
    if (what == "queue") {
        std::string context, device;
        words >> context >> device;
        sycl::device wanted = device_of(device);
        auto place = contexts.try_emplace(context, wanted).first;
        queues.emplace(name, sycl::queue(place->second, wanted));
    } else if (what == "buffer") {
        std::string kind;
        words >> kind;
        buffers[name] = make(kind);
        std::cout << static_cast<void *>(sycl::detail::getSyclObjImpl(*buffers[name]).get()) << ' ';
    } else if (what == "part") {
        std::string whole;
        size_t begin = 0, size = 0;
        words >> whole >> begin >> size;
        buffers[name] = std::make_unique<Buffer>(*buffers.at(whole), sycl::id<1>(begin), sycl::range<1>(size));
    } else if (what == "kernel") {
        queues.at(name).submit([&](sycl::handler &group) {
            for (const Use &use : uses(words))
                with_accessor<sycl::target::device>(use, [&](auto accessor) { group.require(accessor); });
            group.single_task<Nothing>([] {});
        });
    } else if (what == "task") {
        queues.at(name).submit([&](sycl::handler &group) {
            for (const Use &use : uses(words))
                with_accessor<sycl::target::host_task>(use, [&](auto accessor) { group.require(accessor); });
            group.host_task([] {});
        });
    } else if (what == "copy" || what == "get" || what == "put" || what == "fill" || what == "update") {
        queues.at(name).submit([&](sycl::handler &group) { explicit_operation(what, group, uses(words)); });
    } else if (what == "host") {
        Use use{name, ""};
        words >> use.mode;
        with_host_accessor(use, [](const auto &) {});
    } else if (what == "final") {
        buffers.at(name)->set_final_data(nullptr);
    } else if (what == "close") {
        buffers.erase(name);
    } else {
        throw std::runtime_error("no step " + what);
    }
}

int graphs() {
    int found = 0;
    for (const auto &entry : std::filesystem::directory_iterator("."))
        found += entry.path().extension() == ".dot";
    return found;
}

} // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        step(words);
        std::cout << graphs() << std::endl;
    }
    return 0;
}
