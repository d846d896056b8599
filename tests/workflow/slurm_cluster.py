"""A real Slurm on this machine: a controller and several nodes, started for a test and stopped by their pid files."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "squeue", "scancel")
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
# Job steps look for their settings here alone: the plugin takes SLURM_CONF from their environment.
LINK = Path("/etc/slurm/slurm.conf")
N_NODES = 3
FIRST_PORT = 17001

# No cgroups and no accounting, which a container does not give: processes are tracked by their parents, and memory is
# held to what was asked for by looking once a second.
SETTINGS = """\
ClusterName=rftune
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=17000
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=30
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/builtin
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
KillWait=5
MinJobAge=3600
SlurmdParameters=config_overrides
NodeName=DEFAULT CPUs=2 RealMemory=6000 State=UNKNOWN
NodeName=n[1-{n_nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}]
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Unavailable(Exception):
    """Slurm cannot be installed or started here."""


def install() -> None:
    """Debian's packages, where this user may install them."""
    if all(shutil.which(program) for program in PROGRAMS):
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Unavailable(f"Slurm is not installed, and only root on Debian can: apt-get install {' '.join(PACKAGES)}")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    # Debian's services are not started: the daemons of this test are its own.
    policy = Path("/usr/sbin/policy-rc.d")
    wrote_policy = not policy.exists()
    if wrote_policy:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        subprocess.run(["apt-get", "update", "-qq"], check=False, env=environment, **quiet)
        done = subprocess.run(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES],
            check=False,
            env=environment,
            **quiet,
        )
    finally:
        if wrote_policy:
            policy.unlink()
    if done.returncode:
        raise Unavailable(f"Slurm could not be installed: {done.stderr.strip().splitlines()[-1:]}")


class Cluster:
    """The daemons, in a folder of their own; a context that stops what it started, whatever happens inside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.linked = False

    def __enter__(self) -> Cluster:
        if os.geteuid() != 0:
            raise Unavailable("only root can start Slurm's daemons")
        if LINK.exists() or LINK.is_symlink():
            raise Unavailable(f"{LINK} exists: this machine has a Slurm of its own, which a test must not disturb")
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> None:
        (self.folder / "state").mkdir(parents=True)
        host = socket.gethostname().partition(".")[0]
        last = FIRST_PORT + N_NODES - 1
        settings = self.folder / "slurm.conf"
        settings.write_text(
            SETTINGS.format(host=host, folder=self.folder, n_nodes=N_NODES, first=FIRST_PORT, last=last)
        )
        LINK.parent.mkdir(exist_ok=True)
        LINK.symlink_to(settings)
        self.linked = True
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        files = {name: self.folder / f"munge.{name}" for name in ("socket", "seed", "log")}
        self._run(
            "munged",
            "--force",
            f"--key-file={key}",
            f"--socket={files['socket']}",
            f"--seed-file={files['seed']}",
            f"--log-file={files['log']}",
            f"--pid-file={self.folder / 'munged.pid'}",
        )
        self._run("slurmctld", "-c")
        for node in self.nodes:
            self.start_node(node)
        self.wait_until(lambda: self.command("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == str(N_NODES), 30)

    @property
    def nodes(self) -> list[str]:
        return [f"n{number}" for number in range(1, N_NODES + 1)]

    def start_node(self, node: str) -> None:
        (self.folder / f"spool-{node}").mkdir(exist_ok=True)
        self._run("slurmd", "-N", node, "-c")

    def kill_node(self, node: str, job: str) -> list[int]:
        """Kill -9 a node's daemon, the step daemons of the job that runs there, and all that they started."""
        victims = [int((self.folder / f"slurmd-{node}.pid").read_text())]
        steps = [pid for pid, line in _command_lines().items() if line.startswith(f"slurmstepd: [{job}.")]
        victims += [pid for step in steps for pid in (step, *_descendants(step))]
        for pid in victims:
            _signal(pid, signal.SIGKILL)
        return victims

    def stop(self) -> None:
        """Stop the daemons by their pid files and take the link away."""
        pids = []
        for pattern in ("slurmd-*.pid", "slurmctld.pid", "munged.pid"):
            for path in self.folder.glob(pattern):
                pids.append(int(path.read_text()))
                _signal(pids[-1], signal.SIGTERM)
            self.wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 15, strict=False)
        for pid in pids:
            _signal(pid, signal.SIGKILL)
        if self.linked:
            LINK.unlink(missing_ok=True)

    def command(self, *arguments: str) -> str:
        return subprocess.run(arguments, check=True, capture_output=True, text=True, timeout=60).stdout

    def running(self) -> dict[str, str]:
        """Node of every running job."""
        lines = self.command("squeue", "-h", "-t", "R", "-o", "%A %N").splitlines()
        return dict(line.split() for line in lines)

    @staticmethod
    def wait_until(condition: Callable[[], object], seconds: float, strict: bool = True) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                if strict:
                    raise TimeoutError(f"not so after {seconds:g} s")
                return
            time.sleep(0.1)

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise Unavailable(f"{command[0]} did not start: {done.stderr.strip()}")


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _command_lines() -> dict[int, str]:
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found[int(path.parent.name)] = path.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue  # it has ended
    return found


def _descendants(pid: int) -> list[int]:
    children: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children += map(int, path.read_text().split())
        except OSError:
            continue
    return [found for child in children for found in (child, *_descendants(child))]
