"""Setting up: ``allow``, ``init``, ``demo``."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ralph_ls.cli.context import Place, here
from ralph_ls.cli.output import emit_json, say
from ralph_ls.core.loop.profiles import FIXPLAN, SPEC
from ralph_ls.core.plan.skeleton import fix_plan_skeleton, spec_index_skeleton
from ralph_ls.core.plan.specs import FOLDER, INDEX
from ralph_ls.core.views.visible import uncover
from ralph_ls.protocol.config import CONFIG_FILE, Config, ProfileName
from ralph_ls.protocol.errors import ConfigError, RalphError, StateUnusable, UsageError
from ralph_ls.store import trust
from ralph_ls.store.config_file import load_settings
from ralph_ls.store.files import resolve_inside, write_atomic

Json = Annotated[bool, typer.Option("--json", help="For programs.")]

SHOWN_BYTES = 100_000
"""A longer text is named by its hash: nobody reads it in a terminal."""

DEMO_SETTINGS = {"agent": "demo", "profile": "fixplan", "max_iterations": 20}
"""Given like flags, so that nothing which a person has set for other runs changes the demo."""

STOPPED = frozenset({130, 143})
"""How a run ends that somebody ended."""

STARTER_CONFIG = """\
# max_iterations = 20
# timeout = "30m"

# Any program can be the agent. What stands here runs only after: ralph allow
# agent = "command"
# [agents.command]
# argv = ["./agent.sh"]
# prompt = "stdin"            # stdin | argument | file
"""


_HEAD = (
    "# Settings of the loop in this repository; every key can be overridden by a flag or RALPH_*."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FirstFile:
    """What a profile begins with."""

    path: str
    text: str
    known_as: tuple[str, ...]
    """Any of these is in its place."""
    settings: str
    """How its config file begins."""
    next_step: str


_FIRST_FILES = {
    FIXPLAN.name.value: _FirstFile(
        path=FIXPLAN.plan_files[0],
        text=fix_plan_skeleton(),
        known_as=FIXPLAN.plan_files,
        settings=f'{_HEAD}\nprofile = "fixplan"\n',
        next_step=f"write your tasks into {FIXPLAN.plan_files[0]}",
    ),
    SPEC.name.value: _FirstFile(
        path=f"{FOLDER}/{INDEX}",
        text=spec_index_skeleton(),
        known_as=(f"{FOLDER}/{INDEX}",),
        settings=f'{_HEAD}\nprofile = "spec"\ncommits = "agent"\npush = false\n',
        next_step=f"write what is to be built into {FOLDER}/, such as {FOLDER}/login.md",
    ),
}


def allow(
    yes: Annotated[bool, typer.Option("--yes", help="Without a terminal to ask in.")] = False,
    as_json: Json = False,
) -> None:
    """Show what this repository brings that would run, and allow it."""
    place = here()
    claims = _claims(place)
    missing = trust.not_allowed(place.state, claims)
    if as_json and not yes:
        emit_json(_claims_json(claims, missing, allowed=False))
        return
    if not as_json:
        _show_claims(place, claims, missing)
    if not missing:
        if as_json:
            emit_json(_claims_json(claims, missing, allowed=True))
        return
    if not yes and not sys.stdin.isatty():
        raise UsageError("allowing needs a terminal to ask in, or --yes")
    if not yes and not typer.confirm("Allow all of this to run?", default=False):
        say("Nothing was allowed")
        raise typer.Exit(1)
    trust.allow(place.state, place.worktree.root, claims)
    if as_json:
        emit_json(_claims_json(claims, (), allowed=True))
    else:
        say(f"Allowed for {place.worktree.root}. A change asks again")


def init(
    profile: Annotated[str, typer.Option(help="The profile to set up.")] = "fixplan",
    from_existing: Annotated[
        bool, typer.Option("--from-existing", help="Use what another tool left; shows it first.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Without a terminal to ask in.")] = False,
    as_json: Json = False,
) -> None:
    """Set up a loop here; what is already there is kept as it is."""
    place = here()
    if from_existing:
        _init_from_existing(place.worktree.root, yes=yes, as_json=as_json)
        return
    if profile not in set(ProfileName):
        raise UsageError(f"--profile {profile!r}: it must be one of {', '.join(ProfileName)}")
    if profile not in _FIRST_FILES:
        raise ConfigError(
            f"the profile {profile} cannot be set up by this version, which sets up "
            f"{' and '.join(_FIRST_FILES)}; "
            f"choose another profile in {CONFIG_FILE}, and write its plan yourself"
        )
    root = place.worktree.root
    first, logs = _FIRST_FILES[profile], Config().paths.logs
    is_there = any((root / name).exists() for name in first.known_as)
    # Each may be a link that the repository brought; all are looked at before one is written.
    for name in (CONFIG_FILE, logs, ".gitignore", *(() if is_there else (first.path,))):
        resolve_inside(root, name)
    written: list[str] = []
    for folder in (logs, *(() if is_there else (Path(first.path).parent.as_posix(),))):
        _make_folder(root / folder)
    if not is_there:
        write_atomic(root / first.path, first.text.encode())
        written.append(first.path)
    if not (root / CONFIG_FILE).exists():
        write_atomic(root / CONFIG_FILE, (first.settings + STARTER_CONFIG).encode())
        written.append(CONFIG_FILE)
    ignoring = _ignoring(root)
    if ignoring is not None:
        write_atomic(root / ".gitignore", ignoring)
        written.append(".gitignore")
    if as_json:
        emit_json({"written": written, "workspace": str(root)})
        return
    say(f"Written: {', '.join(written) or 'nothing, all was there'}")
    say(f"Next: {first.next_step}, then: ralph run")


def _init_from_existing(root: Path, *, yes: bool, as_json: bool) -> None:
    from ralph_ls.cli.taking_over import take_over

    written = take_over(root, gitignore=_ignoring(root), yes=yes, as_json=as_json)
    if written is None and not as_json:
        raise typer.Exit(1)
    if written is not None and not as_json:
        say(f"Written: {', '.join(written) or 'nothing, all was there'}")
        say("Next: look at what an agent would be told with: ralph run --dry-run")


def demo(
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="Empty or new.")] = None,
    as_json: Json = False,
) -> None:
    """Watch a whole run on a sample project: no key, no network."""
    from ralph_ls.cli.run_command import run_in_foreground
    from ralph_ls.engine.demo import project

    chosen = folder if folder is not None else Path(tempfile.mkdtemp(prefix="ralph-demo-"))
    root = project.lay_out(chosen)
    if not as_json:
        say(f"A sample project is in {root}; its tests fail, its plan says what to do\n")
    code = run_in_foreground(root, dict(DEMO_SETTINGS), as_json=as_json)
    stream = sys.stderr if as_json else sys.stdout
    there = shlex.quote(str(root))
    if code in STOPPED:
        stream.write(
            f"\nThe demo was stopped on its way. Go on with:\n  cd {there} && ralph run --resume\n"
        )
        raise typer.Exit(code)
    problem = _what_is_wrong_with(root)
    if code != 0 or problem is not None:
        stream.write(f"\nThe demo did not come out right: {problem or f'the run ended {code}'}\n")
        raise typer.Exit(code or 5)
    stream.write(
        f"\nThe sample's tests pass and its plan is done: {root}\n"
        f"Look at what the loop did:\n"
        f"  cd {there}\n"
        f"  git log --oneline        the commits, one a task\n"
        f"  python3 -m unittest      the tests, green\n"
        f"  ralph status             how the run stands\n"
        f"Then in a repository of yours:\n"
        f"  ralph init               writes a plan to fill\n"
        f"  ralph run --agent-command '…'\n"
    )


def _what_is_wrong_with(root: Path) -> str | None:
    from ralph_ls.engine.demo import project

    if not project.suite_passes(root):
        return "the sample's tests fail"
    if not project.required_tasks_done(root):
        return "tasks of the sample's plan are open"
    return None


def _claims(place: Place) -> tuple[trust.Claim, ...]:
    settings = load_settings(place.worktree.root, os.environ, {})
    return trust.claims_of(place.worktree.root, settings.config, settings.from_file)


def _show_claims(
    place: Place, claims: tuple[trust.Claim, ...], missing: tuple[trust.Claim, ...]
) -> None:
    if not claims:
        say(f"{place.worktree.root} brings nothing that would run")
        return
    for claim in claims:
        state = "not allowed yet" if claim in missing else "allowed"
        say(f"── {uncover(claim.key)} ({state})")
        for line in _shown(claim):
            say(f"   {line}")


def _shown(claim: trust.Claim) -> list[str]:
    """All that would run, so that nothing hides behind what is shown; a program by its hash."""
    size = len(claim.text.encode("utf-8", errors="replace"))
    if "\0" in claim.text or size > SHOWN_BYTES:
        what = "no text" if "\0" in claim.text else f"longer than {SHOWN_BYTES} bytes"
        return [f"({what}; SHA-256 {claim.digest}; look at the file before you allow it)"]
    return uncover(claim.text).splitlines()


def _claims_json(
    claims: tuple[trust.Claim, ...], missing: tuple[trust.Claim, ...], *, allowed: bool
) -> dict[str, object]:
    return {
        "allowed": allowed or not missing,
        "claims": [
            {
                "key": claim.key,
                "sha256": claim.digest,
                "allowed": claim not in missing,
                "text": claim.text,
            }
            for claim in claims
        ],
    }


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StateUnusable(
            f"the folder {folder} cannot be made: {error.strerror or error}; "
            "mend that, and try again"
        ) from error


def _ignoring(root: Path) -> bytes | None:
    """A ``.gitignore`` with the loop's own files in it (R10); None where it has them all."""
    paths = Config().paths
    wanted = [f"/{paths.logs}/", f"/{paths.decide}", f"/{paths.blocked}"]
    path = root / ".gitignore"
    try:
        text = path.read_bytes().decode("utf-8", errors="surrogateescape") if path.exists() else ""
    except OSError as error:
        raise RalphError(f"{path} cannot be read: {error.strerror or error}") from error
    missing = [line for line in wanted if line not in text.splitlines()]
    if not missing:
        return None
    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += newline
    text += newline.join(missing) + newline
    return text.encode("utf-8", errors="surrogateescape")
