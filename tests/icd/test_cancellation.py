# SPDX-License-Identifier: Apache-2.0
"""A thread of the host that is to be cancelled (pthread_cancel) is so between calls, never within one."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_hosts import build, plain_environment
from processes import finished


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("cancelled", tmp_path_factory.mktemp("host"), "-lpthread")


@pytest.mark.parametrize("call", ["start", "build", "write", "finish", "wait", "launch", "recorded", "call back"])
def test_a_thread_is_cancelled_when_its_call_has_returned(host: Path, call: str) -> None:
    done = finished(host, call, env=plain_environment())
    assert (done.stdout, done.stderr, done.returncode) == ("right\n", "", 0)
