"""SLURM on this machine alone: its daemons as root, without cgroups and systemd."""

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clusters import free_port, until

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo")
CONFIG = """\
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=4000 State=UNKNOWN
PartitionName=quick Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """What is not installed, or why the daemons cannot be started; empty: nothing."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    missing_programs = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    if missing_programs:
        return f"not installed: {', '.join(missing_programs)} (Debian: slurm-wlm, munge)"
    return "" if os.geteuid() == 0 else "slurmd needs root"


@contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """The environment in which commands reach SLURM, while the context lasts."""
    host = socket.gethostname().partition(".")[0]
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key, config = folder / "munge.key", folder / "slurm.conf"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    ports = {"controller": free_port(), "node": free_port()}
    config.write_text(CONFIG.format(host=host, folder=folder, **ports))
    environment = {**os.environ, "SLURM_CONF": str(config)}
    environment["PATH"] += ":/usr/sbin"
    munged = ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket"]
    munged += [f"--key-file={key}", f"--pid-file={folder}/munge.pid"]
    munged += [f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed"]
    programs = [munged, ["slurmctld", "-D"], ["slurmd", "-D", "-N", host]]
    processes = []
    with (folder / "daemons.log").open("wb") as log:
        try:
            for words in programs:
                process = subprocess.Popen(words, env=environment, stdout=log, stderr=log)
                processes.append(process)
                if words is munged:
                    until((folder / "munge.socket").exists)
            until(lambda: _idle(environment))
            yield environment
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait(60)


def _idle(environment: dict[str, str]) -> bool:
    process = subprocess.run(
        ["sinfo", "--noheader", "--format=%t"], env=environment, capture_output=True, check=False
    )
    return process.stdout.strip() == b"idle"
