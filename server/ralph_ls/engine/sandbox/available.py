"""Whether bubblewrap is here and works, found out by really running it, and what to do if not."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.store.external.supervisor import run

INSTALL = "sudo apt-get install bubblewrap (dnf, pacman and zypper have it under the same name)"

TRY_SECONDS = 10.0

_TRIAL = (
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"),  # noqa: S108
    *("--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"),
    *("--die-with-parent", "--new-session"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubblewrap:
    """What was found out."""

    program: str = ""
    """Empty where it cannot be used."""
    problem: str = ""
    """Why not, in a few words."""
    remedy: str = ""
    """What to do about it."""
    resets_signals: bool = False

    @property
    def works(self) -> bool:
        return not self.problem


def find_bubblewrap(path: str) -> Bubblewrap:
    """Look for it on this PATH, where relative entries are passed over, and try it."""
    if not sys.platform.startswith("linux"):
        return Bubblewrap(
            problem="bubblewrap runs on Linux alone",
            remedy='use a container there: sandbox = "docker"',
        )
    searched = os.pathsep.join(one for one in path.split(os.pathsep) if Path(one).is_absolute())
    program = shutil.which("bwrap", path=searched) if searched else None
    if program is None:
        return Bubblewrap(problem="bubblewrap is not installed", remedy=f"install it: {INSTALL}")
    return _try(program)


@functools.lru_cache(maxsize=4)
def _try(program: str) -> Bubblewrap:
    said = _run(program, "true")
    if said is None:
        return Bubblewrap(
            program=program,
            resets_signals=_run(program, "env", "--default-signal=TERM", "true") is None,
        )
    return Bubblewrap(problem=f"bubblewrap does not work: {said}", remedy=remedy_for(said))


def _run(program: str, *argv: str) -> str | None:
    """What it says where it fails; None where it works."""
    try:
        ended = run(
            (program, *_TRIAL, *argv),
            cwd=Path("/"),
            environment=os.environ,
            seconds=TRY_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if ended.code == 0:
        return None
    lines = ended.stderr.decode("utf-8", errors="replace").strip().splitlines()
    return lines[-1].removeprefix("bwrap: ") if lines else f"it ended with {ended.code}"


_SWITCHES = (
    (
        "kernel.apparmor_restrict_unprivileged_userns",
        "1",
        (
            "AppArmor forbids user namespaces here; allow them for bwrap with a profile in "
            "/etc/apparmor.d/bwrap (abi <abi/4.0>, profile bwrap /usr/bin/bwrap flags=(unconfined) "
            "{ userns, }) and: sudo apparmor_parser -r /etc/apparmor.d/bwrap"
        ),
    ),
    (
        "kernel.unprivileged_userns_clone",
        "0",
        "user namespaces are off; allow them: sudo sysctl kernel.unprivileged_userns_clone=1",
    ),
    (
        "user.max_user_namespaces",
        "0",
        "user namespaces are off; allow them: sudo sysctl user.max_user_namespaces=10000",
    ),
)


def remedy_for(said: str, sysctl: Path = Path("/proc/sys")) -> str:
    """What to do about what it said, by the switches of this system."""
    for name, forbids, remedy in _SWITCHES:
        try:
            value = (sysctl / name.replace(".", "/")).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if value == forbids:
            return remedy
    if "proc" in said or "mount" in said or "Operation not permitted" in said:
        return (
            "a container may forbid namespaces: start it with --security-opt seccomp=unconfined "
            "--security-opt apparmor=unconfined, or let the container be the sandbox"
        )
    return "run bwrap --ro-bind / / true to see what it says"
