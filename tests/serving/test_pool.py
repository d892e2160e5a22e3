# SPDX-License-Identifier: Apache-2.0
"""Board processes that wait for the next host of a service (fpgart/serving/pool.py); here they are sockets only."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator

import pytest

from fpgart.engine.isolated.spawning import ProcessError, Spawned
from fpgart.serving import pool as pools
from fpgart.serving.pool import REST_S, Pool, warm


class Processes:
    """The processes that a pool starts."""

    def __init__(self) -> None:
        self.made: list[Spawned] = []
        self.keepers: list[socket.socket] = []
        self._starts = threading.Semaphore(0)

    def start(self) -> Spawned:
        session, theirs = socket.socketpair()
        theirs.close()
        life, keeper = socket.socketpair()
        nothing = os.open(os.devnull, os.O_RDONLY)
        self.keepers.append(keeper)
        self.made.append(Spawned(session, life, nothing, os.dup(nothing)))
        self._starts.release()
        return self.made[-1]

    def await_start(self) -> Spawned:
        self._starts.acquire()
        return self.made[-1]

    def was_told_to_end(self, number: int) -> bool:
        return self.keepers[number].recv(1) == b"k" and self.keepers[number].recv(1) == b""


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Processes]:
    found = Processes()
    monkeypatch.setattr(pools, "spawn", found.start)
    monkeypatch.setattr(pools, "warm", found.start)
    monkeypatch.setattr(pools, "REST_S", 0)
    yield found
    for keeper in found.keepers:
        keeper.close()


@pytest.fixture
def pool(processes: Processes) -> Iterator[Pool]:
    made = Pool()
    yield made
    made.close()
    for thread in threads_of_pools():
        thread.join()


def threads_of_pools() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "fpgart pool"]


def ready(pool: Pool, processes: Processes) -> Spawned:
    """Returns the process that waits for a host, once the pool has it."""
    made = processes.await_start()
    with pool._changing:  # it is kept under this lock
        pass
    while pool._ready is not made:
        threading.Event().wait(0.001)
    return made


def test_a_host_gets_the_process_that_waits_for_it_and_the_next_one_is_started(
    pool: Pool, processes: Processes
) -> None:
    pool.start()
    first = ready(pool, processes)
    assert pool.take() is first
    second = ready(pool, processes)
    assert second is not first
    assert pool.take() is second
    for each in (first, second):
        each.discard()


def test_a_host_that_comes_before_any_process_is_ready_gets_one(pool: Pool, processes: Processes) -> None:
    made = pool.take()
    assert processes.made == [made]
    made.discard()


def test_a_process_waits_on_though_a_host_came_while_it_was_being_started(
    pool: Pool, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Closing(threading.Event):
        """Closes the pool where it would wait for a host to take the process."""

        def wait(self, timeout: float | None = None) -> bool:
            if not self.is_set():
                pool._closed.set()
            return True

    def start() -> Spawned:
        if len(processes.made) < 2:
            pool.take().discard()
        return processes.start()

    monkeypatch.setattr(pools, "warm", start)
    pool._taken = Closing()
    pool._taken.set()
    pool._refill()
    assert len(processes.made) == 2, "one for that host, and one that waits"
    assert pool._ready is processes.made[1]


def test_a_process_that_has_ended_while_it_waited_is_given_to_nobody(pool: Pool, processes: Processes) -> None:
    pool._keep(processes.start())
    processes.keepers[0].close()
    made = pool.take()
    assert made is processes.made[1]
    assert processes.made[0].life.fileno() == -1
    made.discard()


def test_a_pool_that_is_closed_ends_what_waits_and_what_comes_too_late(pool: Pool, processes: Processes) -> None:
    pool._keep(processes.start())
    pool.close()
    assert processes.was_told_to_end(0)
    pool._keep(processes.start())
    assert processes.was_told_to_end(1)
    assert pool._ready is None


@pytest.mark.parametrize("failure", [TimeoutError("it does not answer"), ProcessError("it has ended")])
def test_a_process_that_gets_no_engine_is_ended(
    processes: Processes, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(pools, "warm_up", lambda made: None)
    monkeypatch.setattr(pools, "await_engine", fail)
    with pytest.raises(ProcessError, match=f"a board process has no engine: {failure}"):
        warm()
    assert processes.was_told_to_end(0)


def test_a_process_is_ready_once_it_has_an_engine(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[str, Spawned]] = []
    monkeypatch.setattr(pools, "warm_up", lambda made: done.append(("warm up", made)))
    monkeypatch.setattr(pools, "await_engine", lambda made, seconds: done.append(("await", made)))
    made = warm()
    assert done == [("warm up", made), ("await", made)]
    assert processes.made == [made]
    made.discard()


def test_the_thread_of_a_pool_ends_with_it_and_keeps_no_process_alive(pool: Pool, processes: Processes) -> None:
    pool.start()
    ready(pool, processes)
    (thread,) = threads_of_pools()
    assert thread.daemon
    pool.close()
    thread.join()


def test_a_pool_that_can_start_no_process_says_so_and_rests_before_it_tries_again(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float | None] = []

    class Closing(threading.Event):
        """The pool is closed while it rests."""

        def wait(self, timeout: float | None = None) -> bool:
            rests.append(timeout)
            self.set()
            pool._taken.set()
            return True

    def fail() -> Spawned:
        raise ProcessError("the system does not let a board process start")

    monkeypatch.setattr(pools, "warm", fail)
    notes: list[str] = []
    monkeypatch.setattr(pools.log, "note", notes.append)
    monkeypatch.setattr(pools, "REST_S", REST_S)
    pool._closed = Closing()
    pool._refill()
    assert notes == ["no board process is ready for the next host: the system does not let a board process start"]
    assert rests == [REST_S] == [1.0]
