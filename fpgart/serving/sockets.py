# SPDX-License-Identifier: Apache-2.0
"""The sockets of services, and the user at the other end of one."""

from __future__ import annotations

import os
import re
import socket
import struct
from contextlib import suppress

from fpgart.base.output_file import runtime_folder
from fpgart.base.user_error import UserError

DEFAULT_NAME = "boards"
NAME = re.compile(r"[A-Za-z0-9_.-]{1,60}")
ENDING = ".service"
PEER = struct.Struct("3i")


class ServiceError(UserError):
    """Raised if a service does not do a request; the sentence says why."""


def path_of(name: str) -> str:
    """Returns the socket of a service, by its name or its own path. Raises ServiceError."""
    if "/" in name:
        return name
    if NAME.fullmatch(name) is None:
        raise ServiceError(f"'{name}' is not a name of a service, which has 1 to 60 letters, digits, and . _ -")
    try:
        return os.path.join(runtime_folder(), name + ENDING)
    except OSError as error:
        raise ServiceError(f"there is no private folder for services: {error.filename}: {error.strerror}") from None


def names() -> list[str]:
    """Returns the services of this user that have names, whether they run or were killed."""
    with suppress(OSError):
        found = os.listdir(runtime_folder())
        return sorted(each.removesuffix(ENDING) for each in found if each.endswith(ENDING))
    return []


def peer_of(connection: socket.socket) -> int:
    """Returns the process at the other end, which has connected or listens; 0 if it is unknown.

    Raises ServiceError for another user's.
    """
    process, user, _ = PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size))
    if user != os.geteuid():
        raise ServiceError(
            f"the process at the other end, {process}, belongs to user {user}, not to user {os.geteuid()}"
        )
    return int(process)
