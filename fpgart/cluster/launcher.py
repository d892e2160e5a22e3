# SPDX-License-Identifier: Apache-2.0
"""The rank of this process among several, as their launcher gives it in the environment.

The driver does not call MPI, which the host uses (docs/clusters.md).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from fpgart.base import config
from fpgart.base.named_tuples import NamedTuple


class Place(NamedTuple):
    """Rank among `size` processes of a job, of which a machine has `local_size`; `job` is the job's name.

    The last machines may have fewer. `told_machine`: this machine's number, if the launcher gives it.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    job: str = ""
    told_machine: int | None = None

    @property
    def machine(self) -> int:
        """This machine's number: ranks are assigned machine by machine, but not local ranks in their order."""
        return self.rank // self.local_size

    @property
    def fault(self) -> str:
        """A sentence if ranks are not assigned machine by machine; "" if they are, as far as the launcher says."""
        if self.told_machine in (None, self.machine):
            return ""
        return (
            f"rank {self.rank} runs on machine {self.told_machine}, and not on machine {self.machine}: ranks have "
            f"to be assigned machine by machine, {self.local_size} to each but the last (srun --distribution=block)"
        )


class Launcher(NamedTuple):
    """The variables that a launcher sets: rank, size, both on the machine, and those of the job's name.

    `local_sizes`: those of the sizes of all machines, in order, as Slurm writes them. `machine`: that of this machine's
    number.
    """

    rank: str
    size: str
    local_rank: str
    local_size: str
    job: tuple[str, ...]
    local_sizes: tuple[str, ...] = ()
    machine: str = ""

    def place(self, variables: Mapping[str, str]) -> Place | None:
        """Returns the process's place; None if the launcher did not start it."""
        try:
            rank, size = int(variables[self.rank]), int(variables[self.size])
        except (KeyError, ValueError):
            return None
        if not 0 <= rank < size:
            return None
        local_rank = _number(variables.get(self.local_rank, ""), rank)
        local_size = self._largest_share(variables) or _number(variables.get(self.local_size, ""), size)
        if not 0 <= local_rank < local_size:
            local_rank, local_size = rank, size
        # Open MPI 5 names a job as in prterun-host-123@1, which is no value of FPGART_JOB.
        job = "-".join(filter(None, (NOT_OF_A_JOB.sub("-", variables.get(name, "")) for name in self.job)))
        machine = variables.get(self.machine, "")
        name = config.JOB.value or job or f"of-{self._process()}"
        return Place(rank, size, local_rank, local_size, name, int(machine) if machine.isdecimal() else None)

    def _largest_share(self, variables: Mapping[str, str]) -> int:
        """Returns the most processes that a machine has; 0 if it is unknown."""
        text = next(filter(None, (variables.get(name, "") for name in self.local_sizes)), "")
        return max(map(int, SHARES.findall(text)), default=0)

    def _process(self) -> int:
        """Returns the launcher's own process number: the nearest ancestor without a rank."""
        process = os.getppid()
        try:
            while f"\0{self.rank}=".encode() in b"\0" + Path(f"/proc/{process}/environ").read_bytes():
                status = Path(f"/proc/{process}/stat").read_text()
                process = int(status.rpartition(")")[2].split()[1])
        except OSError:  # another user's process
            return process
        return process


NOT_OF_A_JOB = re.compile(r"[^A-Za-z0-9._-]|^\.")
SHARES = re.compile(r"(\d+)(?:\(x\d+\))?")
"""Processes of machines as Slurm lists them: `4(x2),3`."""
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
        "SLURM_PROCID",
        "SLURM_NTASKS",
        "SLURM_LOCALID",
        "SLURM_NTASKS_PER_NODE",  # only if the user has set it
        ("SLURM_JOB_ID", "SLURM_STEP_ID"),
        ("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"),
        "SLURM_NODEID",
    ),
)


def place(variables: Mapping[str, str] | None = None) -> Place:
    """Returns this process's place: by FPGART_RANK, else by the launcher, else alone."""
    if config.RANK.is_set:
        rank, size = config.RANK.value
        return Place(rank, size, rank, size, config.JOB.value or "by-hand")
    found = (launcher.place(os.environ if variables is None else variables) for launcher in LAUNCHERS)
    return next(filter(None, found), None) or Place(job=config.JOB.value or f"process-{os.getpid()}")


def _number(text: str, default: int) -> int:
    return int(text) if text.isdecimal() else default
