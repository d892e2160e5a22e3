"""Memory maps of 66AK2x boards (board/keystone/partition.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine import SetOption

from fpgart.base import config
from fpgart.base.sizes import in_words
from fpgart.board.board_spec import BoardSpecError
from fpgart.board.keystone import partition
from fpgart.board.keystone.addresses import (
    Block,
    DspAddress,
    Extent,
    PhysicalAddress,
    dsp_at_boot,
    physical_at_boot,
    power_of_two_from,
)
from fpgart.board.keystone.heaps import KeystoneHeaps
from fpgart.board.keystone.partition import Partition

MIB, GIB = 1 << 20, 1 << 30


def shipped(name: str) -> Partition:
    return partition.read(partition.FOLDER / f"{name}.xml")


def parsed(text: str) -> Partition:
    return partition.parse(text.encode(), "k.xml")


def total(extents: tuple[Extent, ...]) -> int:
    return sum(extent.size for extent in extents)


def test_k2h_is_the_documents_example() -> None:
    board = shipped("k2h")
    assert total(board.linux) == 3 * GIB // 2
    assert total(board.cmem) + total(board.reserved) == 13 * GIB // 2
    assert total(board.reserved) == 80 * MIB
    assert board.fixed == Block(DspAddress(0xA000_0000), 512 * MIB)
    assert [heap.size for heap in board.fixed_heaps] == [432 * MIB]
    assert board.mapped_heaps == (Extent(PhysicalAddress(0x8_8000_0000), 6 * GIB),)
    assert [block.size for block in board.destinations] == [512 * MIB, GIB]


def test_k2h_split_has_two_mapped_heaps_and_the_documents_sizes() -> None:
    board = shipped("k2h_split")
    assert total(board.linux) == 3 * GIB // 2
    assert total(board.cmem) + total(board.reserved) == 13 * GIB // 2
    assert [heap.size for heap in board.fixed_heaps] == [432 * MIB]
    assert [heap.size for heap in board.mapped_heaps] == [GIB, 5 * GIB]
    assert [block.size for block in board.destinations] == [512 * MIB, GIB]


def test_k2h_low_has_1488_mib_and_maps_nothing() -> None:
    board = shipped("k2h_low")
    assert not board.maps
    assert [heap.size for heap in board.fixed_heaps] == [1488 * MIB]
    assert board.mapped_heaps == ()


def test_without_mapping_only_the_low_memory_is_left() -> None:
    board = shipped("k2h").without_mapping()
    assert not board.maps
    assert [heap.size for heap in board.fixed_heaps] == [432 * MIB]
    assert (board.mapped_heaps, board.destinations) == ((), ())


SPLIT = """<keystone name="split">
  <linux from="8:0000:0000" to="8:1FFF:FFFF"/>
  <reserved from="8:2000:0000" to="8:22FF:FFFF"/>
  <cmem from="8:2300:0000" to="8:7FFF:FFFF"/>
  <linux from="8:8000:0000" to="8:BFFF:FFFF"/>
  <cmem from="8:C000:0000" to="9:FFFF:FFFF"/>
  <fixed from="A000:0000" to="BFFF:FFFF"/>
  <destination from="8000:0000" to="9FFF:FFFF"/>
  <destination from="C000:0000" to="FFFF:FFFF"/>
</keystone>"""


def test_cmem_in_several_places_gives_several_mapped_heaps() -> None:
    board = parsed(SPLIT)
    assert [heap.size for heap in board.fixed_heaps] == [464 * MIB]
    assert board.mapped_heaps == (
        Extent(PhysicalAddress(0x8_4000_0000), GIB),
        Extent(PhysicalAddress(0x8_C000_0000), 5 * GIB),
    )


def test_without_mapping_low_memory_outside_of_the_fixed_block_is_seen_too() -> None:
    assert [heap.size for heap in parsed(SPLIT).without_mapping().fixed_heaps] == [1488 * MIB]


def test_cmem_that_touches_is_one_heap() -> None:
    board = parsed(SPLIT.replace('linux from="8:8', 'cmem from="8:8'))
    assert [heap.size for heap in board.mapped_heaps] == [7 * GIB]


def test_the_description_has_one_memory_per_heap() -> None:
    description = parsed(SPLIT).description()
    assert [(memory.name, memory.begin, memory.size) for memory in description.memories] == [
        ("fixed", 0x8_2300_0000, 464 * MIB),
        ("mapped1", 0x8_4000_0000, GIB),
        ("mapped2", 0x8_C000_0000, 5 * GIB),
        ("msmc", 0x0C00_0000, 4864 << 10),
    ]
    assert description.global_size == 6 * GIB + 464 * MIB
    assert description.largest_allocation == 5 * GIB
    assert [memory.name for memory in shipped("k2h").description().memories] == ["fixed", "mapped", "msmc"]


def test_the_description_is_that_of_a_66ak2h() -> None:
    board = shipped("k2h").description()
    assert (board.name, board.vendor) == ("k2h", "Texas Instruments, Inc.")
    assert (board.cores, board.clock_mhz, board.local_memory) == (8, 1200, 768 << 10)
    assert (board.largest_group, board.told_allocation) == (GIB, GIB)
    assert not board.full_duplex
    assert not board.unified_memory
    assert board.text == (partition.FOLDER / "k2h.xml").read_text()
    assert board.build_options("-w") == "-w", "it defines no macros of FPGA boards"


def test_only_mapped_heaps_are_seen_in_regions_and_only_msmc_is_on_the_chip() -> None:
    memories = shipped("k2h").description().memories
    assert [(memory.largest_region, memory.on_chip) for memory in memories] == [(0, False), (GIB, False), (0, True)]


def test_hosts_are_told_of_no_larger_buffer_than_the_largest_heap() -> None:
    assert parsed(f'<keystone name="k">{LOW}</keystone>').description().told_allocation == 512 * MIB


def test_a_board_has_the_heaps_of_its_partition() -> None:
    system = parsed(SPLIT).description().memory_system()
    assert isinstance(system, KeystoneHeaps)
    assert [*system.mapped] == [1, 2]


def test_two_heaps_of_a_kind_are_numbered_from_1() -> None:
    text = '<cmem from="8:2000:0000" to="8:2FFF:FFFF"/><cmem from="8:4000:0000" to="8:4FFF:FFFF"/>'
    memories = parsed(f'<keystone name="k">{text}</keystone>').description().memories
    assert [memory.name for memory in memories] == ["fixed1", "fixed2", "msmc"]


def test_low_memory_on_both_sides_of_the_fixed_block_is_mapped() -> None:
    whole = '<cmem from="8:0000:0000" to="8:FFFF:FFFF"/>'
    board = parsed(f'<keystone name="k">{whole}{FIXED}{DESTINATION}</keystone>')
    assert board.fixed_heaps == (Extent(PhysicalAddress(0x8_2000_0000), 512 * MIB),)
    assert board.mapped_heaps == (
        Extent(PhysicalAddress(0x8_0000_0000), 512 * MIB),
        Extent(PhysicalAddress(0x8_4000_0000), 3 * GIB),
    )


def test_cmem_up_to_the_end_of_the_low_memory_needs_no_mapping() -> None:
    assert not parsed('<keystone name="k"><cmem from="8:7FFF:F000" to="8:7FFF:FFFF"/></keystone>').maps
    board = parsed(f'<keystone name="k"><cmem from="8:2000:0000" to="8:8000:0FFF"/>{FIXED}{DESTINATION}</keystone>')
    assert board.maps


def test_what_is_left_out_is_nothing_and_the_vendor_is_the_driver() -> None:
    board = parsed(f'<keystone name="k">{LOW}</keystone>')
    assert (board.vendor, board.linux, board.reserved, board.fixed, board.destinations) == ("fpgart", (), (), None, ())


def test_elements_within_others_are_passed_over() -> None:
    board = parsed(f'<keystone name="k">{LOW}<future>{HIGH}</future></keystone>')
    assert board.cmem == (Extent(PhysicalAddress(0x8_2000_0000), 512 * MIB),)


def test_elements_are_in_order_of_addresses_whatever_theirs_was() -> None:
    lines = SPLIT.splitlines()
    assert parsed("\n".join([lines[0], *reversed(lines[1:-1]), lines[-1]])) == parsed(SPLIT)


def test_a_range_of_one_page_is_a_range() -> None:
    board = parsed('<keystone name="k"><cmem from="8:2000:0000" to="8:2000:0FFF"/></keystone>')
    assert board.cmem == (Extent(PhysicalAddress(0x8_2000_0000), 4096),)


@pytest.mark.parametrize(
    ("name", "content", "is_one"),
    [
        ("k.xml", "<keystone name='k'/>", True),
        ("k.xml", "<?xml version='1.0'?>\n<!-- not a <board> --><keystone><", True),
        ("k.xml", "<board><!-- unlike <keystone> --></board>", False),
        ("k.xml", "<board><keystone/></board>", False),
        ("k.xml", "<", False),
        ("k.xml", "<board name='keystone'/>", False),
        ("k.xml", "<keystones/>", False),
        ("k.txt", "<keystone name='k'/>", False),
        ("k.xml", None, False),
    ],
)
def test_a_partition_is_known_by_its_outermost_element(
    tmp_path: Path, name: str, content: str | None, is_one: bool
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    assert partition.is_one(str(tmp_path / name)) is is_one


def test_a_folder_is_no_partition(tmp_path: Path) -> None:
    (tmp_path / "k.xml").mkdir()
    assert not partition.is_one(str(tmp_path / "k.xml"))


@pytest.mark.parametrize("path", ["mine.xml", "./mine"])
def test_what_ends_in_xml_or_has_a_slash_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / path).write_text(SPLIT)
    assert partition.describe(path).name == "split"


def test_addresses_say_what_they_are() -> None:
    assert repr(PhysicalAddress(0x8_A000_0123)) == "PhysicalAddress(8:A000:0123)"
    assert repr(DspAddress(0x0C00_4567)) == "DspAddress(0C00:4567)"


def test_ranges_end_behind_their_last_byte() -> None:
    assert Extent(PhysicalAddress(0x8_0000_0000), 4096).end == 0x8_0000_1000
    assert Block(DspAddress(0x8000_0000), 4096).end == 0x8000_1000


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (MIB - 1, "1024 KiB"),
        (MIB, "1 MiB"),
        (3 * MIB // 2, "1.5 MiB"),
        (GIB - MIB, "1023 MiB"),
        (GIB, "1 GiB"),
        (5 * GIB // 4, "1.25 GiB"),
    ],
)
def test_bytes_are_told_in_the_largest_unit_that_they_fill(size: int, words: str) -> None:
    assert in_words(size) == words


def test_numbers_are_rounded_up_to_powers_of_two() -> None:
    assert [power_of_two_from(size) for size in (1, 2, 3, 4, 5, 4096, 4097)] == [1, 2, 4, 4, 8, 4096, 8192]


def test_addresses_are_written_as_in_the_document() -> None:
    assert str(PhysicalAddress(0x8_A000_0000)) == "8:A000:0000"
    assert str(DspAddress(0xA000_0000)) == "A000:0000"
    assert str(Extent(PhysicalAddress(0x8_0000_0000), 8 * GIB)) == "8:0000:0000 to 9:FFFF:FFFF"
    assert str(Block(DspAddress(0xA000_0000), 512 * MIB)) == "A000:0000 to BFFF:FFFF"


def test_at_boot_the_dsp_sees_the_low_memory_from_8000_0000() -> None:
    assert dsp_at_boot(0x8_2500_0000) == 0xA500_0000
    assert physical_at_boot(0xA500_0000) == 0x8_2500_0000
    for beyond in (0x7_FFFF_FFFF, 0x8_8000_0000):
        with pytest.raises(ValueError, match="is not within 8:0000:0000 to 8:7FFF:FFFF"):
            dsp_at_boot(beyond)


LOW = '<cmem from="8:2000:0000" to="8:3FFF:FFFF"/>'
HIGH = '<cmem from="8:8000:0000" to="8:FFFF:FFFF"/>'
FIXED = '<fixed from="A000:0000" to="BFFF:FFFF"/>'
DESTINATION = '<destination from="C000:0000" to="FFFF:FFFF"/>'

WRONG = [
    ("", "k.xml:1: no element found"),
    ("<board/>", "k.xml: the outermost element is 'board', not 'keystone'"),
    (f"<keystone>{LOW}</keystone>", "k.xml:1: keystone name: is missing"),
    ('<keystone name="k"/>', "k.xml:1: keystone cmem: there is none, so OpenCL has no memory"),
    ('<keystone name="k">\n<cmem from="8:2000:0000"/></keystone>', "k.xml:2: cmem to: is missing"),
    (
        f'<keystone name="k">\n{LOW.replace("8:2000:0000", "2000")}</keystone>',
        "k.xml:2: cmem from: '2000' is not an address",
    ),
    (
        f'<keystone name="k">{LOW}\n{FIXED.replace("A000", "8:A000")}</keystone>',
        "k.xml:2: fixed from: '8:A000:0000' is not an address such as A000:0000",
    ),
    (
        f'<keystone name="k">\n{LOW.replace("8:2000:0000", "8:2000:0400")}</keystone>',
        "k.xml:2: cmem from: 8:2000:0400 is not a multiple of 4 KiB",
    ),
    (
        f'<keystone name="k">\n{LOW.replace("8:3FFF:FFFF", "8:3FFF:FFFE")}</keystone>',
        "k.xml:2: cmem to: 8:3FFF:FFFE is not the last byte of 4 KiB",
    ),
    (
        f'<keystone name="k">\n{LOW.replace("8:3FFF:FFFF", "8:1FFF:FFFF")}</keystone>',
        "k.xml:2: cmem to: 8:1FFF:FFFF lies before 8:2000:0000",
    ),
    (
        f'<keystone name="k">\n{LOW.replace("8:3FFF:FFFF", "A:3FFF:FFFF")}</keystone>',
        "k.xml:2: cmem to: this is not within 8:0000:0000 to 9:FFFF:FFFF",
    ),
    (
        f'<keystone name="k">{LOW}\n{FIXED.replace("A000", "7000")}</keystone>',
        "k.xml:2: fixed from: this is not within 8000:0000 to FFFF:FFFF",
    ),
    (
        f'<keystone name="k">{LOW}\n<linux from="8:3000:0000" to="8:4FFF:FFFF"/></keystone>',
        "k.xml:2: linux from: this overlaps 8:2000:0000 to 8:3FFF:FFFF",
    ),
    (
        f'<keystone name="k">{LOW}{FIXED}\n<destination from="8000:0000" to="AFFF:FFFF"/></keystone>',
        "fixed from: this overlaps 8000:0000 to AFFF:FFFF",
    ),
    (
        f'<keystone name="k">{LOW}{FIXED}\n{FIXED.replace("A", "C").replace("B", "D")}</keystone>',
        "k.xml:2: fixed from: there is another fixed block",
    ),
    (
        f'<keystone name="k">{LOW}{HIGH}{FIXED}</keystone>',
        "k.xml:1: keystone destination: there is none, so cmem above 8:7FFF:FFFF is out of reach",
    ),
    (f'<keystone name="k">{LOW}{HIGH}{DESTINATION}</keystone>', "k.xml:1: keystone fixed: there is none"),
    (
        f'<keystone name="k">{HIGH}\n{FIXED}{DESTINATION}</keystone>',
        "k.xml:2: fixed from: no cmem is in this block",
    ),
    (f'<!DOCTYPE k><keystone name="k">{LOW}</keystone>', "k.xml:1: a document type (and so entities) is not accepted"),
]


@pytest.mark.parametrize(("text", "words"), WRONG, ids=[words[:60] for _, words in WRONG])
def test_a_wrong_file_is_told_with_line_and_field(text: str, words: str) -> None:
    with pytest.raises(BoardSpecError) as caught:
        parsed(text)
    assert words in str(caught.value)


def test_a_board_of_ones_own_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.xml"
    file.write_text(SPLIT)
    assert partition.describe(str(file)) == partition.read(file) == parsed(SPLIT)
    with pytest.raises(BoardSpecError, match=r"no_such\.xml: No such file"):
        partition.read(tmp_path / "no_such.xml")


@pytest.mark.parametrize("value", ["1", "0", "no", ""])
def test_ti_ocl_dsp_nomap_restricts_whatever_its_value(set_option: SetOption, value: str) -> None:
    assert partition.describe("k2h").maps
    set_option(config.NO_MAPPING, value)
    assert partition.describe("k2h") == shipped("k2h").without_mapping()


def test_a_partition_joins_what_follows_a_part_without_a_gap() -> None:
    parts = [Extent(PhysicalAddress(begin), size) for begin, size in ((0, 4), (16, 8), (24, 2), (26, 6), (40, 1))]
    assert [(part.begin, part.size) for part in partition._joined(parts)] == [(0, 4), (16, 16), (40, 1)]
