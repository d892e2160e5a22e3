# SPDX-License-Identifier: Apache-2.0
"""Generates C and cffi texts from the prototypes: exported entry points, dispatch table, declarations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from prototypes import SCALARS, Api, Parameter, Prototype

HERE = Path(__file__).parent
HEADERS = ["interpreter.h", *sorted(header.name for header in HERE.glob("*.h"))]
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
MARKED = re.compile(r"^(FOR_PYTHON|AT_ONCE|OF_PYTHON) ((?:struct|enum)[^;(]*\{[^}]*\};|[^;]*;)", re.MULTILINE)
DECLARED_IN_C = "".join(f'#include "{header}"\n' for header in HEADERS)
"""Includes what entry points and Python call."""
IN_C = {"clIcdGetPlatformIDsKHR", "clGetExtensionFunctionAddress", "clGetExtensionFunctionAddressForPlatform"}
"""The functions that are written by hand, in extensions.c, because loaders call them where no interpreter may run."""
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
    # Hosts that list the devices of all platforms take this for a platform without devices, and go on.
    "clGetDeviceIDs": "fpgart_state == FPGART_FAILED ? CL_DEVICE_NOT_FOUND : CL_OUT_OF_RESOURCES",
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


def carried(function: str, command: str, facts: str = "", only_if: str = "") -> str:
    """Returns a C expression that is true if C has carried a call out.

    `facts`: the members of `struct call` (commands.h) that only calls of this function have.
    """
    call = f"fpgart_carries(&(struct call){{FPGART_CALL(fpgart_carry_{function}, CL_COMMAND_{command}), {facts}}})"
    return f"{only_if} && {call}" if only_if else call


PART = ".buffer = (uintptr_t)buffer, .offset = offset, .size = size"
TRANSFER = f"{PART}, .host = ptr"
RECT = (
    ".buffer = (uintptr_t)buffer, .host = ptr, .boxes = {{buffer_origin, region, buffer_row_pitch, buffer_slice_pitch},"
    " {host_origin, region, host_row_pitch, host_slice_pitch}}"
)
COPY = ".host = src_ptr, .other = (uintptr_t)dst_ptr, .size = size"
FILL = ".host = pattern, .pattern = pattern_size, .size = size"
BUFFERS = ".buffer = (uintptr_t)src_buffer, .other = (uintptr_t)dst_buffer"
MAY_MIGRATE = "fpgart_are_migration_flags(flags)"
CARRIED = {
    "clEnqueueNDRangeKernel": ("launch", "NDRANGE_KERNEL", ".kernel = (uintptr_t)kernel, .nd_range = "
        "fpgart_nd_range_of(work_dim, global_work_offset, global_work_size, local_work_size)"),
    "clEnqueueTask": ("launch", "TASK", ".kernel = (uintptr_t)kernel, "
        ".nd_range = {.sizes = {0, 0, 0, 1, 1, 1, 1, 1, 1}, .dimensions = 1, .has_local = 1}"),
    "clEnqueueReadBuffer": ("transfer", "READ_BUFFER", f"{TRANSFER}, .is_blocking = blocking_read != 0"),
    "clEnqueueWriteBuffer": ("transfer", "WRITE_BUFFER",
        f"{TRANSFER}, .is_write = 1, .is_blocking = blocking_write != 0"),
    "clEnqueueCopyBuffer": ("copy", "COPY_BUFFER",
        f"{BUFFERS}, .offset = src_offset, .other_offset = dst_offset, .size = size"),
    "clEnqueueReadBufferRect": ("rect", "READ_BUFFER_RECT", f"{RECT}, .is_blocking = blocking_read != 0"),
    "clEnqueueWriteBufferRect": ("rect", "WRITE_BUFFER_RECT",
        f"{RECT}, .is_write = 1, .is_blocking = blocking_write != 0"),
    "clEnqueueCopyBufferRect": ("rect_copy", "COPY_BUFFER_RECT",
        f"{BUFFERS}, .boxes = {{{{src_origin, region, src_row_pitch, src_slice_pitch}}, "
        "{dst_origin, region, dst_row_pitch, dst_slice_pitch}}"),
    "clEnqueueFillBuffer": ("fill", "FILL_BUFFER", f".buffer = (uintptr_t)buffer, .offset = offset, {FILL}"),
    "clEnqueueUnmapMemObject": ("unmap", "UNMAP_MEM_OBJECT", ".buffer = (uintptr_t)memobj, .host = mapped_ptr"),
    "clEnqueueMigrateMemObjects": ("migration", "MIGRATE_MEM_OBJECTS",
        ".host = mem_objects, .size = num_mem_objects, .flags = flags"),
    "clEnqueueSVMMemcpy": ("svm_copy", "SVM_MEMCPY", f"{COPY}, .is_blocking = blocking_copy != 0"),
    "clEnqueueSVMMemFill": ("svm_fill", "SVM_MEMFILL", f".other = (uintptr_t)svm_ptr, {FILL}"),
    "clEnqueueSVMMap": ("svm_mapping", "SVM_MAP", ".host = svm_ptr, .is_blocking = blocking_map != 0",
        "size != 0 && fpgart_are_map_flags(flags)"),
    "clEnqueueSVMUnmap": ("svm_mapping", "SVM_UNMAP", ".host = svm_ptr"),
    "clEnqueueSVMFree": ("svm_free", "SVM_FREE", ".host = svm_pointers, .size = num_svm_pointers",
        "pfn_free_func == NULL && svm_pointers != NULL && num_svm_pointers != 0 && "
        "num_svm_pointers <= FPGART_USES"),
    "clEnqueueSVMMigrateMem": ("svm_migration", "SVM_MIGRATE_MEM",
        ".host = svm_pointers, .other = (uintptr_t)sizes, .size = num_svm_pointers",
        f"num_svm_pointers != 0 && svm_pointers != NULL && {MAY_MIGRATE}"),
    "clEnqueueMemcpyINTEL": ("usm_copy", "MEMCPY_INTEL", f"{COPY}, .is_blocking = blocking != 0"),
    "clEnqueueMemFillINTEL": ("usm_fill", "MEMFILL_INTEL", f".other = (uintptr_t)dst_ptr, {FILL}"),
    "clEnqueueMemsetINTEL": ("usm_fill", "MEMFILL_INTEL",
        ".other = (uintptr_t)dst_ptr, .host = fpgart_byte(value), .pattern = 1, .size = size"),
    "clEnqueueMigrateMemINTEL": ("usm_hint", "MIGRATEMEM_INTEL", ".host = ptr, .size = size",
        f"flags != 0 && {MAY_MIGRATE}"),
    "clEnqueueMemAdviseINTEL": ("usm_hint", "MEMADVISE_INTEL", ".host = ptr, .size = size", "advice == 0"),
    "clEnqueueMarkerWithWaitList": ("marker", "MARKER"),
    "clEnqueueBarrierWithWaitList": ("marker", "BARRIER"),
}  # fmt: skip
"""The calls that enqueue commands: the arguments of carried()."""
MAPPED = carried("map", "MAP_BUFFER", f"{PART}, .flags = map_flags, .is_blocking = blocking_map != 0")
REMEMBERED = {
    f"clGet{noun}Info": f"fpgart_knows({{}}, FPGART_{kind}, param_name, param_value_size, param_value, "
    "param_value_size_ret)"
    for noun, kind in {
        "Device": "DEVICE",
        "Context": "CONTEXT",
        "CommandQueue": "QUEUE",
        "MemObject": "MEM",
        "Kernel": "KERNEL",
        "Event": "EVENT",
    }.items()
} | {
    "clGetPlatformInfo": "fpgart_knows({}, FPGART_PLATFORM, param_name, param_value_size, param_value, "
    "param_value_size_ret)",
    "clGetDeviceIDs": "fpgart_knows_devices({}, device_type, num_entries, devices, num_devices)",
    "clGetMemAllocInfoINTEL": "fpgart_knows_allocation({}, ptr, param_name, param_value_size, param_value, "
    "param_value_size_ret)",
    "clGetProgramInfo": "fpgart_knows({}, FPGART_PROGRAM, param_name, param_value_size, param_value, "
    "param_value_size_ret) || fpgart_knows_build({}, FPGART_ALL, param_name, "
    "param_value_size, param_value, param_value_size_ret)",
    "clGetProgramBuildInfo": "fpgart_knows_build({}, (struct fpgart_part){FPGART_ON_DEVICE, (uintptr_t)device}, "
    "param_name, param_value_size, param_value, param_value_size_ret)",
    "clGetKernelArgInfo": "fpgart_knows_part({}, FPGART_KERNEL, (struct fpgart_part){FPGART_ARGUMENT, arg_indx}, "
    "param_name, param_value_size, param_value, param_value_size_ret)",
    "clGetKernelWorkGroupInfo": "fpgart_knows_part({}, FPGART_KERNEL, (struct fpgart_part){FPGART_ON_DEVICE, "
    "(uintptr_t)device}, param_name, param_value_size, param_value, param_value_size_ret)",
    "clFinish": "fpgart_finishes({})",
    "clFlush": "fpgart_flushes({})",
    "clWaitForEvents": "fpgart_waits_for(num_events, event_list)",
    "clGetEventInfo": "fpgart_knows({}, FPGART_EVENT, param_name, param_value_size, param_value, "
    "param_value_size_ret) || fpgart_says_event({}, param_name, param_value_size, param_value, param_value_size_ret)",
    "clGetEventProfilingInfo": "fpgart_says_times({}, param_name, param_value_size, param_value, param_value_size_ret)",
    "clSetUserEventStatus": "fpgart_sets_user_event({}, execution_status)",
    "clSetEventCallback": "fpgart_calls_back({}, command_exec_callback_type, pfn_notify, user_data)",
    "clCreateKernelsInProgram": "fpgart_makes_kernels(program, num_kernels, kernels, num_kernels_ret)",
    "clSetKernelExecInfo": "fpgart_keeps_exec_info(kernel, param_name, param_value_size, param_value)",
    "clSetKernelArg": "fpgart_sets_argument(kernel, arg_index, arg_size, arg_value)",
    **{name: carried(*row) for name, row in CARRIED.items()},
    "clEnqueueMarker": "event != NULL && fpgart_carries_marker(command_queue, CL_COMMAND_MARKER, event)",
    "clEnqueueBarrier": "fpgart_carries_marker(command_queue, CL_COMMAND_BARRIER, NULL)",
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
    "clCreateBufferWithProperties": "properties == NULL ? fpgart_makes_buffer(context, flags, size, host_ptr) : NULL",
    "clCreateKernel": "fpgart_makes_kernel(program, kernel_name)",
    "clCloneKernel": "fpgart_clones_kernel(source_kernel)",
    "clEnqueueMapBuffer": f"{MAPPED} ? fpgart_last_mapped() : NULL",
    "clCreateSubBuffer": "fpgart_makes_sub_buffer(buffer, flags, buffer_create_type, buffer_create_info)",
}
"""C functions that make objects; NULL leaves the call to Python."""
SET_AGAIN = {"clSetKernelArg", "clSetKernelArgSVMPointer", "clSetKernelArgMemPointerINTEL"}
"""Calls that C repeats after Python has accepted them, so that it has the argument, too."""
INVALID = {"MEM": "CL_INVALID_MEM_OBJECT", "QUEUE": "CL_INVALID_COMMAND_QUEUE"}


def declarations(api: Api) -> str:
    """Returns what cffi declares: types, functions in C, and each entry point as py_cl..., with handles as integers."""
    found = marked_declarations()
    types = [text for _, text in found if text.startswith(("enum", "struct")) and "(" not in text]
    return "\n".join(
        [
            *(f"typedef {base} {name};" for name, base in SCALARS.items()),
            *(f"typedef {base} {name};" for name, base in api.typedefs.items() if name not in SCALARS),
            *types,
            'extern "Python+C" {',
            *(f"{function.for_python};" for function in implemented_in_python(api)),
            *(text for word, text in found if word == "OF_PYTHON"),
            "}",
            *(text for word, text in found if word != "OF_PYTHON" and text not in types),
        ]
    )


def marked_declarations() -> list[tuple[str, str]]:
    """Returns the declarations behind the words of core/for_python.h, each with its word."""
    folders = [HERE, HERE.parent / "interpreter", HERE.parent.parent / "core"]
    texts = [header.read_text() for folder in folders for header in sorted(folder.glob("*.h"))]
    return [each for text in texts for each in MARKED.findall(COMMENT.sub("", text))]


def called_at_once() -> str:
    """Returns the declarations of functions whose callers keep the interpreter's lock."""
    return "\n".join(text for word, text in marked_declarations() if word == "AT_ONCE")


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
    for name in sorted(api.functions):
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
    body = f"fpgart_{verb}({function.parameters[0].name}, FPGART_{kind}, {invalid})"
    return [f"CL_API_ENTRY {function.declaration}", "{", *fails_on_request(function), f"    return {body};", "}", ""]


def fails_on_request(function: Prototype) -> list[str]:
    """Returns the test for a fault, in functions that return a status or an object (call_faults.c)."""
    if function.returns == "void" or "FunctionAddress" in function.name or not function.name.startswith("cl"):
        return []
    handle = next((f"(uintptr_t){p.name}" for p in function.parameters[:1] if p.python_type == "uintptr_t"), "0")
    asks = "fpgart_asks_about_calls"
    if is_reference_count(function.name):  # hosts in Python may release under a lock of their own (handles.c)
        asks += " && fpgart_may_wait_for_interpreter()"
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
    if name in SET_AGAIN:
        lines += ["    if (result == CL_SUCCESS)", f"        {REMEMBERED[name]};"]
    if "result = 0" in declared:
        lines += ["    if (errcode_ret != NULL)", "        *errcode_ret = status;"]
    if declared:
        lines.append(f"    return ({function.returns})result;")
    return [*lines, "}", ""]
