# SPDX-License-Identifier: Apache-2.0
"""Reading of SPIR-V modules (fpgart/kernels/spirv_kernels.py): kernels, and the kinds of their arguments."""

from __future__ import annotations

import pytest
from spirv_module import Module as Source
from spirv_module import Section, Storage, literal, scale_and_add

from fpgart.base import opencl as cl
from fpgart.kernels.spirv import Decoration, Module, Op
from fpgart.kernels.spirv_kernels import hardware, imports, interfaces


def kernel_of(module: Source, *types: int, name: str = "k") -> list[int]:
    """An empty kernel; the ids of its parameters."""
    _, parameters = module.begin_kernel(name, *types)
    module.end_kernel()
    return parameters


@pytest.fixture
def module() -> Source:
    return Source()


@pytest.mark.parametrize(
    ("storage", "address"),
    [
        (Storage.GLOBAL, cl.CL_KERNEL_ARG_ADDRESS_GLOBAL),
        (Storage.CONSTANT, cl.CL_KERNEL_ARG_ADDRESS_CONSTANT),
        (Storage.LOCAL, cl.CL_KERNEL_ARG_ADDRESS_LOCAL),
        (5936, cl.CL_KERNEL_ARG_ADDRESS_GLOBAL),
        (5937, cl.CL_KERNEL_ARG_ADDRESS_GLOBAL),
    ],
)
def test_the_storage_class_of_a_pointer_is_the_address_space(module: Source, storage: int, address: int) -> None:
    kernel_of(module, module.pointer(storage, module.integer()))
    (argument,) = interfaces(Module(module.bytes()))["k"].arguments
    assert argument.address_qualifier == address


def test_numbers_and_structures_are_passed_by_value(module: Source) -> None:
    structure = module.structure(module.integer(), module.integer(64))
    by_value = kernel_of(module, module.integer(64), module.pointer(Storage.FUNCTION, structure))[1]
    module.decorate(by_value, 38, 2)
    found = interfaces(Module(module.bytes()))["k"].arguments
    assert [a.address_qualifier for a in found] == [cl.CL_KERNEL_ARG_ADDRESS_PRIVATE] * 2


def test_a_sampler_is_told_by_its_type_name(module: Source) -> None:
    kernel_of(module, module.sampler())
    assert interfaces(Module(module.bytes()))["k"].arguments[0].type_name == "sampler_t"


def test_the_parameters_decorations_are_its_qualifiers(module: Source) -> None:
    pointer = module.pointer(Storage.GLOBAL, module.integer())
    plain, const, both = kernel_of(module, pointer, pointer, pointer)
    del plain
    module.decorate(const, 38, 6)  # NoWrite
    module.decorate(both, 19)  # Restrict
    module.decorate(both, 21)  # Volatile
    assert [a.type_qualifier for a in interfaces(Module(module.bytes()))["k"].arguments] == [
        cl.CL_KERNEL_ARG_TYPE_NONE,
        cl.CL_KERNEL_ARG_TYPE_CONST,
        cl.CL_KERNEL_ARG_TYPE_RESTRICT | cl.CL_KERNEL_ARG_TYPE_VOLATILE,
    ]


def test_a_buffer_location_is_the_number_of_a_memory(module: Source) -> None:
    pointer = module.pointer(Storage.GLOBAL, module.integer())
    module.decorate(kernel_of(module, pointer, pointer)[1], 5921, 1)
    assert [a.buffer_location for a in interfaces(Module(module.bytes()))["k"].arguments] == ["", "1"]


def test_names_of_arguments_and_of_their_types_are_read_where_the_compiler_wrote_them(module: Source) -> None:
    data, count = kernel_of(module, module.pointer(Storage.GLOBAL, module.integer()), module.integer(), name="a.b")
    module.put(Section.DEBUG, 7, module.new(), *literal("kernel_arg_type.a.b.uint*,uint,"))
    module.put(Section.DEBUG, 5, data, *literal("data"))
    module.put(Section.DEBUG, 5, count, *literal("n"))
    found = interfaces(Module(module.bytes()))["a.b"].arguments
    assert [(a.name, a.type_name) for a in found] == [("data", "uint*"), ("n", "uint")]


def test_arguments_of_sycl_kernels_have_the_names_of_the_source(module: Source) -> None:
    (data,) = kernel_of(module, module.pointer(Storage.GLOBAL, module.integer()))
    module.put(Section.DEBUG, 5, data, *literal("_arg_data"))
    assert [a.name for a in interfaces(Module(module.bytes()))["k"].arguments] == ["data"]


def test_execution_modes_are_the_attributes_for_hardware(module: Source) -> None:
    kernel, _ = module.begin_kernel("k", module.integer())
    module.end_kernel()
    kernel_of(module, module.integer(), name="plain")
    for words in ((5896, 4), (5893, 64, 1, 1), (5894, 1), (5895,), (5903, 240)):
        module.put(Section.MODES, 16, kernel, *words)
    assert hardware(Module(module.bytes())) == {
        "k": {
            "num_simd_work_items": (4,),
            "max_work_group_size": (64, 1, 1),
            "max_global_work_dim": (1,),
            "uses_global_work_offset": (0,),
            "scheduler_target_fmax_mhz": (240,),
        }
    }


@pytest.mark.parametrize("order", "<>")
def test_names_that_a_module_does_not_define_are_its_imports(module: Source, order: str) -> None:
    kernel_of(module)
    for name, kind in (("elsewhere", 1), ("here", 0), ("far away", 1)):
        module.decorate(module.new(), Decoration.LINKAGE, *literal(name), kind)
    assert imports(Module(module.bytes(order))) == ["elsewhere", "far away"]
    assert imports(Module(b"no SPIR-V")) == []


def test_every_kernel_has_its_own_arguments_and_work_group_size(module: Source) -> None:
    first, _ = module.begin_kernel("first", module.integer())
    module.end_kernel()
    module.put(Section.MODES, 16, first, 17, 8, 4, 2)
    kernel_of(module, module.integer(), module.integer(), name="second")
    found = interfaces(Module(module.bytes()))
    assert {name: len(k.arguments) for name, k in found.items()} == {"first": 1, "second": 2}
    assert found["first"].required_work_group_size == (8, 4, 2)
    assert found["second"].required_work_group_size == (0, 0, 0)


def test_the_byte_order_of_a_module_does_not_matter(module: Source) -> None:
    kernel_of(module, module.pointer(Storage.GLOBAL, module.integer()), name="some name of a kernel")
    assert interfaces(Module(module.bytes(">"))) == interfaces(Module(module.bytes("<"))) != {}


def test_what_is_cut_off_anywhere_does_not_raise() -> None:
    whole = scale_and_add()
    for size in range(len(whole)):
        assert set(interfaces(Module(whole[:size]))) <= {"scale"}


@pytest.mark.parametrize("data", [b"", b"\x03\x02\x23\x07", b"no SPIR-V at all, but long enough", bytes(64)])
def test_other_bytes_have_no_kernels(data: bytes) -> None:
    assert interfaces(Module(data)) == {}


def test_each_instruction_has_a_number_of_its_own() -> None:
    numbers = [number for name, number in vars(Op).items() if name.isupper()]
    assert len(numbers) == len(set(numbers))
