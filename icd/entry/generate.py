# SPDX-License-Identifier: Apache-2.0
"""Generates C and cffi texts from the prototypes: exported entry points, dispatch table, declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from prototypes import SCALARS, Api, Parameter, Prototype

HEADERS = ["interpreter.h", *sorted(header.name for header in Path(__file__).parent.glob("*.h"))]
DECLARED_IN_C = "".join(f'#include "{header}"\n' for header in HEADERS)
"""Includes what entry points and Python call."""
IN_C = {"clIcdGetPlatformIDsKHR", "clGetExtensionFunctionAddress", "clGetExtensionFunctionAddressForPlatform"}
FREES = {
    "clSVMFree": "fpgart_freed(svm_pointer);",
    "clMemFreeINTEL": "fpgart_freed(ptr);",
    "clMemBlockingFreeINTEL": "fpgart_freed(ptr);",
    "clEnqueueSVMFree": "for (cl_uint i = 0; svm_pointers != NULL && i < num_svm_pointers; i++) "
    "fpgart_freed(svm_pointers[i]);",
}
"""Statements at the begin of calls, also after the end of the driver: memory that the host frees (leaks.c)."""
REFUSED = {
    "__is_in_malloced_region": "0",
    "clGetPlatformIDs": "CL_PLATFORM_NOT_FOUND_KHR",
    # The driver has waited for running commands before it closed; destructors of the host may wait again.
    "clWaitForEvents": "fpgart_all_ended(num_events, event_list) ? CL_SUCCESS : CL_OUT_OF_RESOURCES",
    # The system frees all memory of a process that ends.
    "clMemFreeINTEL": "fpgart_ending() ? CL_SUCCESS : CL_OUT_OF_RESOURCES",
    "clMemBlockingFreeINTEL": "fpgart_ending() ? CL_SUCCESS : CL_OUT_OF_RESOURCES",
}
CONTROL = (
    Prototype("fpgart_control_runs", "int", (), "int fpgart_control_runs(void)"),
    Prototype(
        "fpgart_control",
        "char *",
        (Parameter("request", "uintptr_t"), Parameter("length", "size_t")),
        "char *fpgart_control(const char *request, size_t length)",
    ),
    Prototype(
        "fpgart_control_read",
        "void",
        (Parameter("answer", "uintptr_t"),),
        "void fpgart_control_read(char *answer)",
    ),
)
"""The functions that fpgart/control/requests.py calls (control.c)."""
OPENS_NOTHING = {"fpgart_control_runs"}
"""Functions that do not open the library behind."""
BEFORE_THE_START = {
    "clGetPlatformIDs": "fpgart_early_platforms",
    "clGetPlatformInfo": "fpgart_early_platform_info",
    "clGetDeviceIDs": "fpgart_early_device_count",
}
"""C functions for calls by which loaders and programs find platforms, without the interpreter."""
WAITS_AND_EVENT = "num_events_in_wait_list, event_wait_list, event"
REMEMBERED = {
    f"clGet{noun}Info": f"fpgart_knows({{}}, FPGART_{kind}, param_name, param_value_size, param_value, "
    "param_value_size_ret)"
    for noun, kind in {
        "Device": "DEVICE",
        "Context": "CONTEXT",
        "CommandQueue": "QUEUE",
        "MemObject": "MEM",
        "Program": "PROGRAM",
        "Kernel": "KERNEL",
        "Event": "EVENT",
    }.items()
} | {
    "clFinish": "fpgart_finishes({})",
    "clFlush": "fpgart_flushes({})",
    "clWaitForEvents": "fpgart_knows_ends(num_events, event_list) || fpgart_waits_for(num_events, event_list)",
    "clGetEventInfo": "fpgart_knows({}, FPGART_EVENT, param_name, param_value_size, param_value, "
    "param_value_size_ret) || fpgart_says_event({}, param_name, param_value_size, param_value, param_value_size_ret)",
    "clGetEventProfilingInfo": "fpgart_says_times({}, param_name, param_value_size, param_value, param_value_size_ret)",
    "clSetUserEventStatus": "fpgart_sets_user_event({}, execution_status)",
    "clSetEventCallback": "fpgart_calls_back({}, command_exec_callback_type, pfn_notify, user_data)",
    "clSetKernelArg": "fpgart_sets_argument(kernel, arg_index, arg_size, arg_value)",
    "clEnqueueNDRangeKernel": "fpgart_carries_launch(command_queue, kernel, work_dim, global_work_offset, "
    f"global_work_size, local_work_size, {WAITS_AND_EVENT})",
    "clEnqueueTask": f"fpgart_carries_task(command_queue, kernel, {WAITS_AND_EVENT})",
    "clEnqueueReadBuffer": f"fpgart_carries_read({{}}, buffer, blocking_read, offset, size, ptr, {WAITS_AND_EVENT})",
    "clEnqueueWriteBuffer": f"fpgart_carries_write({{}}, buffer, blocking_write, offset, size, ptr, {WAITS_AND_EVENT})",
    "clEnqueueCopyBuffer": "fpgart_carries_copy({}, src_buffer, dst_buffer, src_offset, dst_offset, size, "
    f"{WAITS_AND_EVENT})",
    "clEnqueueFillBuffer": f"fpgart_carries_fill({{}}, buffer, pattern, pattern_size, offset, size, {WAITS_AND_EVENT})",
    "clEnqueueUnmapMemObject": f"fpgart_carries_unmap({{}}, memobj, mapped_ptr, {WAITS_AND_EVENT})",
    "clEnqueueMarkerWithWaitList": f"fpgart_carries_marker({{}}, 0, {WAITS_AND_EVENT})",
    "clEnqueueBarrierWithWaitList": f"fpgart_carries_marker({{}}, 1, {WAITS_AND_EVENT})",
    "clEnqueueMarker": "event != NULL && fpgart_carries_marker({}, 0, 0, NULL, event)",
    "clEnqueueBarrier": "fpgart_carries_marker({}, 1, 0, NULL, NULL)",
    "clSetKernelArgSVMPointer": "fpgart_sets_svm_pointer(kernel, arg_index, arg_value)",
    "clSetKernelArgMemPointerINTEL": "fpgart_sets_usm_pointer(kernel, arg_index, arg_value)",
}
"""C functions for calls, once Python has carried one out, or has found the facts that C needs.

{} is the function's first parameter.
"""
MADE_IN_C = {
    "clCreateUserEvent": "fpgart_new_user_event(context)",
    "clCreateCommandQueue": "fpgart_makes_queue(context, device, properties)",
    "clCreateCommandQueueWithProperties": "fpgart_makes_queue_with(context, device, properties)",
    "clCreateBuffer": "fpgart_makes_buffer(context, flags, size, host_ptr)",
    "clCreateKernel": "fpgart_makes_kernel(program, kernel_name)",
    "clEnqueueMapBuffer": "fpgart_carries_map(command_queue, buffer, blocking_map, map_flags, offset, size, "
    f"{WAITS_AND_EVENT})",
    "clCreateSubBuffer": "fpgart_makes_sub_buffer(buffer, flags, buffer_create_type, buffer_create_info)",
}
"""C functions that make objects; NULL leaves the call to Python."""
INVALID = {"MEM": "CL_INVALID_MEM_OBJECT", "QUEUE": "CL_INVALID_COMMAND_QUEUE"}


TYPES = """
struct fpgart_argument {
    uint32_t index;
    uint32_t size;
    uintptr_t pointer;
    uintptr_t buffer;
    uint64_t serial;
    uint64_t is_local;
    unsigned char value[64];
};
struct fpgart_use {
    uintptr_t buffer;
    uint64_t at;
};
struct fpgart_launch {
    uint64_t number, begin, duration;
    uint32_t type, thread, is_called, frame_count;
    uintptr_t frames[12];
    uintptr_t queue, kernel;
    uint32_t alike;
    uint32_t is_over, has_run;
    int32_t status;
    uint64_t start, end;
    uint32_t wrote_beside;
    uintptr_t carried;
    uint64_t buffers;
    const struct fpgart_use *uses;
    uintptr_t key;
    uint64_t key_size;
    uintptr_t checked;
    ...;
};
enum { FPGART_MOST_DIGITS = 24 };
enum { FPGART_UNWATCHED, FPGART_TRACED, FPGART_CHECKED };
struct fpgart_mapping {
    uint64_t pointer, offset, size, flags;
    uint64_t number;
};
struct fpgart_unseen {
    uint32_t kind;
    uint32_t type;
    uintptr_t parent;
    uintptr_t command;
    const char *name;
    uint64_t flags, origin, size;
    uint64_t block;
};
enum { FPGART_IN_ALLOCATION = 16, ... };
struct core_caller;
struct core_queue;
struct core_command;
enum core_role { CORE_WORK, CORE_MARKER, CORE_BARRIER };
"""
AT_ONCE = """
uintptr_t fpgart_handle_new(int kind, uint32_t references);
void fpgart_handle_free(uintptr_t handle);
int fpgart_handle_kind(uintptr_t handle);
uint32_t fpgart_handle_references(uintptr_t handle);
uint64_t fpgart_handle_serial(uintptr_t handle);
uintptr_t fpgart_next_released(void);
void fpgart_released_done(void);
void fpgart_callbacks_are_left(int flag);
void fpgart_destructors_are_watched(void);
void fpgart_remember(uintptr_t handle, cl_uint query, const char *bytes, size_t length);
uint64_t *fpgart_arguments_new(uintptr_t kernel, uint32_t count, uintptr_t program, const char *name);
int fpgart_kernels_end(uintptr_t program);
void fpgart_accept_values(uintptr_t kernel, uint32_t index, size_t size);
void fpgart_accept_local_sizes(uintptr_t kernel, uint32_t index);
void fpgart_accept_buffers(uintptr_t kernel, uint32_t index, uintptr_t context, int needs_place);
void fpgart_accept_svm_pointers(uintptr_t kernel, uint32_t index, uintptr_t context);
void fpgart_accept_usm_pointers(uintptr_t kernel, uint32_t index, uintptr_t context, size_t alignment);
void fpgart_allocation_made(uintptr_t context, uintptr_t begin, size_t size, int is_plain);
void fpgart_allocation_goes(uintptr_t context, uintptr_t begin);
uint32_t fpgart_take_arguments(uintptr_t kernel, struct fpgart_argument *taken);
void fpgart_argument_changed(uintptr_t kernel, uint32_t index);
void fpgart_kernel_changed(uintptr_t kernel);
int fpgart_watched(void);
void fpgart_watch_launches(int how, uintptr_t around);
int fpgart_watches_launches(void);
uint64_t fpgart_number_command(void);
uint64_t fpgart_last_launch(void);
uint32_t fpgart_launches_left(void);
uint32_t fpgart_take_calls(uint32_t most, struct fpgart_launch **found);
void fpgart_launches_written(uint32_t count, struct fpgart_launch **launches);
size_t fpgart_fill_lines(const char *form, size_t size, uint64_t zero, uint32_t count,
                         struct fpgart_launch *const *launches, const uint64_t *operations, char *lines);
struct fpgart_launch *fpgart_launch_of(struct core_command *command);
int fpgart_handle_is_held(uintptr_t handle);
void fpgart_buffer_is(uintptr_t buffer, uintptr_t context, uintptr_t parent, uint64_t flags, uint64_t origin,
                      uint64_t size);
uint64_t fpgart_board_epoch(uintptr_t board);
void fpgart_board_end_epoch(uintptr_t board);
void fpgart_board_resume(uintptr_t board);
uint64_t fpgart_board_take_launches(uintptr_t board);
void fpgart_board_loaded(uintptr_t board, uint64_t program);
uint64_t fpgart_board_program(uintptr_t board);
void fpgart_buffer_is_at(uintptr_t buffer, uintptr_t board, uint64_t epoch, uintptr_t address, uint64_t locations,
                         uintptr_t store);
int fpgart_block_spare(uintptr_t board, uint64_t number, uint64_t size, uintptr_t pointer, uint64_t locations);
uint64_t fpgart_take_spare(uintptr_t board);
void fpgart_memory_changed(uintptr_t board);
void fpgart_context_has(uintptr_t context, uintptr_t board, int is_only);
int fpgart_take_any_mapping(uintptr_t buffer, struct fpgart_mapping *taken);
void fpgart_kernel_is(uintptr_t kernel, uintptr_t board, uint64_t epoch, uintptr_t engine_kernel, const char *image,
                      uint32_t size, const uint32_t *locations, const uint64_t *limits);
void fpgart_event_is(uintptr_t event, uintptr_t command, uintptr_t context, cl_command_type type);
void fpgart_decides(struct core_caller *caller);
struct core_queue *fpgart_core_queue(uintptr_t queue);
struct core_caller *core_caller_new(void (*call)(void *data), void *data);
void core_caller_release(struct core_caller *caller);
bool core_has_ready(struct core_caller *caller);
bool core_is_at_rest(struct core_caller *caller);
uint32_t core_take_ready(struct core_caller *caller, uint32_t most, uintptr_t *known, int32_t *errors);
struct core_queue *core_queue_new(struct core_caller *caller, bool in_order);
void core_queue_retain(struct core_queue *queue);
void core_queue_release(struct core_queue *queue);
struct core_command *core_user_event(void);
bool core_claim(struct core_command *event);
bool core_set(struct core_command *event, int32_t status);
void core_retain(struct core_command *command);
void core_release(struct core_command *command);
bool core_has_ended(const struct core_command *command);
uint64_t core_enqueued(struct core_queue *queue);
void core_begin(struct core_command *command);
uintptr_t core_needed(struct core_command *command, struct core_command **carried);
uint32_t core_awaited(struct core_command *command, uint32_t most, uintptr_t *known);
uint32_t core_sleepers(struct core_command *command);
uint32_t core_followers(struct core_command *command);
uint32_t core_forget(struct core_command *event, uint32_t most, uintptr_t *known);
void fpgart_kernel_holds(uintptr_t kernel, uintptr_t board, uint64_t epoch);
int fpgart_board_uses(uintptr_t board, uint32_t count, const uintptr_t *buffers);
int fpgart_view(uintptr_t handle, struct fpgart_unseen *found);
void fpgart_unview(uintptr_t handle);
uintptr_t fpgart_next_unseen(uintptr_t handle, int kind);
void fpgart_queue_says(uintptr_t queue, uintptr_t *device, uint64_t *properties, int *has_list);
int fpgart_is_guest(void);
void fpgart_ask_about_calls(int flag);
"""
"""C functions that take little time and wait for no thread that may need the interpreter's lock.

The caller keeps the lock: if many threads call, each release of it costs two switches of threads.
"""
IN_TIME = """
const char *fpgart_library_directory(void);
const char *fpgart_first_folder(void);
int fpgart_owns_interpreter(void);
int fpgart_is_secure(void);
uintptr_t fpgart_platform(void);
void fpgart_count_devices(cl_uint count);
void fpgart_refuse(const char *reason);
void fpgart_close(void);
void fpgart_close_at_exit(void);
void fpgart_remember_nothing(void);
void fpgart_carry(int flag);
int fpgart_carry_again(void);
uintptr_t fpgart_board_new(uintptr_t device, uintptr_t carrier, uintptr_t engine_context, uintptr_t engine_device,
                           uintptr_t traffic);
int fpgart_board_hold(uintptr_t board);
int fpgart_board_is_open(uintptr_t board);
int fpgart_queue_carries(uintptr_t queue, struct core_queue *core, uintptr_t board, uintptr_t context, uint32_t number,
                         int in_order, int has_profiling);
void fpgart_call_scheduler(void *nothing);
struct core_command *core_decide(struct core_queue *queue, enum core_role role, uintptr_t known, uint32_t count,
                                 struct core_command *const *wait_list);
bool core_let_follow(struct core_command *event, bool takes);
bool core_end(struct core_command *command, int32_t status);
int32_t core_status(struct core_command *command);
struct core_command *core_unfinished(struct core_queue *queue, uint64_t last, uintptr_t *known);
void core_wait_for_caller(struct core_command *command);
void core_times(struct core_command *command, uint64_t times[4]);
void fpgart_queue_flush(uintptr_t queue);
struct core_command *fpgart_next_user(uintptr_t queue, const struct core_command *behind, uintptr_t begin,
                                      uintptr_t end);
int fpgart_view_calls_back(uintptr_t event, cl_int status, uintptr_t call, uintptr_t data);
void fpgart_settle_ends(void);
void fpgart_note_ends(void);
uint32_t fpgart_take_launches(uint32_t most, struct fpgart_launch **found);
cl_int fpgart_answer(uintptr_t value, size_t size, size_t *size_ret, const char *bytes, size_t length);
uint64_t fpgart_load(uintptr_t address, size_t size);
size_t fpgart_host_frames(uintptr_t *frames, size_t most);
char *fpgart_text(const char *words);
size_t fpgart_host_python_frames(char *text, size_t room, size_t most);
char *fpgart_ask_host(const char *module, const char *function, const char *request, size_t length,
                      size_t *answer_length);
int fpgart_host_imported(const char *module);
void fpgart_answer_read(char *answer);
void fpgart_call_about_object(uintptr_t function, uintptr_t object, uintptr_t data);
void fpgart_call_about_event(uintptr_t function, uintptr_t event, cl_int status, uintptr_t data);
void fpgart_call_to_free(uintptr_t function, uintptr_t queue, cl_uint count, uintptr_t *pointers, uintptr_t data);
void fpgart_call_about_error(uintptr_t function, const char *words, uintptr_t data);
void fpgart_call_about_exception(uintptr_t function, cl_uint kind, uintptr_t data);
void fpgart_call_about_live_object(uintptr_t function, uintptr_t data, uintptr_t object, const char *type,
                                   cl_uint references);
void fpgart_leaks_expected(size_t count_of_groups, char **nouns, char **makers, char **facts,
                           size_t count, const uintptr_t *things, const uint64_t *bytes,
                           const uint32_t *group_of, const char *file, int findings);
"""
"""C functions without the interpreter's lock: they may wait, call hosts, use much memory, or are rare."""


def declarations(api: Api) -> str:
    """Returns the declarations of Python's functions: each entry point as py_cl..., with handles as integers."""
    lines = [f"typedef {base} {name};" for name, base in SCALARS.items()]
    lines += [f"typedef {base} {name};" for name, base in api.typedefs.items() if name not in SCALARS]
    lines.append(TYPES)
    lines.append('extern "Python+C" {')
    for function in implemented_in_python(api):
        lines.append(f"    {function.for_python};")
    lines.append("    void fpgart_host_retained(uintptr_t handle);")
    lines.append("    void fpgart_host_released(uintptr_t handle);")
    lines.append("    void fpgart_reap(void);")
    lines.append("    void fpgart_board_idle(uintptr_t device);")
    lines.append("    void fpgart_commands_ready(void);")
    lines.append("    void fpgart_user_event_ended(uintptr_t event, cl_int status);")
    lines.append("    void fpgart_carried_failed(uintptr_t queue, uintptr_t kernel, cl_int status, cl_int place);")
    lines.append(
        "    int fpgart_renew(uintptr_t queue, uintptr_t kernel, cl_uint count, const struct fpgart_use *uses);"
    )
    lines.append("    void fpgart_run_handed_over(uintptr_t command, uintptr_t queue, uintptr_t kernel, cl_uint type,")
    lines.append("        uintptr_t carried, cl_uint traffic, cl_uint count, const struct fpgart_use *uses);")
    lines.append("    int fpgart_busy(void);")
    lines.append("    char *fpgart_control_request(const char *request, size_t length);")
    lines.append("    int fpgart_settle(void);")
    lines.append("    int fpgart_shut_down(void);")
    lines.append("    cl_int fpgart_fault_of_call(const char *name, uintptr_t object, uint32_t thread);")
    lines.append("}")
    lines += [AT_ONCE, IN_TIME]
    return "\n".join(lines)


def is_reference_count(name: str) -> bool:
    return name.startswith(("clRetain", "clRelease")) and not name.endswith(("KHR", "EXT", "INTEL"))


def implemented_in_python(api: Api) -> list[Prototype]:
    return [f for f in api.functions.values() if f.name not in IN_C and not is_reference_count(f.name)]


def entry_points(api: Api) -> str:
    """Returns the C file of exported functions, each a test for refusal and a call, and of the dispatch table."""
    lines = ["/* Made by build_icd.py from include/CL. */", DECLARED_IN_C]
    lines += [
        "#include <string.h>",
        "#include <CL/cl_ext.h>",
        "#include <CL/cl_ext_intelfpga.h>",
        "#include <CL/cl_ext_ti.h>",
        "#include <CL/cl_gl.h>",
        "#include <CL/cl_egl.h>",
        "",
    ]
    for function in api.functions.values():
        if function.name in IN_C:
            continue
        lines += reference_count(function) if is_reference_count(function.name) else forwarded(function)
    lines += [
        "static cl_int CL_API_CALL not_on_this_system(void)",
        "{",
        "    return CL_INVALID_OPERATION;",
        "}",
        "",
        "const struct _cl_icd_dispatch fpgart_dispatch = {",
    ]
    for member in api.dispatch_members:
        value = member if member in api.functions else "(void *)not_on_this_system"
        lines.append(f"    .{member} = {value},")
    lines += ["};", "", "static const struct {", "    const char *name;", "    void *address;", "} names[] = {"]
    for name in sorted({*api.functions, *IN_C}):
        lines.append(f'    {{"{name}", (void *){name}}},')
    lines += [
        "};",
        "",
        "void *fpgart_address_of(const char *name)",
        "{",
        "    size_t low = 0, high = sizeof names / sizeof names[0];",
        "    while (low < high) {",
        "        size_t middle = (low + high) / 2;",
        "        int order = strcmp(name, names[middle].name);",
        "        if (order == 0)",
        "            return names[middle].address;",
        "        if (order < 0)",
        "            high = middle;",
        "        else",
        "            low = middle + 1;",
        "    }",
        "    return NULL;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def table_behind(functions: Iterable[Prototype], head: str) -> str:
    """Returns the C file with the addresses of the functions, for the shim (icd/shim/)."""
    lines = ["/* Made by build_icd.py. */", head]
    lines += [f"{function.declaration};" for function in CONTROL if function in functions]
    lines.append('__attribute__((visibility("default"))) void *const fpgart_doors[] = {')
    lines += [f"    (void *){function.name}," for function in functions]
    return "\n".join([*lines, "};"]) + "\n"


def doors(functions: Iterable[Prototype], head: str, refuse: Callable[[Prototype], list[str]]) -> str:
    """Returns the C file of the stubs that hosts see: each calls the function behind, or runs `refuse` without a
    library.
    """
    lines = ["/* Made by build_icd.py. */", '#include "shim.h"', head]
    for index, function in enumerate(functions):
        arguments = ", ".join(parameter.name for parameter in function.parameters)
        doors = "fpgart_doors_if_open" if function.name in OPENS_NOTHING else "fpgart_doors"
        call = f"((__typeof__(&{function.name}))doors[{index}])({arguments})"
        lines += [
            f'__attribute__((visibility("default"))) {function.declaration}',
            "{",
            f"    void *const *doors = {doors}();",
            "    if (doors == NULL) {",
            *(f"        {line}" for line in refuse(function)),
            "    }",
            f"    {call};" if function.returns == "void" else f"    return {call};",
            "}",
            "",
        ]
    return "\n".join(lines)


def answered_without_driver(function: Prototype) -> list[str]:
    """Returns the C statements of a function of OpenCL without a library behind."""
    lines = []
    for parameter, value in (("errcode_ret", "CL_OUT_OF_RESOURCES"), ("num_platforms", "0")):
        if any(p.name == parameter for p in function.parameters):
            lines += [f"if ({parameter} != NULL)", f"    *{parameter} = {value};"]
    if function.name in ("clGetPlatformIDs", "clIcdGetPlatformIDsKHR"):
        return [*lines, "return CL_PLATFORM_NOT_FOUND_KHR;"]
    if function.name in OPENS_NOTHING or function.name == "__is_in_malloced_region":
        return ["return 0;"]
    if function.returns == "void":
        return ["return;"]
    return [*lines, "return NULL;" if function.returns_object else "return CL_OUT_OF_RESOURCES;"]


def answered_without_boards(function: Prototype) -> list[str]:
    """Returns the C statements of a function of aocl_mmd.h without a library behind."""
    lines = []
    for parameter in function.parameters:
        if parameter.name in ("error", "status"):
            lines += [f"if ({parameter.name} != NULL)", f"    *{parameter.name} = -1;"]
    if function.returns_object:
        return [*lines, "return NULL;"]
    return [*lines, "return 0;" if function.returns == "size_t" else "return -1;"]


def platform_words() -> str:
    """Returns the C file with the platforms' texts, for before the start of Python, from fpgart/base/personality.py."""
    from fpgart.base.personality import ALIASES, ICD_SUFFIX, PERSONALITIES, PLATFORM_EXTENSIONS, PROFILE

    lines = [
        "/* Made by build_icd.py from fpgart/base/personality.py. */",
        '#include "before_start.h"',
        f'const char fpgart_profile[] = "{PROFILE}";',
        f'const char fpgart_platform_extensions[] = "{" ".join(PLATFORM_EXTENSIONS)}";',
        f'const char fpgart_icd_suffix[] = "{ICD_SUFFIX}";',
        "const struct fpgart_personality fpgart_personalities[] = {",
    ]
    keys = {**{key: key for key in PERSONALITIES}, **ALIASES}
    for key, of in keys.items():
        personality = PERSONALITIES[of]
        answers = (key, personality.name, personality.vendor, personality.version, personality.short_name)
        words = ", ".join(f'"{word}"' for word in answers)
        lines.append(f"    {{{words}}},")
    return "\n".join([*lines, "    {NULL, NULL, NULL, NULL, NULL},", "};"]) + "\n"


def reference_count(function: Prototype) -> list[str]:
    verb = "retain" if function.name.startswith("clRetain") else "release"
    noun = function.name[len("clRetain") if verb == "retain" else len("clRelease") :]
    kind = {"CommandQueue": "QUEUE", "MemObject": "MEM"}.get(noun, noun.upper())
    invalid = INVALID.get(kind, f"CL_INVALID_{kind}")
    if kind == "DEVICE":  # root devices are not counted
        body = f"fpgart_handle_kind((uintptr_t)object) == FPGART_DEVICE ? CL_SUCCESS : {invalid}"
    else:
        body = f"fpgart_{verb}(object, FPGART_{kind}, {invalid})"
    object_name = function.parameters[0].name
    body = body.replace("object", object_name)
    return [f"CL_API_ENTRY {function.declaration}", "{", *fails_on_request(function), f"    return {body};", "}", ""]


def fails_on_request(function: Prototype) -> list[str]:
    """Returns the test for a fault, in functions that return a status or an object (call_faults.c)."""
    if function.returns == "void" or "FunctionAddress" in function.name or not function.name.startswith("cl"):
        return []
    handle = next((f"(uintptr_t){p.name}" for p in function.parameters[:1] if p.python_type == "uintptr_t"), "0")
    asks = "fpgart_asks_about_calls"
    if is_reference_count(function.name):  # hosts in Python may release under a lock of their own (handles.c)
        asks += " && (!fpgart_is_guest() || fpgart_holds_interpreter())"
    lines = [
        "    cl_int fault;",
        f'    if ({asks} && fpgart_call_fails("{function.name}", {handle}, &fault)) {{',
    ]
    if any(p.name == "errcode_ret" for p in function.parameters):
        lines += ["        if (errcode_ret != NULL)", "            *errcode_ret = fault;"]
    return [*lines, f"        return {'NULL' if function.returns_object else 'fault'};", "    }"]


def forwarded(function: Prototype) -> list[str]:
    """Returns an exported function that refuses or calls Python. Python's errcode_ret is never NULL."""
    name = function.name
    lines = [f"{function.for_python};"]
    arguments = []
    for p in function.parameters:
        if p.name == "errcode_ret":
            arguments.append("&status")
        elif p.python_type == "uintptr_t":
            arguments.append(f"(uintptr_t){p.name}")
        elif p.python_type == "uintptr_t *":
            arguments.append(f"(uintptr_t *){p.name}")
        elif p.python_type.endswith("*"):
            arguments.append(f"({p.python_type}){p.name}")
        else:
            arguments.append(p.name)
    call = f"py_{name}({', '.join(arguments)})"
    lines += [f"CL_API_ENTRY {function.declaration}", "{"]
    lines.append("    struct fpgart_visit visit;")
    if any(p.name == "errcode_ret" for p in function.parameters):
        declared, refused = "uintptr_t result = 0", f"({function.returns})0"
        lines += ["    cl_int status = CL_OUT_OF_RESOURCES;"]
    elif function.returns == "void":
        declared, refused = "", ""
    elif function.returns_object:
        declared, refused = "uintptr_t result", "NULL"
    else:
        declared = "cl_int result"
        refused = REFUSED.get(name, "CL_OUT_OF_RESOURCES")
    if name in BEFORE_THE_START:
        words = ", ".join(p.name for p in function.parameters)
        lines += [
            "    cl_int known;",
            "    int is_known, cancel_state;",
            "    fpgart_disable_cancel(&cancel_state);",
            f"    is_known = {BEFORE_THE_START[name]}({words}, &known);",
            "    fpgart_restore_cancel(cancel_state);",
            "    if (is_known)",
            "        return known;",
        ]
    lines += fails_on_request(function)
    if name in REMEMBERED:
        lines += [
            f"    if ({REMEMBERED[name].replace('{}', function.parameters[0].name)})",
            "        return CL_SUCCESS;",
        ]
    if name in MADE_IN_C:
        lines += [
            f"    {function.returns} made;",
            "    int cancelled;",
            "    fpgart_disable_cancel(&cancelled);",
            f"    made = {MADE_IN_C[name]};",
            "    fpgart_restore_cancel(cancelled);",
            "    if (made != NULL) {",
            "        if (errcode_ret != NULL)",
            "            *errcode_ret = CL_SUCCESS;",
            "        return made;",
            "    }",
        ]
    if name in FREES:
        lines.append(f"    {FREES[name]}")
    lines.append("    if (!fpgart_enter(&visit)) {")
    if name == "clGetPlatformIDs":
        lines += ["        if (num_platforms != NULL)", "            *num_platforms = 0;"]
    if "result = 0" in declared:
        lines += ["        if (errcode_ret != NULL)", "            *errcode_ret = status;"]
    lines += [f"        return {refused};".replace(" ;", ";"), "    }"]
    lines += [
        f"    {declared.split(' = ')[0]} = {call};" if declared else f"    {call};",
        "    fpgart_leave(&visit);",
    ]
    if "result = 0" in declared:
        lines += ["    if (errcode_ret != NULL)", "        *errcode_ret = status;"]
    if declared:
        lines.append(f"    return ({function.returns})result;")
    return [*lines, "}", ""]
