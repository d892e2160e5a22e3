"""Boards from board_spec.xml: what is understood, what is passed over, and what is wrong in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from fpgart.board import board_spec, catalogue
from fpgart.board.board_spec import BoardSpecError
from fpgart.board.description import BoardDescription, IoChannel, Timing
from fpgart.board.global_memory import AllocationType, GlobalMemory, Interface
from fpgart.board.mmd import OfflineInfo
from fpgart.board.simulated_board import SimulatedBoard

GIB = 1 << 30
INTERFACE = '<interface name="board" port="p" address="0x0" size="0x40000000" latency="240" width="512"/>'
MEMORY = f'<global_mem name="DDR" max_bandwidth="100" interleaved_bytes="1024">{INTERFACE}</global_mem>'


def parsed(text: str) -> BoardDescription:
    return board_spec.parse(text.encode(), "b.xml")


SHIPPED = {
    # name: (memory, begin, bytes, banks, interleaved, kinds of USM)
    "usm_s10": [
        ("device", 1 << 48, 16 * GIB, 4, True, AllocationType.DEVICE),
        ("host", 0, 1 << 48, 1, False, AllocationType.HOST | AllocationType.SHARED),
    ],
    "a10_ref": [("DDR", 0, 2 * GIB, 2, False, AllocationType.DEVICE)],
    "a10_small": [("DDR", 0, 128 << 20, 1, False, AllocationType.NONE)],
    "soc_a10": [("DDR", 0, GIB, 1, False, AllocationType.NONE)],
    "hetero": [
        ("DDR", 0, 4 * GIB, 2, True, AllocationType.NONE),
        ("HBM", 4 * GIB, 8 * GIB, 32, False, AllocationType.NONE),
        ("QDR", 12 * GIB, 4 << 20, 4, False, AllocationType.NONE),
    ],
}


@pytest.mark.parametrize("name", SHIPPED)
def test_the_boards_that_come_with_fpgart(name: str) -> None:
    found = [
        (m.name, m.begin, m.size, m.banks, m.interleaved, m.allocation_types) for m in catalogue.describe(name).memories
    ]
    assert found == SHIPPED[name]


def test_parts_that_hosts_cannot_notice_are_passed_over() -> None:
    board = parsed(
        f"""<?xml version="1.0"?>
        <board version="17.0" name="card">
          <compile project="top" revision="top"><generate cmd="x"/></compile>
          <device device_model="d.xml"><used_resources><alms num="1"/></used_resources></device>
          {MEMORY}
          <host><kernel_config start="0x0" size="0x100000"/></host>
          <channels><interface name="udp" port="in" type="streamsource" width="256" chan_id="eth0"/></channels>
          <interfaces><interface name="board" port="kernel_cra" type="master" width="64" misc="0"/></interfaces>
          <pll name="k"/>
        </board>"""
    )
    assert [memory.name for memory in board.memories] == ["DDR"]


def test_kernels_read_from_a_source_of_streams_and_write_to_a_sink() -> None:
    ports = (
        '<interface name="n" port="rx" type="streamsource" chan_id="in"/>'
        '<interface name="n" port="tx" type="streamsink" width="64" chan_id="out"/>'
    )
    board = parsed(f'<board name="b">{MEMORY}<channels>{ports}</channels></board>')
    assert board.channels == (IoChannel("in", output=False, width=256), IoChannel("out", output=True, width=64))


def test_the_default_memory_comes_first() -> None:
    other = MEMORY.replace("DDR", "QDR").replace('"0x0"', '"0x40000000"').replace(" max_", ' default="1" max_')
    board = parsed(f'<board name="b">{MEMORY}{other}</board>')
    assert [memory.name for memory in board.memories] == ["QDR", "DDR"]


def test_interfaces_may_come_in_any_order() -> None:
    upper = INTERFACE.replace('"0x0"', '"0x40000000"')
    board = parsed(f'<board name="b"><global_mem name="DDR">{upper}{INTERFACE}</global_mem></board>')
    memory = board.memories[0]
    assert (memory.begin, memory.end, memory.banks, memory.bank_size) == (0, 2 * GIB, 2, GIB)


INTERLEAVED = [
    ("", True, 1024),  # bursts of 16 words of 512 bits
    ('interleaved_bytes="4096"', True, 4096),
    ('interleaved_bytes="0"', False, 0),
]


@pytest.mark.parametrize(("words", "interleaved", "unit"), INTERLEAVED)
def test_banks_are_interleaved_unless_the_file_says_otherwise(words: str, interleaved: bool, unit: int) -> None:
    upper = INTERFACE.replace('"0x0"', '"0x40000000"')
    board = parsed(f'<board name="b"><global_mem name="DDR" {words}>{INTERFACE}{upper}</global_mem></board>')
    assert (board.memories[0].interleaved, board.memories[0].interleaved_bytes) == (interleaved, unit)


def test_what_is_left_out_of_the_timing_has_its_default() -> None:
    board = parsed(f'<board name="b"><fpgart pcie_lanes="16" mmd_latency="0"/>{MEMORY}</board>')
    assert board.timing == Timing(pcie_lanes=16, mmd_latency=0)


def board_of(*memories: str, ours: str = "") -> BoardDescription:
    return parsed(f'<board name="b">{ours}{"".join(memories)}</board>')


@pytest.mark.parametrize("name", ["", 'vendor="Somebody"'])
def test_the_vendors_number_of_an_fpga_board_is_intels_whoever_made_it(name: str) -> None:
    made = SimulatedBoard(board_of(MEMORY, ours=f"<fpgart {name}/>"))
    assert made.get_offline_info(OfflineInfo.VENDOR_ID) == 0x8086


def test_what_a_file_says_of_a_memory_and_its_ports() -> None:
    port = '<interface name="board" port="p" address="0x400" size="2048" width="128" latency="9" maxburst="8"/>'
    said = 'max_bandwidth="7" interleaved_bytes="64" config_addr="0x18" allocation_type="host, device"'
    found = board_of(f'<global_mem name="M" {said}>{port}</global_mem>').memories
    kinds = AllocationType.HOST | AllocationType.DEVICE
    assert found == (GlobalMemory("M", 1024, 3072, 1, 64, kinds, 7, 0x18, (Interface("p", 1024, 2048, 128, 9, 8),)),)


def test_what_a_file_does_not_say_of_a_memory() -> None:
    port = '<interface name="board" address="0" size="1024"/>'
    found = board_of(f'<global_mem name="M">{port}</global_mem>').memories
    assert found == (
        GlobalMemory("M", 0, 1024, interleaved_bytes=1024, interfaces=(Interface("board", 0, 1024, 512, 0, 16),)),
    )


def test_what_a_file_says_of_the_board() -> None:
    board = board_of(MEMORY, ours='<fpgart vendor="V" full_duplex="1" unified_memory="1"/>')
    assert (board.name, board.vendor, board.full_duplex, board.unified_memory) == ("b", "V", True, True)
    assert board.text == f'<board name="b"><fpgart vendor="V" full_duplex="1" unified_memory="1"/>{MEMORY}</board>'


def test_what_a_file_does_not_say_of_the_board() -> None:
    board = board_of(MEMORY)
    assert (board.vendor, board.full_duplex, board.unified_memory, board.timing) == ("fpgart", False, False, Timing())


def test_numbers_may_be_hexadecimal_in_either_case_and_have_spaces_around() -> None:
    assert board_of(MEMORY.replace('"0x40000000"', '" 0X40000000 "')) == board_of(
        MEMORY.replace("0x40000000", "1073741824")
    )


def at(name: str, begin: int, size: int = 1024, more: str = "") -> str:
    return f'<global_mem name="{name}"{more}><interface port="p" address="{begin}" size="{size}"/></global_mem>'


def test_a_memory_may_end_where_the_addresses_end() -> None:
    assert board_of(at("M", (1 << 54) - 1024)).memories[0].end == 1 << 54


def test_memories_may_touch_and_are_in_the_files_order() -> None:
    assert [memory.name for memory in board_of(at("B", 1024), at("A", 0), at("C", 2048)).memories] == ["B", "A", "C"]


def test_the_first_memory_that_buffers_can_be_in_is_the_default_unless_one_says_that_it_is() -> None:
    host = at("H", 0, more=' allocation_type="host"')
    assert [memory.name for memory in board_of(host, at("A", 1024), at("B", 2048)).memories] == ["A", "H", "B"]
    last = at("B", 2048, more=' default="1"')
    assert [memory.name for memory in board_of(host, at("A", 1024), last).memories] == ["B", "H", "A"]
    no_default = at("A", 1024, more=' default="0"')
    assert [memory.name for memory in board_of(host, no_default, last).memories] == ["B", "H", "A"]


def test_a_board_has_32_memories_at_most() -> None:
    memories = [at(f"M{number}", 1024 * number) for number in range(33)]
    assert len(board_of(*memories[:32]).memories) == 32
    with pytest.raises(BoardSpecError, match="global_mem name: this is more than 32 memories"):
        board_of(*memories)


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("pcie_generation", (1, 2, 3, 4, 5), (0, 6)),
        ("pcie_lanes", (1, 2, 4, 8, 16), (0, 3, 32)),
        ("pcie_payload", (128, 256, 512, 1024, 2048, 4096), (0, 64, 129, 8192)),
    ],
)
def test_a_link_has_what_the_standard_has(field: str, good: tuple[int, ...], bad: tuple[int, ...]) -> None:
    for value in good:
        assert getattr(board_of(MEMORY, ours=f'<fpgart {field}="{value}"/>').timing, field) == value
    for value in bad:
        with pytest.raises(BoardSpecError, match=f"fpgart {field}: {value} is not one of"):
            board_of(MEMORY, ours=f'<fpgart {field}="{value}"/>')


@pytest.mark.parametrize("field", ["mmd_latency", "dma_latency", "launch_latency", "program_time"])
def test_a_latency_may_be_nothing(field: str) -> None:
    assert getattr(board_of(MEMORY, ours=f'<fpgart {field}="0"/>').timing, field) == 0


@pytest.mark.parametrize("field", ["dma_block", "kernel_clock"])
def test_blocks_and_clocks_are_more_than_nothing(field: str) -> None:
    assert getattr(board_of(MEMORY, ours=f'<fpgart {field}="1"/>').timing, field) == 1
    with pytest.raises(BoardSpecError, match=f"fpgart {field}: has to be more than 0"):
        board_of(MEMORY, ours=f'<fpgart {field}="0"/>')


def test_a_number_has_64_bits_at_most() -> None:
    most = (1 << 64) - 1
    assert board_of(MEMORY, ours=f'<fpgart program_time="{most}"/>').timing.program_time == most
    with pytest.raises(BoardSpecError, match=f"program_time: {most + 1} is out of range"):
        board_of(MEMORY, ours=f'<fpgart program_time="{most + 1}"/>')


DEFAULT, HOSTS = ' default="1"', ' allocation_type="host"'
WRONG = [
    (
        f'<board name="b">{at("A", 0, more=DEFAULT)}\n{at("B", 1024, more=DEFAULT)}</board>',
        "b.xml:2: global_mem default: another memory is the default already",
    ),
    (
        f'<board name="b">{at("A", 0)}\n{at("B", 1024, more=DEFAULT + HOSTS)}</board>',
        "b.xml:2: global_mem default: buffers cannot be in a memory for host or shared allocations only",
    ),
    (f'<board name=" ">{MEMORY}</board>', "b.xml:1: board name: is missing"),
    (f'<board name="b">{at("A", 0, size=0)}</board>', "b.xml:1: interface size: 0x0 is not a multiple of 1024 bytes"),
    (f'<board name="b">{at("A", (1 << 54) - 1024, size=2048)}</board>', "needs more than 54 bits"),
    (f'<board name="b">{at("A", 0, size=2048)}\n{at("B", 1024)}</board>', "b.xml:2: global_mem address: 'B' overlaps"),
    ("", "b.xml:1: no element found"),
    ("<board", "b.xml:1: unclosed token"),
    ("<bord/>", "b.xml: the outermost element is 'bord', not 'board'"),
    ("<board/>", "b.xml:1: board name: is missing"),
    ('<board name="b"/>', "b.xml:1: board global_mem: there is none that buffers could be in"),
    ('<board name="b">\n<global_mem name="M"/></board>', "b.xml:2: global_mem interface: memory 'M' has none"),
    (f'<board name="b">\n\n<global_mem>{INTERFACE}</global_mem></board>', "b.xml:3: global_mem name: is missing"),
    (f'<board name="b">{MEMORY}{MEMORY}</board>', "b.xml:1: global_mem name: 'DDR' is taken"),
    (
        f'<board name="b">{MEMORY}</board>'.replace("0x40000000", "big"),
        "b.xml:1: interface size: 'big' is not a number",
    ),
    (f'<board name="b">{MEMORY}</board>'.replace("0x40000000", "-1024"), "b.xml:1: interface size: -1024 is out of"),
    (
        f'<board name="b">{MEMORY}</board>'.replace("0x40000000", "1000"),
        "b.xml:1: interface size: 0x3e8 is not a multiple",
    ),
    (
        f'<board name="b">{MEMORY}</board>'.replace("<global_mem", '<global_mem allocation_type="hots"'),
        "b.xml:1: global_mem allocation_type: 'hots' is not one of host, shared, device",
    ),
    (
        f'<board name="b">{MEMORY}</board>'.replace("<global_mem", '<global_mem allocation_type="host"'),
        "b.xml:1: board global_mem: there is none that buffers could be in",
    ),
    (
        f'<board name="b"><global_mem name="M">{INTERFACE}\n{INTERFACE}</global_mem></board>',
        "b.xml:1: global_mem interface: 'p' ends at 0x40000000, 'p' begins at 0x0",
    ),
    (
        f'<!DOCTYPE b [<!ENTITY a "aaaa"><!ENTITY c "&a;&a;">]><board name="&c;">{MEMORY}</board>',
        "b.xml:1: a document type (and so entities) is not accepted here",
    ),
]


@pytest.mark.parametrize(("text", "words"), WRONG, ids=[words[:60] for _, words in WRONG])
def test_a_wrong_file_is_told_with_line_and_field(text: str, words: str) -> None:
    with pytest.raises(BoardSpecError) as caught:
        parsed(text)
    assert words in str(caught.value)


def test_a_board_may_be_a_file_or_the_folder_of_its_board_spec(tmp_path: Path) -> None:
    file = tmp_path / "board_spec.xml"
    file.write_text(f'<board name="mine">{MEMORY}</board>')
    assert catalogue.describe(str(file)).name == "mine"
    assert catalogue.describe(str(tmp_path)).name == "mine"


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(BoardSpecError, match=r"no_such\.xml: No such file"):
        catalogue.describe("no_such.xml")
