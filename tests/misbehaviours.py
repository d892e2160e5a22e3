"""Mistakes of kernels, and the required end of their hosts if the kernels run in a process of their own.

`python tests/misbehaviours.py` runs all of it in that process and on the engine in the host's, and prints the table of
docs/isolation.md.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from c_hosts import build, plain_environment

HOST = Path(__file__).resolve().parent / "misbehaving_host.py"
SECONDS = 2
FAST = 60
"""Seconds after which main() gives a host up: in the host's own process some kernels never end."""
WORDS_OF_TIMEOUT = rf"kernel 'bad'.* ran longer than {SECONDS} s \(FPGART_KERNEL_TIMEOUT\)"


@dataclass(frozen=True)
class Misbehaviour:
    """A kernel `bad(global int *data, ulong host)`, in OpenCL C; `host` is an address in the host's own memory.

    `words`: what the host has to be told, a regular expression; "" where nothing is wrong for it. `prints`: bytes that
    the host's output has to have at least.
    """

    name: str
    body: str
    words: str
    before: str = ""
    arguments: str = "global int *data, ulong host"
    source: str = ""
    prints: int = 0

    @property
    def text(self) -> str:
        return self.source or f"{self.before}\nkernel void bad({self.arguments}) {{ {self.body} }}\n"


GETTID, TKILL, EXIT = 186, 200, 231
"""System calls of Linux on x86. A signal for the thread itself comes before it goes on, one for its process later."""


def system_call(number: int, first: object, second: int) -> str:
    """A kernel's own way into the system: no compiler for kernels links the C library."""
    assembler = '__asm__ volatile("syscall" : "=a"({}) : "a"({}L), "D"({}), "S"({}L) : "rcx", "r11", "memory");'
    return (
        "if (data[1] == 1) { long tid, result; "
        + assembler.format("tid", GETTID, "0L", 0)
        + assembler.format("result", number, first if first == "tid" else f"{first}L", second)
        + " }"
    )


def segv(place: str) -> str:
    return rf"kernel 'bad'.* accessed 0x[0-9a-f]+ \(SIG(SEGV|BUS)\), {place}"


MISBEHAVIOURS = (
    Misbehaviour("a write through NULL", "*(global volatile int *)8 = 1;", segv("a NULL pointer")),
    Misbehaviour(
        "a write far past a buffer",
        "data[(1L << 34) + get_global_id(0)] = 1;",
        segv(r"68719476736 bytes past the start of what argument 0 \('data'\) points to"),
    ),
    Misbehaviour(
        "a read far before a buffer",
        "data[0] = data[-(1L << 33)];",
        segv(r"34359738368 bytes before the start of what argument 0 \('data'\) points to"),
    ),
    Misbehaviour(
        "a read of the host's own memory",
        "data[0] = *(global volatile int *)host;",
        segv("which is outside the memory that kernels can access"),
    ),
    Misbehaviour(
        "a write to the host's own memory",
        "*(global volatile int *)host = data[0];",
        segv("which is outside the memory that kernels can access"),
    ),
    Misbehaviour(
        "a non-canonical address",
        "*(global volatile int *)(0x8badf00d00000000UL + host) = 1;",
        r"kernel 'bad'.* accessed an invalid or misaligned address",
    ),
    Misbehaviour(
        "a private array that is larger than any stack",
        "volatile int many[100000000]; for (long i = 99999999; i >= 0; i -= 64) many[i] = i; data[0] = many[data[1]];",
        r"kernel 'bad'.* (overflowed its stack|accessed 0x)",
    ),
    Misbehaviour(
        "a write far past a private array",
        "volatile int few[4]; for (long i = 0; i < 1L << 40; i += 1 << 20) few[i] = i; data[0] = few[1];",
        r"kernel 'bad'.* (accessed 0x|overflowed its stack|crashed the board process)",
    ),
    Misbehaviour(
        "a write far past local memory",
        "local int few[4]; few[data[7] * (1L << 36)] = 1; data[0] = few[0];",
        r"kernel 'bad'.* accessed ",
    ),
    Misbehaviour(
        "a misaligned vector",
        "*(global volatile int16 *)((global char *)data + 4) = (int16)(data[0]);",
        r"(kernel 'bad'.* accessed an invalid or misaligned address|)",
    ),
    Misbehaviour("a division by zero", "data[0] = 7 / (data[1] - 1); data[2] = 7 % (data[1] - 1);", ""),
    Misbehaviour("the least number divided by -1", "data[0] = (data[1] + 0x7fffffff) / (data[1] - 2);", ""),
    Misbehaviour(
        "a trap", "if (data[1] == 1) __builtin_trap();", r"kernel 'bad'.* crashed the board process with SIG(ILL|TRAP)"
    ),
    Misbehaviour(
        "abort()",
        system_call(TKILL, "tid", 6),
        r"kernel 'bad'.* crashed the board process with SIGABRT",
    ),
    Misbehaviour(
        "exit()",
        system_call(EXIT, 3, 0),
        r"kernel 'bad'.* lost its board process, which exited with status 3",
    ),
    Misbehaviour(
        "its process is killed, as when memory runs out",
        system_call(TKILL, "tid", 9),
        r"kernel 'bad'.* lost its board process, which was killed by SIGKILL, as the system does when memory",
    ),
    Misbehaviour("an endless loop", "volatile global int *flag = data; while (*flag == 0) ;", WORDS_OF_TIMEOUT),
    Misbehaviour(
        "an endless wait for another work-item",
        "while (atomic_add(data, 0) == 0) ; ",
        WORDS_OF_TIMEOUT,
    ),
    Misbehaviour(
        "a channel that nobody writes",
        "data[0] = read_channel_intel(nobody);",
        r"(deadlock: kernel 'bad' waits to read from 'nobody'|ran longer than)",
        before="#pragma OPENCL EXTENSION cl_intel_channels : enable\nchannel int nobody;",
    ),
    Misbehaviour(
        "more output than anybody reads",
        'for (int i = 0; i < 20000; i++) printf("%d: nothing that anybody will ever read\\n", i);',
        "",
        prints=100_000,
    ),
    Misbehaviour(
        "a source that crashes the compiler",
        "",
        r"the compiler of engine 'pocl' .* was killed by SIGSEGV, while it built kernel 'bad'",
        source="kernel void bad(global int *data, ulong host) { data[0] = 1" + " + data[1]" * 100000 + "; }",
    ),
)


@dataclass(frozen=True)
class Outcome:
    """The end of a host: its exit status, and its output."""

    exit: int
    output: str
    log: str

    def line(self, name: str) -> str:
        found = re.search(rf"^{name} (.*)$", self.output, re.MULTILINE)
        return found[1] if found else ""

    @property
    def failures(self) -> list[str]:
        """Returns the guarantees to hosts that did not hold."""
        wanted = {"exit": (self.exit, 0), "first": (self.line("first"), "0 1"), "next": (self.line("next"), "0 1")}
        wrong = [f"{name}: {found}, not {right}" for name, (found, right) in wanted.items() if found != right]
        return wrong + (["wrong " + self.line("wrong")] if self.line("wrong") else [])


HOSTS = ("c", "python", "two threads")


def run(kernel: Misbehaviour, host: str, folder: Path, *, isolated: bool, patience: float | None = None) -> Outcome:
    """Runs a host with a kernel, in `folder`, where a C host is built; for at most `patience` seconds."""
    source = folder / "bad.cl"
    source.write_text(kernel.text)
    program = folder / "misbehaving"
    if host != "python" and not program.exists():
        build("misbehaving", folder, "-lpthread")
    more = {
        "FPGART_ISOLATE": str(int(isolated)),
        "FPGART_KERNEL_TIMEOUT": str(SECONDS if "ran longer" in kernel.words else 0),
        "FPGART_DEADLOCK_SECONDS": "0.5",
        "FPGART_LOG": "stderr",
    }
    command = [str(program), str(source), "two" if host == "two threads" else "alone"]
    if host == "python":
        command = [str(Path(sys.executable).with_name("fpgart")), "run", "--", sys.executable, str(HOST), str(source)]
    try:
        done = subprocess.run(command, env=plain_environment() | more, capture_output=True, timeout=patience)
    except subprocess.TimeoutExpired as late:
        return Outcome(-1, (late.stdout or b"").decode(errors="replace"), "it did not end")
    return Outcome(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def told(outcome: Outcome) -> str:
    """In a few words, for the table."""
    if outcome.log == "it did not end":
        return "hangs"
    if outcome.exit < 0:
        return f"host dies ({-outcome.exit})"
    if outcome.exit > 0:
        return f"host ends with status {outcome.exit}"
    return f"status {outcome.line('status')}, next launch {'right' if not outcome.failures else 'wrong'}"


def main() -> None:
    print("| what the kernel does | engine in the host's process | board process | words |\n|---|---|---|---|")
    for kernel in MISBEHAVIOURS:
        with tempfile.TemporaryDirectory() as folder:
            bare = run(kernel, "c", Path(folder), isolated=False, patience=FAST)
            apart = run(kernel, "c", Path(folder), isolated=True, patience=FAST)
        words = (re.findall(r"CL_\w+: (.*)", apart.log) or [""])[0].partition("; memory that it reaches")[0]
        print(f"| {kernel.name} | {told(bare)} | {told(apart)} | {words[:150]} |", flush=True)


if __name__ == "__main__":
    main()
