"""Selection of the sandbox: by the settings, and by what works on this machine.

Whether bubblewrap works is tested by running it; otherwise the message says what to do. A sandbox
that the user asked for with the run is required: without it nothing starts. With ``auto`` in the
settings, a machine without one runs without, and reports it.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.engine.sandbox.box import Box, require_usable
from ralph_ls.protocol.config.agent import SandboxConfig, SandboxKind
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import AgentUnavailable
from ralph_ls.store.external.supervisor import run
from ralph_ls.store.layout import StateFolder, Worktree, state_root
from ralph_ls.store.project.config_file import LoadedSettings
from ralph_ls.store.run.active_run import ACTIVE_FILE

INSTALL = "sudo apt-get install bubblewrap (dnf, pacman and zypper have it under the same name)"

TRY_SECONDS = 10.0

_TRIAL = (
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"),  # noqa: S108
    *("--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"),
    *("--die-with-parent", "--new-session"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubblewrap:
    """Result of the test of bubblewrap."""

    program: str = ""
    """Empty where it cannot be used."""
    problem: str = ""
    """Why it does not work, in a few words."""
    remedy: str = ""
    """The remedy."""
    resets_signals: bool = False

    @property
    def works(self) -> bool:
        return not self.problem


def find_bubblewrap(path: str) -> Bubblewrap:
    """Find it on this PATH, where relative entries are skipped, and run it."""
    if not sys.platform.startswith("linux"):
        return Bubblewrap(
            problem="bubblewrap only runs on Linux",
            remedy='use a container there: sandbox = "docker"',
        )
    searched = os.pathsep.join(one for one in path.split(os.pathsep) if Path(one).is_absolute())
    program = shutil.which("bwrap", path=searched) if searched else None
    if program is None:
        return Bubblewrap(problem="bubblewrap is not installed", remedy=f"install it: {INSTALL}")
    return _try(program)


@functools.lru_cache(maxsize=4)
def _try(program: str) -> Bubblewrap:
    message = _run(program, "true")
    if message is None:
        return Bubblewrap(
            program=program,
            resets_signals=_run(program, "env", "--default-signal=TERM", "true") is None,
        )
    return Bubblewrap(problem=f"bubblewrap does not work: {message}", remedy=remedy_for(message))


def _run(program: str, *argv: str) -> str | None:
    """Its error message; None where it works."""
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


def remedy_for(message: str, sysctl: Path = Path("/proc/sys")) -> str:
    """The remedy for an error message of bubblewrap, by the kernel settings of this system."""
    for name, forbids, remedy in _SWITCHES:
        try:
            value = (sysctl / name.replace(".", "/")).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if value == forbids:
            return remedy
    if "proc" in message or "mount" in message or "Operation not permitted" in message:
        return (
            "a container may forbid namespaces: start it with --security-opt seccomp=unconfined "
            "--security-opt apparmor=unconfined, or use the container as the sandbox"
        )
    return "run this to see why: bwrap --ro-bind / / true"


KIND = "sandbox.kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSandbox:
    """The sandbox of a run."""

    kind: str
    """As the header of a run has it: a kind, ``command`` for a prefix, or ``none``."""
    problem: str | None = None
    """Why there is none, although ``auto`` asks for one."""
    box: Box | None = None


def prepare_sandbox(
    settings: LoadedSettings,
    worktree: Worktree,
    state: StateFolder,
    environment: Mapping[str, str],
) -> ChosenSandbox:
    """Choose it as ``choose_sandbox`` does, and clean up after the box of a killed engine.

    Only for the engine that has the work tree's lock.
    """
    make_box(Bubblewrap(), settings.config, worktree, state, environment).recover()
    return choose_sandbox(settings, worktree, state, environment)


def choose_sandbox(
    settings: LoadedSettings,
    worktree: Worktree,
    state: StateFolder,
    environment: Mapping[str, str],
) -> ChosenSandbox:
    """The sandbox of a run; raises a ``RalphError`` for one that was asked for and cannot be."""
    sandbox = settings.config.sandbox
    if not sandbox.wants_box:
        return ChosenSandbox(kind=kind_elsewhere(sandbox))
    found = find_bubblewrap(environment.get("PATH", ""))
    if not found.works:
        if is_required(settings):
            raise AgentUnavailable(
                f"the requested sandbox is not available: {found.problem}; {found.remedy}, or "
                "start without one: --sandbox none"
            )
        return ChosenSandbox(kind=SandboxKind.NONE, problem=f"{found.problem}; {found.remedy}")
    box = make_box(found, settings.config, worktree, state, environment)
    require_usable(box)
    return ChosenSandbox(kind=SandboxKind.BWRAP, box=box)


def make_box(
    found: Bubblewrap,
    config: Config,
    worktree: Worktree,
    state: StateFolder,
    environment: Mapping[str, str],
) -> Box:
    """The box of a work tree with these settings."""
    return Box(
        program=found.program,
        config=config.sandbox,
        worktree=worktree,
        state=state,
        state_root=state_root(environment),
        resets_signals=found.resets_signals,
        own_places=_own_places(config),
        own_folders=(config.paths.logs,),
        environment=environment,
    )


def _own_places(config: Config) -> tuple[str, ...]:
    """Files and folders of the work tree that a run with these settings writes."""
    paths = config.paths
    named = (paths.logs, paths.progress, paths.decide, paths.blocked, paths.plan, ACTIVE_FILE)
    return tuple(name for name in named if name and not Path(name).is_absolute())


def is_required(settings: LoadedSettings) -> bool:
    """Whether a run without its sandbox is not what was asked for."""
    is_auto = settings.config.sandbox.kind is SandboxKind.AUTO
    return not is_auto or KIND in settings.overrides


def kind_elsewhere(sandbox: SandboxConfig) -> str:
    """The kind of a sandbox that is no box."""
    if sandbox.prefix:
        return "command"
    return SandboxKind.NONE if sandbox.program is None else sandbox.program


def box_for_checks(box: Box | None, config: Config) -> Box | None:
    """The box that validation scripts and closing commands run in."""
    return box if box is not None and config.sandbox.checks else None


def agent_in_box(argv: tuple[str, ...], dialect: Dialect) -> str:
    """The program whose own files a boxed agent needs, by its command line."""
    if dialect is Dialect.ACP and "--" in argv:
        return argv[argv.index("--") + 1 :][0]
    return argv[0]
