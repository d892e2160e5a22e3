"""`icpx`: its command line, the registration of images, and what it says where a piece is missing."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from processes import finished

from fpgart.board.catalogue import describe
from fpgart.icpx import pieces
from fpgart.icpx.command_line import ONE_KERNEL, CommandLine, Wanted, expanded, read_command_line
from fpgart.icpx.device_compilers import (
    PRIVATE_ENTRY,
    KernelCompilerExtension,
    PrivateEntry,
    device_compiler,
    kernel_compiler,
)
from fpgart.icpx.device_sections import SECTION, add_section, bitcodes_of, remove_section
from fpgart.icpx.errors import IcpxError, NotInstalled, PassFailed, UsageError
from fpgart.icpx.images import DeviceImage, Property, described_images
from fpgart.icpx.outputs import write_output
from fpgart.icpx.passes import (
    FOOTER,
    Source,
    Tools,
    device_pass,
    explained,
    forget_temporary,
    include,
)
from fpgart.icpx.pieces import SyclRuntime
from fpgart.icpx.private_folder import private_folder
from fpgart.icpx.registration import registration_of
from fpgart.sdk.early_image import write_report
from fpgart.sdk.icpx import compile_command


def program(path: Path, script: str) -> Path:
    """Writes a program of the shell."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    made = tmp_path / "program.cpp"
    made.write_text("int main() {}\n")
    return made


# The command line


def test_the_version_is_that_of_the_compiler_whose_place_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_command(["--version"]) == 0
    assert f"DPC++/C++ Compiler {pieces.SYCL_VERSION}\n" in capsys.readouterr().out


def test_options_reach_the_compiler_that_they_are_for(source: Path) -> None:
    words = ["-fsycl", "-fintelfpga", "-qactypes", "-DA=1", "-I", "inc", "-std=c++20", "-O0", "-g", "-Wall",
             "-lm", "-L/lib", "x.o", "-Xstarget=Agilex7", "-o", "out", str(source)]  # fmt: skip
    asked = read_command_line(words)
    assert asked.wanted is Wanted.PROGRAM
    assert asked.common == [ONE_KERNEL, "-D", "A=1", "-I", "inc", "-std=c++20"]
    assert asked.host == ["-O0", "-g", "-Wall"]
    assert asked.device == ["-Wall"]
    assert asked.inputs == ["-lm", "-L/lib", "x.o"]
    assert (asked.hardware, asked.output, asked.sources) == (["-Xstarget=Agilex7"], Path("out"), [source])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-Xshardware"], "without this option, icpx makes a program"),
        (["-Xssimulation"], "needs Intel's compiler"),
        (["-fsycl-targets=nvptx64-nvidia-cuda"], "compiles for spir64"),
        (["-fsycl-link=image", "-Xshardware"], "without this option, icpx makes a program"),
        (["-Xsycl-target-backend=spir64_fpga", "-hardware -board=x"], "-Xshardware makes hardware"),
        (["-Xsycl-target-backend"], "needs a value"),
        (["-fsycl-link=late"], "not one of early, image"),
        (["-fsycl-device-code-split=none"], "not one of per_kernel, per_source, off, auto"),
        (["-x", "fortran"], "compiles c++ only"),
        (["-c", "-"], "not from standard input"),
        (["-c", "-emit-llvm"], "makes objects with code for the host and devices only"),
        (["-fp-model=quick"], "precise, fast, strict"),
        (["-o"], "needs a value"),
        (["-c", "-o", "one.o", "other.cpp"], "is one file"),
        (["-o", "/missing/program"], "there is no folder /missing"),
        (["-o", "/"], "this is a folder"),
        (["missing.cpp"], "no such file"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    source: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert compile_command(["-fsycl", str(source), *words]) == 1
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert told[0].startswith("icpx: ")
    assert said in told[0]


@pytest.mark.parametrize("words", [["-MM", "-c"], ["-c", "-MM"], ["-S", "-fsycl-link", "-MM"]])
def test_the_earliest_end_counts(source: Path, words: list[str]) -> None:
    asked = read_command_line(["-fsycl", *words, str(source)])
    assert (asked.end, asked.wanted) == ("-MM", Wanted.TEXT)


def test_an_output_does_not_replace_its_source(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = source.read_text()
    assert compile_command(["-fsycl", "-c", str(source), "-o", str(source)]) == 1
    assert "would replace this source" in capsys.readouterr().err
    assert source.read_text() == text


def test_options_for_hardware_have_one_form(source: Path) -> None:
    words = ["-Xsboard=a", "-Xs", "-board=b -fast-compile", "-Xsycl-target-backend=spir64_fpga", "-seed=3"]
    asked = read_command_line([*words, "-Xs", "v", str(source)])
    assert asked.hardware == ["-Xsboard=a", "-Xsboard=b", "-Xsfast-compile", "-Xsseed=3", "-Xsv"]
    assert asked.sources == [source]


@pytest.mark.parametrize(("words", "division"), [
    ([], "off"), (["per_kernel"], "per_kernel"), (["per_kernel", "auto"], "off"), (["off", "per_source"], "per_source"),
])  # fmt: skip
def test_the_last_division_of_kernels_counts(source: Path, words: list[str], division: str) -> None:
    given = [f"-fsycl-device-code-split={word}" for word in words]
    assert read_command_line(["-fsycl", *given, str(source)]).division == division


def test_no_input_is_an_error() -> None:
    with pytest.raises(UsageError, match="no input files"):
        read_command_line(["-fsycl"])


def test_response_files_stand_for_their_words(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text("-DB='a b'\n-c")
    outer.write_text(f"-O1 @{inner}")
    assert expanded(["-fsycl", f"@{outer}", "@"]) == ["-fsycl", "-O1", "-DB=a b", "-c", "@"]


@pytest.mark.parametrize("text", ["@{self}", "'unfinished"])
def test_response_files_that_cannot_be_read_are_an_error(tmp_path: Path, text: str) -> None:
    file = tmp_path / "options"
    file.write_text(text.replace("{self}", str(file)))
    with pytest.raises(UsageError):
        expanded([f"@{file}"])
    with pytest.raises(UsageError, match="No such file"):
        expanded([f"@{tmp_path / 'missing'}"])


@pytest.mark.parametrize("word", ["-static-intel", "-shared-intel"])
def test_intels_options_for_libraries_do_not_reach_the_linker(source: Path, word: str) -> None:
    asked = read_command_line(["-fsycl", word, str(source)])
    assert (asked.inputs, asked.host) == ([], [])


@pytest.mark.parametrize("word", ["-fsycl-link", "-fsycl-link=early"])
def test_an_early_image_may_be_for_hardware(source: Path, word: str) -> None:
    asked = read_command_line(["-fsycl", "-Xshardware", word, str(source)])
    assert asked.wanted is Wanted.EARLY_IMAGE


# Device code in objects


def test_the_code_of_linked_objects_is_found_source_by_source(tmp_path: Path) -> None:
    objects = []
    for number, code in enumerate((b"first", b"", b"third")):
        host, device = tmp_path / f"host{number}.o", tmp_path / f"device{number}.bc"
        text = f"int variable{number};"
        subprocess.run(["gcc", "-x", "c", "-c", "-", "-o", str(host)], input=text, text=True, check=True)
        device.write_bytes(code)
        objects.append(add_section(host, device, verbose=False))
    linked = tmp_path / "linked.o"
    subprocess.run(["ld", "-r", *objects, "-o", linked], check=True)
    assert list(bitcodes_of(linked)) == [b"first", b"", b"third"]
    remove_section(linked, tmp_path / "program", verbose=False)
    assert list(bitcodes_of(tmp_path / "program")) == []


def test_a_section_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    content, made = tmp_path / "content", tmp_path / "made.o"
    content.write_bytes(b"fpgart\x001" + bytes([9, 0, 0, 0, 0, 0, 0, 0]) + b"short")
    subprocess.run(["gcc", "-x", "c", "-c", "-", "-o", str(made)], input="int variable;", text=True, check=True)
    subprocess.run(["objcopy", "--add-section", f"{SECTION}={content}", str(made)], check=True)
    with pytest.raises(IcpxError, match="is damaged"):
        list(bitcodes_of(made))


# Pieces


@pytest.mark.parametrize("end", ["pass", "raise SystemExit(1)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_the_folder_of_temporary_files_is_gone_however_icpx_ends(end: str) -> None:
    script = f"""
import os, signal
from fpgart.icpx.pieces import SyclRuntime
from fpgart.icpx.private_folder import private_folder
with private_folder() as folder:
    (folder / "file").touch()
    print(folder, oct(folder.stat().st_mode & 0o777), flush=True)
    {end}
"""
    # What removes the folder has the output open until it has done so.
    ended = finished(sys.executable, "-c", script, PATH="/missing")
    folder, mode = ended.stdout.split()
    assert mode == "0o700"
    assert not Path(folder).exists()


def test_programs_that_icpx_runs_have_their_temporary_files_in_that_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    with private_folder() as folder:
        made = subprocess.run(["mktemp"], capture_output=True, text=True, check=True).stdout
        assert Path(made.strip()).parent == folder
    assert os.environ["TMPDIR"] == str(tmp_path / "missing")


def test_a_full_folder_of_temporary_files_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    said = f"{tmp_path}: No space left on device; TMPDIR names the folder for temporary files"
    with pytest.raises(IcpxError) as refused, private_folder():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert str(refused.value) == said
    with pytest.raises(PassFailed) as failed, private_folder():
        raise PassFailed("ld: final link failed: No space left on device\n")
    assert str(failed.value) == f"ld: final link failed: No space left on device\nicpx: {said}\n"
    assert not list(tmp_path.iterdir())
    with pytest.raises(PermissionError), private_folder():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def test_the_device_compiler_names_a_file_that_it_cannot_read(tmp_path: Path) -> None:
    words = [sys.executable, PRIVATE_ENTRY, "libm.so.6", tmp_path / "missing", tmp_path / "q.cpp"]
    made = finished(*words)
    assert (made.returncode, made.stderr) == (1, f"error: {tmp_path}/q.cpp: No such file or directory\n")


def test_an_output_that_does_not_fit_is_removed_and_named(tmp_path: Path) -> None:
    made, output = tmp_path / "made.o", tmp_path / "output.o"
    made.write_bytes(bytes(5000))
    script = f"""
import resource
from pathlib import Path
from fpgart.icpx.outputs import write_output
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
write_output(Path({str(made)!r}), Path({str(output)!r}))
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.stderr.splitlines()[-1] == f"fpgart.icpx.errors.IcpxError: {output}: File too large"
    assert list(tmp_path.iterdir()) == [made]
    write_output(made, output)
    assert output.read_bytes() == bytes(5000)
    assert output.stat().st_mode == made.stat().st_mode


def test_a_signal_between_an_output_and_its_end_leaves_it_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ended(BaseException):
        pass

    def end(number: int, frame: object) -> None:
        raise Ended

    def replace(new: str, output: Path, before: Callable[[str, Path], None] = os.replace) -> None:
        before(new, output)
        signal.raise_signal(signal.SIGTERM)

    made, output = tmp_path / "made", tmp_path / "output"
    made.write_text("whole")
    monkeypatch.setattr(os, "replace", replace)
    handler = signal.signal(signal.SIGTERM, end)
    try:
        with pytest.raises(Ended):
            write_output(made, output)
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert output.read_text() == "whole"
    assert {each.name for each in tmp_path.iterdir()} == {"made", "output"}


def test_a_page_that_does_not_fit_is_removed_and_named(tmp_path: Path) -> None:
    page = tmp_path / "early.prj" / "reports" / "report.html"
    page.parent.mkdir(parents=True)
    page.symlink_to("/dev/full")
    asked = CommandLine(output=tmp_path / "early.a")
    with pytest.raises(IcpxError) as refused:
        write_report([], describe("usm_s10"), asked)
    assert str(refused.value) == f"{page}: No space left on device"
    assert not page.is_symlink()
    assert "usm_s10" in write_report([], describe("usm_s10"), asked).read_text()


def test_a_runtime_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(NotInstalled, match=r"intel-sycl-rt is not installed.*fpgart\[sycl\]"):
        pieces.sycl_runtime()


def installed(folder: Path, *missing: str) -> SimpleNamespace:
    """Returns an installed runtime without some of its files."""
    files = ["lib/libsycl-jit.so", "include/sycl/ext/intel/fpga_extensions.hpp"]
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        if file not in missing:
            (folder / file).touch()
    return SimpleNamespace(files=files, locate_file=lambda file: folder / file)


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("lib/libsycl-jit.so", "is installed without libsycl-jit.so"),
        ("include/sycl/ext/intel/fpga_extensions.hpp", "is installed, which has no headers for FPGAs"),
    ],
)
def test_a_runtime_without_compiler_or_headers_for_fpgas_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    source: Path,
    capsys: pytest.CaptureFixture[str],
    missing: str,
    said: str,
) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "2026.1.0")
    monkeypatch.setattr(metadata, "distribution", lambda name: installed(tmp_path, missing))
    assert compile_command(["-fsycl", str(source)]) == 1
    remedy = "pip install --force-reinstall intel-sycl-rt==2025.3.3"
    assert capsys.readouterr().err == f"icpx: intel-sycl-rt 2026.1.0 {said}: {remedy}\n"


def test_the_private_entry_is_for_the_tested_version_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    host = compiler_of_programs(tmp_path)
    tested, other = (SyclRuntime(version, tmp_path) for version in (pieces.SYCL_VERSION, "2025.2.0"))
    assert isinstance(device_compiler(tested, host, tmp_path, False), PrivateEntry)
    first, second = (device_compiler(other, host, tmp_path, False) for _ in range(2))
    assert isinstance(first, KernelCompilerExtension)
    assert first == second
    assert first.program.parent == tmp_path / "cache" / "fpgart" / "icpx"
    assert Path(f"{host}.words").read_text().count("\n") == 1, "the program is built once"


def compiler_of_programs(folder: Path) -> Path:
    """Returns a compiler whose programs end at once; it writes a line of its words into `c++.words`."""
    script = 'echo "$@" >> "$0.words"; for made; do true; done; echo "#!/bin/sh" > "$made"; chmod +x "$made"'
    return program(folder / "c++", script)


@pytest.mark.parametrize("damage", [lambda kept: kept.write_bytes(b""), lambda kept: kept.chmod(0o644)])
def test_a_kept_program_that_was_damaged_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], object]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    runtime, host = SyclRuntime("2025.2.0", tmp_path), compiler_of_programs(tmp_path)
    kept = kernel_compiler(runtime, host, tmp_path, False)
    damage(kept)
    again = kernel_compiler(runtime, host, tmp_path, False)
    assert again == kept
    assert again.read_text() == "#!/bin/sh\n"
    assert os.access(again, os.X_OK)


@pytest.mark.parametrize("cache", ["/dev/null", "/" + "x" * 300])  # it cannot be made, it cannot be looked into
def test_a_cache_that_cannot_be_used_does_not_keep_the_extension_from_being_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    host = compiler_of_programs(tmp_path)
    assert kernel_compiler(SyclRuntime("2025.2.0", tmp_path), host, tmp_path, False).parent == tmp_path


SPECIALIZATION = "get_spec_constant_symbolic_ID_impl<id>"
GLOBAL = "__sycl_device_global_registration::"


@pytest.mark.parametrize(
    ("footer", "log", "said"),
    [
        (SPECIALIZATION, "InvalidInstruction", "does not describe specialization constants, device globals and"),
        (GLOBAL, "InvalidInstruction", "device globals and host pipes; 2025.3.3 works with them"),
        (SPECIALIZATION, "p.cpp:1:2: error: undeclared", None),
        ("", "InvalidInstruction", None),
    ],
)
def test_a_source_that_the_extension_cannot_describe_is_refused_before_its_device_refuses_it(
    tmp_path: Path, footer: str, log: str, said: str | None
) -> None:
    (tmp_path / "p.cpp").touch()
    (tmp_path / FOOTER).write_text(footer)
    compiler = KernelCompilerExtension(program(tmp_path / "compiler", f"echo '{log}'; exit 1"))
    tools = Tools(SyclRuntime("2025.2.0", tmp_path), compiler, Path("c++"), None, tmp_path)
    with pytest.raises(PassFailed if said is None else IcpxError, match=said or log):
        device_pass(Source(tmp_path / "p.cpp", tmp_path), CommandLine(), tools)


def test_a_device_library_that_the_runtime_lacks_is_named(tmp_path: Path) -> None:
    log = "/lib/libsycl-fallback-bfloat16.bc: error: Could not open input file: No such file or directory"
    compiler = KernelCompilerExtension(program(tmp_path / "compiler", f"echo '{log}'; exit 1"))
    with pytest.raises(IcpxError, match="the kernels need libsycl-fallback-bfloat16, a device library that"):
        compiler.link(tmp_path / "a.cpp", tmp_path, [], False)


def compiler_that_keeps(folder: Path, content: str, status: int) -> KernelCompilerExtension:
    """Returns a compiler with "log" as log, which writes this content into the cache of the SYCL runtime."""
    kept = "$SYCL_CACHE_DIR/ext_kernel_compiler/hash"
    script = f"mkdir -p {kept}; printf '{content}' > {kept}/ir.bin; echo log; exit {status}"
    return KernelCompilerExtension(program(folder / "compiler", script))


@pytest.mark.parametrize(("status", "log"), [(0, ["log\n"]), (1, [])])  # 1: a function of another source is missing
def test_the_code_of_a_source_is_what_the_runtime_keeps(tmp_path: Path, status: int, log: list[str]) -> None:
    compiler = compiler_that_keeps(tmp_path, "number and sizeBC\\300\\336code", status)
    assert compiler.compile(tmp_path / "a.cpp", tmp_path, [], False) == log
    assert (tmp_path / "device.bc").read_bytes() == b"BC\xc0\xdecode"


def test_a_runtime_that_keeps_no_code_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IcpxError, match="keeps no code that could be linked"):
        compiler_that_keeps(tmp_path, "", 0).compile(tmp_path / "a.cpp", tmp_path, [], False)
    with pytest.raises(PassFailed, match="log"):
        compiler_that_keeps(tmp_path, "", 1).compile(tmp_path / "a.cpp", tmp_path, [], False)


def test_without_clang_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotInstalled, match="apt install clang-16"):
        pieces.host_compiler()
    with pytest.raises(IcpxError, match="-fsycl-host-compiler=nothing: there is no such program"):
        pieces.host_compiler("nothing")


@pytest.mark.parametrize("name", [b"sp ace'.hpp", b'quo"te.hpp', b"caf\xe9>.hpp"])
def test_the_host_pass_includes_a_source_of_any_name(tmp_path: Path, name: bytes) -> None:
    file = tmp_path / os.fsdecode(name)
    file.write_text("found\n")
    made = subprocess.run(["gcc", "-E", "-P", "-"], input=include(file), stdout=subprocess.PIPE, check=True)
    assert made.stdout.endswith(b"found\n")


# Registration

RUNTIME = """
#include <stdio.h>
struct entry { const void *address; const char *name; size_t size; int flags, reserved; };
struct property { const char *name; const void *value; unsigned type; unsigned long size; };
struct set { const char *name; const struct property *begin, *end; };
struct image { unsigned short version; unsigned char kind, format; const char *words[5];
               const unsigned char *begin, *end; const struct entry *e0, *e1; const struct set *s0, *s1; };
struct library { unsigned short version, count; const struct image *images; const void *h0, *h1; };
void __sycl_register_lib(const struct library *library)
{
    for (const struct image *i = library->images; i < library->images + library->count; i++) {
        printf("image %d %d %s:", i->version, i->format, i->words[0]);
        for (const unsigned char *byte = i->begin; byte < i->end; byte++)
            printf(" %d", *byte);
        for (const struct entry *e = i->e0; e < i->e1; e++)
            printf(" [%s]", e->name);
        for (const struct set *s = i->s0; s < i->s1; s++)
            for (const struct property *p = s->begin; p < s->end; p++) {
                printf(" %s/%s=%d:", s->name, p->name, p->type);
                if (p->type == 1)
                    printf("%lu", p->size);
                else
                    for (unsigned long b = 0; b < p->size; b++)
                        printf("%d,", ((const unsigned char *)p->value)[b]);
            }
        printf("\\n");
    }
}
void __sycl_unregister_lib(const struct library *library) { printf("gone %d\\n", library->count); }
"""


def test_images_have_numbers_and_bytes_as_properties_and_those_without_symbols_are_left_out(tmp_path: Path) -> None:
    sets = {"SYCL/set": {"number": 3, "bytes": [1, 2]}}
    images = [{"file": f"{symbol}.spv", "symbols": [*symbol], "properties": sets} for symbol in ("k", "")]
    (tmp_path / "images.json").write_text(json.dumps(images))
    properties: dict[str, dict[str, Property]] = {"SYCL/set": {"number": 3, "bytes": b"\1\2"}}
    assert described_images(tmp_path) == [DeviceImage(tmp_path / "k.spv", ("k",), properties)]


def test_images_are_registered_before_the_programs_own_constructors(tmp_path: Path) -> None:
    code = tmp_path / "code.spv"
    code.write_bytes(bytes((1, 2, 255)))
    images = [
        DeviceImage(code, ("_ZTS1A", 'odd "name" ?\\'), {"SYCL/a": {"n": 5, "b": b"\x07\x09"}, "SYCL/empty": {}}),
        DeviceImage(code, ("other",), {}),
    ]
    (tmp_path / "registration.c").write_text(registration_of(images))
    own = '__attribute__((constructor(200))) static void own(void) { printf("own\\n"); }\nint main(void) {}\n'
    (tmp_path / "runtime.c").write_text(RUNTIME + own)
    program = tmp_path / "program"
    words = ["gcc", "-Wall", "-Wextra", "-Werror", "-fPIC", "-c", "registration.c", "-o", "registration.o"]
    subprocess.run(words, cwd=tmp_path, check=True)
    code.unlink()
    subprocess.run(["gcc", "-w", "runtime.c", "registration.o", "-o", str(program)], cwd=tmp_path, check=True)
    said = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    assert said == [
        'image 1 2 spir64: 1 2 255 [_ZTS1A] [odd "name" ?\\] SYCL/a/n=1:5 SYCL/a/b=2:7,9,',
        "image 1 2 spir64: 1 2 255 [other]",
        "own",
        "gone 2",
    ]


# What compilers say


def test_a_kernel_of_another_size_is_told_with_its_line_and_the_cure(tmp_path: Path) -> None:
    words = (
        "/w/include/sycl/handler.hpp:800:3: error: static assertion failed: Unexpected kernel lambda size. This\n"
        "/w/include/sycl/handler.hpp:900:3: note: in instantiation of function template 'f<A>' requested here\n"
        "/home/me/p.cpp:17:5: note: in instantiation of function template specialization 'g<A>' requested here\n"
    )
    said = str(explained(PassFailed(words), Source(tmp_path / "p.cpp", tmp_path)))
    assert said.startswith("/home/me/p.cpp:17: error: ")
    assert "static constexpr" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(("name", "written"), [("private", "private"), ("a b#c$d", r"a\ b\#c$$d")])
def test_dependencies_name_no_file_that_is_gone(tmp_path: Path, name: str, written: str) -> None:
    folder, place = tmp_path / name, tmp_path / written
    file = tmp_path / "p.d"
    file.write_text(
        f"p.o: {place}/host.cpp \\\n  {place}/integration.h /usr/include/a.h \\\n  p.cpp\n\n{place}/host.cpp:\n"
    )
    forget_temporary(file, folder)
    text = file.read_text()
    assert "host.cpp" not in text
    assert "integration.h" not in text
    made = finished("make", "-n", "-f", file, cwd=tmp_path)
    assert "p.cpp" in made.stderr, made
    assert "/usr/include/a.h" in text
