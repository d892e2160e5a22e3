# SPDX-License-Identifier: Apache-2.0
"""The process in which the engine compiles and links, so that its compiler can neither end nor stop the host.

It is a board process (engine/isolated/) that has the same engine and no board. It starts with the first step, and ends
with the host. If it cannot start or serve, the engine compiles in the host's process.
"""

from __future__ import annotations

import os
import re
import select
import stat
import threading
from contextlib import suppress
from signal import SIGKILL
from time import monotonic
from typing import TYPE_CHECKING

from fpgart.base import config, log
from fpgart.base.errors import BuildProgramFailure, CompileProgramFailure, LinkProgramFailure, error_of
from fpgart.base.named_tuples import NamedTuple
from fpgart.base.patterns import pattern
from fpgart.engine.build_step import BUILD, COMPILE, LINK, BuildStep, StepDone
from fpgart.engine.interface import BuildFailed
from fpgart.version import __version__

if TYPE_CHECKING:
    from fpgart.engine.compiling.known_steps import KnownSteps
    from fpgart.engine.isolated.loss import Loss

FAILURE = {BUILD: BuildProgramFailure.status, COMPILE: CompileProgramFailure.status, LINK: LinkProgramFailure.status}
VERB = {BUILD: "built", COMPILE: "compiled", LINK: "linked"}
NOT_FOR_COMPILERS = (config.LOG.name, config.TRACE.name, config.CHECK.name)
"""Options of the host that a compiler process does not obey."""
START_S = 60.0
"""Seconds within which the process must have an engine. A busy machine takes long to load it."""
END_S = 2.0
"""Seconds within which the process must end once it has closed its socket."""
MOST_OUTPUT = 1 << 16
"""The most bytes of a compiler's output that the log shows."""
MOST_NAMES = 8
ATTRIBUTES = pattern(rb"__attribute(?:__)?\s*\(\([^;{}]*?\)\)+")
KERNEL = pattern(rb"\b(?:__)?kernel\s+void\s+(\w+)")
NO_MEMORY = pattern(rb"out of memory|bad_alloc|cannot allocate memory", re.IGNORECASE)


class Rights(NamedTuple):
    """The identity, file system and permissions of a process. Those of a compiler process must be those of its host."""

    process: int
    users: tuple[int, int, int]
    groups: tuple[int, int, int]
    root: tuple[int, int]

    @classmethod
    def now(cls) -> Rights:
        """Returns those of this process; raises OSError."""
        root = os.stat("/")
        return cls(os.getpid(), os.getresuid(), os.getresgid(), (root.st_dev, root.st_ino))


class Ended(Exception):
    """The compiler process has ended, or does not answer."""


class CompilerEnded(BuildFailed):
    """The compiler or linker ended its process, or exceeded the time limit."""


def is_own_doing(loss: Loss) -> bool:
    """True if the process may have caused its end itself.

    Compilers send no SIGKILL, neither to themselves nor to their keeper.
    """
    return loss.status is not None and not (os.WIFSIGNALED(loss.status) and os.WTERMSIG(loss.status) == SIGKILL)


class CompilerProcess:
    """Does the steps of one engine, one after another, in a process that is restarted if it has ended."""

    def __init__(self, name: str, version: str, path: str, known: KnownSteps) -> None:
        """Takes the engine's name, its platform's version, the file of its driver, and its known steps."""
        self._name = name
        self._version = version
        self._path = path
        self._known = known
        self._doing = threading.Lock()
        self._running: Running | None = None
        self._refused = ""

    def find(self, step: BuildStep) -> StepDone | None:
        """Returns the kept result of a step that any host had done by such a process; None if there is none."""
        return self._known.find(step)

    def do(self, step: BuildStep) -> StepDone | None:
        """Returns the result of the step; None if this process has to do it. Raises BuildFailed, CLError."""
        with self._doing:
            done = self._do(step, is_repeated=False)
        if done is not None:
            self._known.keep(step, done)
        return done

    def _do(self, step: BuildStep, *, is_repeated: bool) -> StepDone | None:
        running = self._started()
        if running is None:
            return None
        from fpgart.engine.isolated import messages as m  # its import takes time
        from fpgart.engine.isolated.codec import ProtocolError

        try:
            answer = running.ask(m.DoStep(step, _folder()), config.COMPILE_TIMEOUT.value)
        except TimeoutError:
            self._discard(running)
            seconds, name = config.COMPILE_TIMEOUT.value, config.COMPILE_TIMEOUT.name
            raise self._failed(step, f"took longer than {seconds:g} s ({name}) and was stopped", running) from None
        except ProtocolError as error:
            log.note(f"the compiler process cannot be asked for this step, which is done in this process: {error}")
            return None
        except Ended:
            loss = running.loss()
            self._discard(running)
            if not is_repeated and not (running.has_begun and is_own_doing(loss)):
                return self._do(step, is_repeated=True)
            raise self._failed(step, loss.ending, running) from None
        if isinstance(answer, m.NotBuilt):
            raise BuildFailed(answer.status, answer.log)
        if isinstance(answer, m.Failed):
            raise error_of(answer.status, answer.words)
        return answer if isinstance(answer, StepDone) else None

    def _failed(self, step: BuildStep, predicate: str, running: Running) -> CompilerEnded:
        output = bytes(running.output)
        if NO_MEMORY.search(output):
            most, name = config.COMPILE_MEMORY.value, config.COMPILE_MEMORY.name
            predicate += f"; it had used up its memory ({name}={most})"
        words = f"error: the compiler of engine '{self._name}' ({self._version}) {predicate}, "
        words += f"while it {VERB[step.call]} {_subject(step)}"
        return CompilerEnded(FAILURE[step.call], "\n".join(filter(None, (words, output.decode(errors="replace")))))

    def _started(self) -> Running | None:
        """Returns a process that can do a step; None, with a line in the log, if there cannot be one."""
        if self._running is not None and not self._running.can_serve():
            self._discard(self._running)
        if self._running is None:
            from fpgart.engine.isolated.spawning import ProcessError

            try:
                self._running = Running(self._version, self._path)
            except (OSError, ProcessError) as error:
                self._refuse(str(error))
        return self._running

    def _refuse(self, why: str) -> None:
        """Logs, once for each reason, that the engine compiles in this process."""
        if why != self._refused:
            self._refused = why
            log.note(f"the engine compiles in the process of the host, which its compiler can end: {why}")

    def _discard(self, running: Running) -> None:
        running.discard()
        self._running = None


class Running:
    """A compiler process. Its creation raises OSError or ProcessError if it does not start."""

    def __init__(self, version: str, path: str) -> None:
        from fpgart.engine.isolated.spawning import environment, spawn

        variables = {name: value for name, value in environment().items() if name not in NOT_FOR_COMPILERS}
        self._rights = Rights.now()
        self._spawned = spawn(variables, path)
        self._identities = [_identity(each) for each in self._descriptors()]
        self.output = bytearray()
        """The output since the last step began."""
        self.has_begun = False
        """True once the last step has been sent as a whole."""
        try:
            self._open(version, path)
        except BaseException:
            self.discard()
            raise

    def _open(self, version: str, path: str) -> None:
        from fpgart.engine.isolated import messages as m
        from fpgart.engine.isolated.spawning import ProcessError

        try:
            ready = self.ask(m.OpenCompiler(m.VERSION, __version__, path, config.COMPILE_MEMORY.value), START_S)
        except TimeoutError:
            raise ProcessError(f"the compiler process has not started after {START_S:g} s") from None
        except Ended:
            words = self.output.decode(errors="replace").strip()
            raise ProcessError(f"the compiler process {self.loss().ending}, before it had an engine. {words}") from None
        if isinstance(ready, m.Failed):
            raise ProcessError(ready.words)
        if not isinstance(ready, m.CompilerReady) or ready.missing:
            raise ProcessError(f"the compiler process has no engine: {getattr(ready, 'missing', ready)}")
        if ready.engine_version != version:
            raise ProcessError(f"the compiler process has another engine: {ready.engine_version}")

    def _descriptors(self) -> list[int]:
        spawned = self._spawned
        return [spawned.session.fileno(), spawned.life.fileno(), spawned.output, spawned.error]

    def _owns_descriptors(self) -> bool:
        """True if the descriptors are unchanged.

        Hosts may close all descriptors, and open others with these numbers.
        """
        try:
            return [_identity(each) for each in self._descriptors()] == self._identities
        except OSError:
            return False

    def can_serve(self) -> bool:
        """True if the process runs, and its identity and permissions are those of this process."""
        try:
            if Rights.now() != self._rights or not self._owns_descriptors():
                return False
        except OSError:
            return False
        poll = select.poll()
        poll.register(self._spawned.session, select.POLLIN)
        return not poll.poll(0)

    def ask(self, request: object, patience_s: float) -> object:
        """Returns the answer. Raises Ended, TimeoutError, and ProtocolError for bytes that are no message.

        0 s: no limit.
        """
        from fpgart.engine.isolated import messages as m
        from fpgart.engine.isolated.codec import ProtocolError

        data = m.framed(request)
        self.output.clear()
        self.has_begun = False
        try:
            m.send_framed(self._spawned.session, data)
            self.has_begun = True
            self._await(monotonic() + patience_s if patience_s else None)
            answer: object = m.receive(self._spawned.session)
        except TimeoutError:
            raise
        except (OSError, ProtocolError) as error:
            raise Ended(str(error)) from None
        self._read_output()
        if answer is None:
            raise Ended("it has closed its socket")
        return answer

    def _await(self, end: float | None) -> None:
        """Waits until an answer begins; raises TimeoutError if the monotonic clock reaches `end` before."""
        poll = select.poll()
        for each in (self._spawned.session.fileno(), self._spawned.output, self._spawned.error):
            poll.register(each, select.POLLIN)
        while True:
            left_ms = max(0, int((end - monotonic()) * 1000)) if end is not None else None
            events = poll.poll(left_ms)
            if not events and end is not None and monotonic() >= end:
                raise TimeoutError
            for descriptor, _ in events:
                if descriptor == self._spawned.session.fileno():
                    return
                if not self._keep(os.read(descriptor, MOST_OUTPUT)):
                    poll.unregister(descriptor)

    def _keep(self, data: bytes) -> bool:
        self.output += data[: MOST_OUTPUT - len(self.output)]
        return bool(data)

    def _read_output(self) -> None:
        """Reads the output that the process has written so far."""
        poll = select.poll()
        for each in (self._spawned.output, self._spawned.error):
            poll.register(each, select.POLLIN)
            while (events := poll.poll(0)) and events[0][1] & select.POLLIN and self._keep(os.read(each, MOST_OUTPUT)):
                pass
            poll.unregister(each)

    def loss(self) -> Loss:
        """Waits for the end of the process, and returns how it ended."""
        from fpgart.engine.isolated.loss import Loss

        status = self._spawned.await_status(END_S)
        self._read_output()
        return Loss(status)

    def discard(self) -> None:
        """Ends the process, unless it has ended. Descriptors that the host has reused stay open."""
        if self._owns_descriptors():
            self._spawned.discard()
            return
        self._spawned.session.detach()
        self._spawned.life.detach()


def _identity(descriptor: int) -> tuple[int, int, int]:
    """Returns the file behind a descriptor: its type, device and number. Raises OSError."""
    facts = os.fstat(descriptor)
    return stat.S_IFMT(facts.st_mode), facts.st_dev, facts.st_ino


def _folder() -> str:
    """Returns the working directory; "" if it has been removed."""
    with suppress(OSError):
        return os.getcwd()
    return ""


def _subject(step: BuildStep) -> str:
    """Names the kernels of the sources, as far as they show before macros, or the number of programs."""
    sources = (ATTRIBUTES.sub(b"", each.source) for each in step.inputs)
    names = dict.fromkeys(name.decode(errors="replace") for source in sources for name in KERNEL.findall(source))
    if not names:
        return f"{len(step.inputs)} programs" if len(step.inputs) > 1 else "a program"
    quoted = [f"'{name}'" for name in list(names)[:MOST_NAMES]]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"kernel{'s' if len(names) > 1 else ''} {', '.join(quoted)}{more}"
