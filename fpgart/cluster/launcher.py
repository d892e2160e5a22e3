# SPDX-License-Identifier: Apache-2.0
"""Which of several processes this one is, as their launcher says it in the environment.

Nothing of MPI is called for that: the host's MPI is the host's alone (docs/clusters.md).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fpgart import config


@dataclass(frozen=True, slots=True)
class Place:
    """Rank among `size` processes of a job, of which `local_size` are on this machine; `job` is the job's name."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    job: str = ""

    @property
    def machine(self) -> int:
        """This machine's number: ranks are dealt out machine by machine."""
        return (self.rank - self.local_rank) // self.local_size


@dataclass(frozen=True, slots=True)
class Launcher:
    """The variables that a launcher sets: rank, size, both on the machine, and those that make up the job's name."""

    rank: str
    size: str
    local_rank: str
    local_size: str
    job: tuple[str, ...]

    def place(self, variables: Mapping[str, str]) -> Place | None:
        """None where the process was not started by it."""
        try:
            rank, size = int(variables[self.rank]), int(variables[self.size])
        except (KeyError, ValueError):
            return None
        local_rank = _number(variables.get(self.local_rank, ""), rank)
        local_size = _number(variables.get(self.local_size, ""), size)
        job = "-".join(filter(None, (variables.get(name, "") for name in self.job)))
        return Place(rank, size, local_rank, local_size, config.JOB.value or job or f"of-{self._process()}")

    def _process(self) -> int:
        """The launcher's own number: the nearest ancestor that it has given no rank."""
        process = os.getppid()
        try:
            while f"\0{self.rank}=".encode() in b"\0" + Path(f"/proc/{process}/environ").read_bytes():
                status = Path(f"/proc/{process}/stat").read_text()
                process = int(status.rpartition(")")[2].split()[1])
        except OSError:  # another user's: none of ours
            return process
        return process


LAUNCHERS = (
    Launcher(  # Open MPI
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
        ("SLURM_JOB_ID", "PMIX_NAMESPACE"),
    ),
    Launcher(  # MVAPICH
        "MV2_COMM_WORLD_RANK",
        "MV2_COMM_WORLD_SIZE",
        "MV2_COMM_WORLD_LOCAL_RANK",
        "MV2_COMM_WORLD_LOCAL_SIZE",
        ("SLURM_JOB_ID", "PMI_ID", "MPISPAWN_MPIRUN_ID"),
    ),
    Launcher(  # MPICH and Intel MPI
        "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", ("SLURM_JOB_ID",)
    ),
    Launcher(
        "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE", ("SLURM_JOB_ID", "SLURM_STEP_ID")
    ),
)


def place(variables: Mapping[str, str] | None = None) -> Place:
    """This process's; FPGART_RANK goes before launchers. Alone, where there are neither."""
    if config.RANK.is_set:
        rank, size = config.RANK.value
        return Place(rank, size, rank, size, config.JOB.value or "by-hand")
    found = (launcher.place(os.environ if variables is None else variables) for launcher in LAUNCHERS)
    return next(filter(None, found), None) or Place(job=config.JOB.value or f"process-{os.getpid()}")


def _number(text: str, default: int) -> int:
    return int(text) if text.isdecimal() else default
