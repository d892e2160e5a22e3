"""The mutants of `make mutants` (scripts/mutants): what is changed, and what is left alone."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from processes import ROOT, finished, output

pytest.importorskip("cosmic_ray", reason="comes with fpgart[mutants]")
sys.path[:0] = [str(ROOT / "scripts" / "mutants"), str(ROOT / "scripts")]

import covering  # type: ignore[import-not-found]  # noqa: E402
import marking  # type: ignore[import-not-found]  # noqa: E402
import mutate  # noqa: E402
import mutate_c  # noqa: E402
import sandbox  # noqa: E402
import swapping  # noqa: E402
import tree_copies  # type: ignore[import-not-found]  # noqa: E402

SOURCE = '''
LIMIT: Final = 3

class Queue:
    def put(self, item: int | None, last: bool = False) -> int | None:
        """Words."""
        if self.full and not last:
            raise Full(f"{item + 1}")
        self.items.append(item)
        return None
'''


DECLARED = "def put(self, item: int | None, last: bool = False) -> int | None:"


def changes(source: str) -> set[tuple[str, str, str]]:
    return {(made.function, made.before, made.after) for made in mutate.mutants_of("m", source)}


def test_statements_conditions_operators_and_numbers_are_mutated_each_by_itself() -> None:
    condition = "if self.full and not last:"
    raised = 'raise Full(f"{item + 1}")'
    assert changes(SOURCE) == {
        ("(module)", "LIMIT: Final = 3", "LIMIT: Final = 4"),
        ("(module)", "LIMIT: Final = 3", "LIMIT: Final = 2"),
        ("Queue.put", condition, "if True:"),
        ("Queue.put", condition, "if False:"),
        ("Queue.put", condition, "if self.full or not last:"),
        ("Queue.put", condition, "if self.full and last:"),
        ("Queue.put", raised, "pass"),
        ("Queue.put", "self.items.append(item)", "pass"),
        ("Queue.put", DECLARED, DECLARED.replace("False", "True")),
    }


def test_each_mutant_differs_from_the_source_in_the_lines_that_it_names() -> None:
    lines = SOURCE.splitlines()
    for made in mutate.mutants_of("m", SOURCE):
        mutated = made.code.splitlines()
        assert mutated[: made.first - 1] == lines[: made.first - 1]
        assert mutated[len(mutated) - len(lines) + made.last :] == lines[made.last :]


def test_what_a_protocol_declares_is_left_alone() -> None:
    declared = "    def put(self, last: bool = False) -> None:\n        self.last = last\n"
    assert changes(f"class Queue(Protocol):\n{declared}") == set()
    assert changes(f"class Queue(Base[int], Protocol[T]):\n{declared}") == set()
    assert len(changes(f"class Queue(Base):\n{declared}")) == 2


def test_equal_mutants_of_a_function_are_told_apart_by_number() -> None:
    made = mutate.mutants_of("m", "def f():\n    g()\n    g()\n")
    assert [mutant.number for mutant in made if mutant.before == "g()"] == [1, 2]


def test_mutants_of_a_function_are_the_same_without_those_of_others() -> None:
    source = (ROOT / "fpgart/board/in_flight.py").read_text()
    made = mutate.mutants_of("board/in_flight", source)
    for function in {mutant.function for mutant in made}:
        alone = [mutant for mutant in made if mutant.function == function]
        assert mutate.mutants_of("board/in_flight", source, [function]) == alone


C_SOURCE = """
/* Adds; what is not here is 0. */
static int add(struct list *list, int item,
               int last)
{
    if (list == NULL &&
        item > 0) {
        count--;
        return 0;
    }
    switch (item) {
    case 0:
        for (int i = 0; i < 2; i++)
            note(list,
                 item);
    default:
        break;
    }
    struct item made = {
        .is_last = true,
    };
    do {
        list = list->next;
    } while (list != NULL);
    return 1;
}

int size(void)
{
    return sizes;
}
"""


def test_statements_conditions_operators_and_constants_of_c_are_mutated_each_by_itself() -> None:
    condition = "if (list == NULL && item > 0) {"
    loop = "for (int i = 0; i < 2; i++)"
    made = mutate_c.mutants_of("m.c", C_SOURCE)
    assert [(mutant.before, mutant.after) for mutant in made] == [
        (condition, "if (!(list == NULL && item > 0)) {"),
        (condition, condition.replace("&&", "||")),
        (condition, condition.replace("==", "!=")),
        (condition, condition.replace(">", ">=")),
        ("count--;", ";"),
        ("count--;", "count++;"),
        (loop, loop.replace("++", "--")),
        (loop, loop.replace("<", "<=")),
        ("note(list, item);", ";"),
        (".is_last = true, };", ".is_last = false, };"),
        ("list = list->next;", ";"),
        ("} while (list != NULL);", "} while (list == NULL);"),
    ]
    assert {mutant.function for mutant in made} == {"add"}


def test_each_block_of_c_marks_a_byte_and_lines_stay_where_they_are() -> None:
    """The cases of a switch and the body of a loop without braces belong to the block around them."""
    marked, blocks = marking.marked_c(C_SOURCE, 7)
    added = dict(zip(C_SOURCE.split("\n"), marked.split("\n"), strict=True))
    marks = {was.strip(): now.removeprefix(was) for was, now in added.items() if was and was != now}
    assert marks == {
        "{": f" {marking.MARKED}[10] = 1;",
        "item > 0) {": f" {marking.MARKED}[8] = 1;",
        "do {": f" {marking.MARKED}[9] = 1;",
    }
    inside: dict[int, list[str]] = {}
    for at, line in enumerate(C_SOURCE.split("\n"), 1):
        inside.setdefault(blocks.get(at, 0), []).append(line.strip())
    assert inside[8] == ["count--;", "return 0;"]
    assert inside[9] == ["list = list->next;"]
    assert inside[10] == ["return sizes;"]
    assert {"if (list == NULL &&", "item > 0) {", "note(list,", "break;", "} while (list != NULL);"} <= set(inside[7])


def test_each_block_of_a_module_marks_a_byte_when_it_is_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    source = '"""Words."""\nfrom __future__ import annotations\ndef find(of, key):\n    """More."""\n'
    source += "    try:\n        if key:\n            return of[key]\n        else:\n            return 0\n"
    source += "    except KeyError:\n        return None\nclass Item:\n    size = find({}, 0)\n"
    marked, blocks = marking.marked_python(source, 3)
    marks = bytearray(16)
    monkeypatch.setitem(sys.modules, f"fpgart.{marking.MARKED}", SimpleNamespace(**{marking.MARKED: marks}))
    module: dict[str, Any] = {}
    exec(marked, module)
    entered: list[set[int]] = []
    for of, key in (({1: 2}, 1), ({}, 1)):
        marks[:] = bytes(16)
        module["find"](of, key)
        entered.append({line for line, block in blocks.items() if marks[block]})
    assert entered == [set(range(3, 12)) - {9, 11}, set(range(3, 12)) - {9}]
    assert module["find"].__doc__ == "More."


def test_each_explanation_has_a_reason_and_fits_a_mutant() -> None:
    entries = json.loads((ROOT / "tests" / "mutants.json").read_text())
    functions: dict[str, set[str]] = {}
    for entry in entries:
        functions.setdefault(entry["module"], set()).add(entry["function"])
    known = set()
    for module, names in functions.items():
        if module.endswith(".c"):
            made = mutate_c.mutants_of(module, (ROOT / module).read_text())
        else:
            made = mutate.mutants_of(module, (ROOT / "fpgart" / f"{module}.py").read_text(), names)
        known |= {mutant.identity for mutant in made}
    for entry in entries:
        assert entry["reason"]
        identity = (entry["module"], entry["function"], entry["before"], entry["after"], entry.get("number", 1))
        assert identity in known, f"there is no such mutant: {identity}"


@pytest.mark.parametrize("at_once", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 4])
def test_all_work_is_done_so_many_at_once(tmp_path: Path, count: int, at_once: int) -> None:
    running = 0

    def work() -> Iterator[tuple[int, sandbox.Child]]:
        nonlocal running
        for number in range(count):
            running += 1
            assert running <= at_once
            yield number, sandbox.fork(partial(int.__eq__, number % 2, 0), tmp_path / f"{number}")

    found = {}
    for number, status in sandbox.each(work(), at_once):
        running -= 1
        found[number] = status
    assert found == {number: number % 2 for number in range(count)}


SEVERAL = "A = 1\nB = 2\ndef one():\n    pass\ndef two():\n    pass\ndef three():\n    pass\n"


def reach(ran: str, **entered: int) -> covering.Covering:
    """Returns what tests reach in a file with `SEVERAL`: each a block, by the name of its file."""
    for name in entered:
        Path(f"test_{name}.py").touch()
    Path("text").write_text(SEVERAL)
    reached = covering.Covering(Path())
    tests = {f"test_{name}.py::test": block for name, block in entered.items()}
    blocks = {test: f"{1 << 10 + block:x}" for test, block in tests.items()}
    reached.add(covering.Measured("", {ran: ("text", 10)}, dict.fromkeys(tests, 1.0), blocks, [*tests][:1]))
    return reached


@pytest.mark.parametrize(
    "line", ["from fpgart.board.mmd import Traffic", "from fpgart.board import mmd as doors, timing"]
)
def test_what_an_import_runs_is_tested_by_the_files_that_import_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    reached = reach("fpgart/board/mmd.py", one=0, other=-1, second=1, third=-1)
    Path("test_third.py").write_text(f"import os\n{line}\n")
    Path("test_other.py").write_text("from fpgart.board.mmdx import Traffic\nfrom fpgart.board import mmdx\n")
    Path("fpgart/board").mkdir(parents=True)
    Path("fpgart/board/mmd.py").write_text(SEVERAL)
    assert [*reached.tests_of("fpgart/board/mmd.py", 5, 6, importing=False)] == ["test_second.py::test"]
    found = reached.tests_of("fpgart/board/mmd.py", 1, 1, importing=True)
    assert [*found] == [f"test_{name}.py::test" for name in ("one", "second", "third")]
    assert reached.inside == {"test_one.py::test"}


def test_a_sample_is_as_large_as_was_asked_in_the_order_of_the_lines_and_the_same_for_the_same_seed() -> None:
    everything = mutate.mutants_of("m", SOURCE)
    assert mutate.sample(everything, len(everything) + 1, 1) == everything
    some = mutate.sample(everything, 4, 1)
    assert len(some) == 4
    assert some == [mutant for mutant in everything if mutant in some]
    assert mutate.sample(everything, 4, 1) == some
    assert any(mutate.sample(everything, 4, seed) != some for seed in range(2, 6))


@pytest.mark.parametrize(("idle", "status"), [(True, -signal.SIGALRM), (False, 0)])
def test_who_waits_too_long_is_ended_and_who_only_has_no_processor_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, idle: bool, status: int
) -> None:
    """Without a processor it goes on however often its time is up by the clock."""
    looks, looked = 0, threading.Event()

    def waited() -> float:
        nonlocal looks
        looks += 1
        if looks == 4:
            looked.set()
        return 0.0 if idle else time.monotonic()

    monkeypatch.setattr(sandbox, "CLOCK_S", 0.05)
    monkeypatch.setattr(sandbox, "waited_for_processor", waited)

    mutex = ctypes.create_string_buffer(64)

    def work() -> bool:
        sandbox.limit(0)
        if idle:
            for _ in range(2):  # no handler of Python runs while the thread waits in C
                ctypes.CDLL(None).pthread_mutex_lock(mutex)
        return looked.wait()

    ((_, found),) = sandbox.each(iter([(None, sandbox.fork(work, tmp_path / "output"))]), 1)
    assert found == status


def test_the_time_without_a_processor_is_known() -> None:
    before = sandbox.waited_for_processor()
    assert 0 <= before <= sandbox.waited_for_processor()


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Measures a file of tests that runs one of the driver's; returns whether its tests were run."""
    monkeypatch.chdir(tmp_path)
    for name in ("tests/test_one.py", "tests/shared.py", "fpgart/ran.py"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(SEVERAL)
    runs: list[bool] = []

    def run(file: str, kept: Path) -> bool:
        covering.keep(kept, file, {"test": 1.0}, {"test": {0}}, [], {"fpgart/ran.py": 0})
        return True

    monkeypatch.setattr(covering.sandbox, "fork", lambda work, output: runs.append(work()))
    monkeypatch.setattr(covering.sandbox, "each", lambda children, at_once: [(name, 0) for name, _ in children])

    def measure(wanted: str = "fpgart/ran.py") -> bool:
        before = len(runs)
        covering.measure(["tests/test_one.py"], tmp_path / "kept", 1, [wanted], lambda: None, run)
        return len(runs) > before

    return measure


def test_what_a_test_file_entered_is_measured_again_when_the_tests_have_changed(measured: Callable[..., bool]) -> None:
    assert measured()
    assert not measured()
    for file, again in (("tests/test_one.py", True), ("tests/shared.py", True), ("fpgart/ran.py", False)):
        Path(file).write_text("2")
        assert (file, measured()) == (file, again)
        assert not measured()
    Path("fpgart/ran.py").unlink()
    assert not measured()


def test_tests_are_measured_again_for_a_file_that_was_not_there(measured: Callable[..., bool]) -> None:
    measured()
    assert measured("fpgart/new.py")


def test_tests_of_a_line_are_found_wherever_it_has_gone_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new line has the tests of those that it replaces, and of the lines beside it; or else of the whole file."""
    monkeypatch.chdir(tmp_path)
    reached = reach("ran.py", one=0, three=2)
    Path("ran.py").write_text(SEVERAL.replace("A = 1", "A = 2").replace("two", "2") + "last = 1\n")
    one, three = "test_one.py::test", "test_three.py::test"
    found = [[*reached.tests_of("ran.py", line, line, importing=False)] for line in range(1, 10)]
    assert found == [[one, three], [], [one], [one], [one], [], [three], [three], [three]]


def test_modules_and_files_of_tests_are_chosen_by_their_names_and_folders() -> None:
    every = ["kernels/loops/scan", "kernels/signs", "kernels_of", "watch/page"]
    assert covering.chosen(every, []) == every
    assert covering.chosen(every, ["watch/page", "kernels/"]) == ["kernels/loops/scan", "kernels/signs", "watch/page"]
    with pytest.raises(SystemExit, match=r"there is no kernel$"):
        covering.chosen(every, ["watch", "kernel"])


SWAPPED = """
from functools import cache
LIMIT = 3
class Queue:
    items = [1]
    def put(self, item, last=False):
        if item:
            return item + LIMIT
    @property
    def size(self): return len(self.items)
    @cache
    def both(self): return [sum(one for one in self.items), lambda: 2]
    def parent(self): return super().__init__
def count(): return 1
"""


@pytest.mark.parametrize(
    ("was", "becomes", "function"),
    [
        ("item + LIMIT", "item - LIMIT", "put"),
        ("if item:\n            return item + LIMIT", "pass", "put"),
        ("return len(self.items)", "pass", "size"),
        ("sum(one for", "sum(-one for", "both"),
        ("lambda: 2", "lambda: 3", "both"),
        ("return 1", "return True", "count"),
        ("return 1", "return 1.0", "count"),
        ("LIMIT = 3", "LIMIT = 4", None),
        ("last=False", "last=True", None),
        ("items = [1]", "items = [2]", None),
        ("@cache", "", None),
        ("return super().__init__", "pass", None),
        ("def count(): return 1", "def count(): return 1\nLIMIT = 4", None),
        ("return item + LIMIT", "return item - LIMIT\n    def size(self): return 1", None),
    ],
)
def test_what_differs_in_one_function_can_be_exchanged_there(was: str, becomes: str, function: str | None) -> None:
    found = swapping.swap_of(Path("m.py"), SWAPPED, SWAPPED.replace(was, becomes))
    assert (found and found.after.co_name) == function


def test_functions_are_found_by_their_code_whatever_wraps_them() -> None:
    module: dict[str, Any] = {}
    exec(compile(SWAPPED, Path("m.py").resolve(), "exec", dont_inherit=True), module)
    queue = module["Queue"]()
    functions = swapping.Functions()
    for was, becomes in [("len(self", "-len(self"), ("sum(one for", "sum(-one for"), ("return 1", "return 7")]:
        swap = swapping.swap_of(Path("m.py"), SWAPPED, SWAPPED.replace(was, becomes))
        assert swap is not None
        (function,) = functions.of(swap.before)
        function.__code__ = swap.after
    assert (queue.size, queue.both()[0], module["count"]()) == (-1, -1, 7)
    other = swapping.swap_of(Path("m.py"), SWAPPED, SWAPPED.replace("return 1", "return 8"))
    assert other is not None
    assert functions.of(other.before) == []


TRIED = """
import pytest, m
@pytest.fixture(scope="module")
def two():
    yield 2
def test_long(two): assert m.double(3) == two * 3
def test_short(two): assert m.double(0) == 0
def test_of_the_name(): assert m.NAME == "0"
def test_unsound(): assert False
"""
DRIVER = """
def double(x):
    while x < 0: pass
    return 2 * x
def named(): return str(double(0))
NAME = named()
"""


def test_changes_are_tried_on_tests_that_are_collected_once(tmp_path: Path) -> None:
    """A status of 0 where the change has to be imported: no test noticed, the function is gone, or the test is bad."""
    files = {"m.py": DRIVER, "test_one.py": TRIED, "conftest.py": "import gc, m\ngc.freeze()\n"}
    files["pytest.ini"] = "[pytest]\ntimeout = 300\nfilterwarnings = error\n"
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    program = """
import sys; sys.path[:0] = [sys.argv[1], "."]
from pathlib import Path
import sandbox, swapping
SOURCE = Path("m.py").read_text()
def trial(was, becomes, *tests):
    swap = swapping.swap_of(Path("m.py"), SOURCE, SOURCE.replace(was, becomes))
    return sandbox.Trial(swap, {f"test_one.py::test_{name}": 0.01 for name in tests})
trials = [
    trial("2 * x", "3 * x", "short", "long"),
    trial("2 * x", "3 * x", "short"),
    trial("2 * x", "3 * x + 1", "short", "long"),
    trial("2 * x", "3 * x", "short", "unsound"),
    trial("str(double(0))", "'1'", "of_the_name"),
    sandbox.Trial(swapping.swap_of(Path("m.py"), "def gone(): pass", "def gone(): return 1"), {"test_one.py::x": 1}),
    trial("x < 0", "True", "short", "long"),
    trial("2 * x", "__import__('threading').Event().wait()", "short"),
]
sandbox.PROCESSOR_S, sandbox.CLOCK_S = 0, 1
print(sorted(sandbox.try_swaps(trials, Path("."), 2)))
"""
    command = [sys.executable, "-c", program, str(ROOT / "scripts" / "mutants")]
    printed = output(finished(*command, cwd=tmp_path, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}))
    assert printed == f"{[(0, 1), (1, 0), (2, 1), (3, 0), (4, 0), (5, 0), (6, -24), (7, -14)]}\n"


def test_tests_that_cannot_be_collected_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("test_one.py").write_text("import nothing_that_is_there\n")
    swap = swapping.swap_of(Path("m.py"), SWAPPED, SWAPPED.replace("return 1", "return 2"))
    assert swap is not None
    with pytest.raises(SystemExit, match="cannot be run together"):
        list(sandbox.try_swaps([sandbox.Trial(swap, {"test_one.py::test": 1.0})], tmp_path, 1))


HOST = """
import pytest, subprocess, sys
def run(words): assert not subprocess.run([sys.executable, "-c", f"from fpgart.api.m import *; {words}"]).returncode
def test_double(): run("assert double(3) == 6")
@pytest.fixture(scope="session")
def halved(): run("assert half(6) == 3")
def test_half(halved): pass
def test_again(halved): pass
def test_inside():
    from fpgart.api.m import half
    assert half(6) == 3
def test_unsound(): assert False
"""


def test_what_runs_in_processes_of_the_tests_is_changed_in_copies_of_the_tree(tmp_path: Path) -> None:
    """Tests of a block are those that pass and whose processes, or those of their fixtures, enter it.

    Which tests start no such process is known. What the compiler refuses is no mutant.
    """
    module = "def double(x):\n    return 2 * x\ndef half(x):\n    return x // 2\n"
    files = {
        "fpgart/__init__.py": "", "fpgart/api/__init__.py": "", "fpgart/api/m.py": module, "core/a.c": "int a;\n",
        "tests/conftest.py": "", "tests/test_m.py": HOST, "pytest.ini": "[pytest]\ntimeout = 300\n",
        ".gitignore": "build/\n", "build_icd.py": "assert 'wrong' not in open('core/a.c').read()\n",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    program = """
import sys; sys.path[:0] = sys.argv[1:]
from pathlib import Path
import copied_tree, covering, sandbox, tree_copies
copied_tree.ROOT = Path.cwd()
module, c = Path("fpgart/api/m.py"), Path("core/a.c")
marked = tree_copies.Copies("marked", 2, [module, c])
Path("build/mutants").mkdir(parents=True)
files = [str(module), str(c)]
reached = covering.measure(["tests/test_m.py"], Path("build/kept"), 2, files, marked.mark, marked.measure_file)
doubling, halving = (reached.tests_of(str(module), line, line, importing=False) for line in (2, 4))
print([*doubling], sorted(halving), reached.inside)
copies, text = tree_copies.Copies("copies", 1), module.read_text()
copies.make()
with copies.one() as (tree, _):
    copy = tree.folder / module
print(copies.passes(module, text, doubling), copies.passes(module, text.replace("2 *", "3 *"), doubling))
print(copies.passes(module, text.replace("2 *", "3 *"), halving), copy.read_text() == text)
try:
    copies.passes(c, "wrong", doubling)
except sandbox.Refused:
    print((tree.folder / c).read_text())
"""
    for command in (["git", "init", "-q"], ["git", "add", "-A"]):
        assert finished(*command, cwd=tmp_path).returncode == 0
    folders = [ROOT / "scripts" / "mutants", ROOT / "scripts"]
    printed = output(
        finished(sys.executable, "-u", "-c", program, *folders, cwd=tmp_path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    )
    again, double, half, inside = (f"tests/test_m.py::test_{name}" for name in ("again", "double", "half", "inside"))
    words = [f"{[double]} {[again, half, inside]} { ({inside}) }", "True False", "True True", "int a;"]
    assert [line for line in printed.splitlines() if line in words] == words


def test_the_files_of_a_room_are_run_first_then_those_with_the_most_tests_for_their_time() -> None:
    files = {
        "tests/core/test_long.py::a": 9.0, "tests/watch/test_one.py::a": 1.0, "conformance/test_many.py::a": 0.8,
        "conformance/test_many.py::b": 0.8, "tests/api/test_short.py::a": 0.5,
    }  # fmt: skip
    for path, first in (("core/wait.c", "core/test_long"), ("fpgart/api/usm.py", "api/test_short")):
        ranked = sorted(sandbox.by_file(files), key=partial(tree_copies._rank, Path(path)))
        names = [sandbox.file_of(tests).removeprefix("tests/").removesuffix(".py") for tests in ranked]
        others = ["conformance/test_many", "api/test_short", "watch/test_one", "core/test_long"]
        assert names == [first, *(name for name in others if name != first)]


def test_two_processes_work_in_two_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_copies, "FOLDER", tmp_path)
    (tmp_path / "taken").mkdir()
    copies = tree_copies.Copies("taken", 2)
    with copies.one() as (first, _), copies.one() as (second, _):
        assert first != second
        with pytest.raises(RuntimeError, match="all copies are in use"), copies.one():
            pass
    with copies.one() as (third, _):
        assert third == first
