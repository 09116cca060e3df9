"""Setting up a loop: every file with its text first, then all of them written, or none.

What a person has is changed in place and as little as can be: a plan gets items, a config file
values, ``.gitignore`` lines. Nothing is written before ``write_setup``; while an engine owns the
work tree nothing is written at all. This module must never know who asks, nor start anything.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from ralph_ls.core.loop.profiles import (
    FIXPLAN,
    SPEC,
    Profile,
    hindrances,
    profile_of,
    require_runnable,
)
from ralph_ls.core.plan.specs import FOLDER, INDEX
from ralph_ls.core.setup.plans import PlanWritten, add_items, new_plan
from ralph_ls.core.setup.rules import check_draft, errors_of
from ralph_ls.core.setup.settings import duration_text, with_values
from ralph_ls.core.setup.specifications import is_said_by, name_for, spec_text, with_entry
from ralph_ls.protocol.config import CONFIG_FILE, Config, PathsConfig, ProfileName, PromptBy
from ralph_ls.protocol.errors import ConfigError, PlanMissing, StateUnusable, UsageError
from ralph_ls.protocol.setup import SetupFile, SetupFileAction, SetupParams, SetupProblem
from ralph_ls.store import trust
from ralph_ls.store.config_file import load_settings
from ralph_ls.store.files import (
    ChangedMeanwhile,
    make_folders_below,
    read_if_there,
    read_regular,
    resolve_inside,
    write_atomic,
)
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.lock import EngineLock
from ralph_ls.store.specs import find_specs

HEAD = (
    "# Settings of the loop in this repository; every key can be overridden by a flag or RALPH_*."
)

CAN_BE_SET_UP = (FIXPLAN, SPEC)

LARGEST_FILE = 8 << 20
"""Bytes of a file that is changed; a larger plan is written by no person."""

KNOWN_AGENTS = frozenset({"claude", "demo"})
"""Agents that need no table of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileToWrite:
    """One file of a set-up."""

    path: str
    """Relative to the root."""
    before: bytes | None
    """What is there; None: nothing."""
    after: bytes

    @property
    def action(self) -> SetupFileAction:
        if self.before is None:
            return SetupFileAction.CREATE
        return SetupFileAction.KEEP if self.before == self.after else SetupFileAction.CHANGE

    def to_wire(self) -> SetupFile:
        text = self.after.decode("utf-8", errors="replace")
        return SetupFile(path=self.path, action=self.action, text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupPlanned:
    """All that a set-up would write, in the order in which it is written."""

    files: tuple[FileToWrite, ...]
    notes: tuple[str, ...]
    config: Config
    """The settings as they hold afterwards."""


def problems_of(order: SetupParams) -> tuple[SetupProblem, ...]:
    """What is wrong with it by the rules of I 1.4; a plan that is there needs no items."""
    uses_plan = order.existing_plan is not None
    return check_draft(
        description=None if uses_plan and not order.description.strip() else order.description,
        completion_phrase=order.completion_phrase,
        timeout=order.timeout,
        items=None if uses_plan and not order.items else order.items,
    )


def plan_setup(root: Path, order: SetupParams, *, today: date) -> SetupPlanned:
    """Every file that setting up would write or keep; writes nothing.

    Raises ``UsageError`` for an order with errors, ``ConfigError`` for settings that cannot be
    read, changed or run with, ``PlanMissing`` where a plan is named that is not there, and
    ``RalphError`` for an item that the plan cannot take.
    """
    errors = errors_of(problems_of(order))
    if errors:
        raise UsageError(" ".join(problem.message for problem in errors).rstrip("."))
    if order.agent is not None and order.agent_command is not None:
        raise UsageError("give an agent or the command of one, not both")
    profile = _profile_for(root, order)
    config_text = _text_of(root, CONFIG_FILE)
    values = _values(root, order, profile)
    overrides = {".".join(keys): value for keys, value in values.items()}
    config = load_settings(root, {}, overrides).config
    found = _find_plan(root, profile, config.paths)
    plan_path = order.existing_plan or found or config.paths.plan or profile.plan_files[0]
    if order.existing_plan is not None and not (root / plan_path).is_file():
        raise PlanMissing(f"there is no plan {root / plan_path}; name one that is there, or none")
    if order.existing_plan is not None and found != plan_path:
        values[("paths", "plan")] = plan_path
        config = load_settings(root, {}, {**overrides, "paths.plan": plan_path}).config
    require_runnable(config)
    notes: list[str] = []
    files, spec = _specification(root, order.description, profile, today=today)
    plan = _plan(root, plan_path, order, profile, spec=spec)
    notes += plan.notes
    files += [
        _to_write(root, plan_path, plan.text),
        *_ignoring(root, config.paths),
        _to_write(root, CONFIG_FILE, with_values(config_text or f"{HEAD}\n", values)),
    ]
    return SetupPlanned(files=tuple(files), notes=tuple(notes), config=config)


def write_setup(
    worktree: Worktree, state: StateFolder, planned: SetupPlanned, order: SetupParams
) -> tuple[str, ...]:
    """Write the files that are new or changed, and allow the agent's command that was given.

    What else a person should know. Raises ``WorkspaceBusy`` while an engine owns the work tree,
    and ``StateUnusable`` where a file cannot be written or was changed meanwhile; then those
    written before it are put back.
    """
    root = worktree.root
    before = _allowed(worktree, state)
    with EngineLock(worktree.git_dir):
        written: list[FileToWrite] = []
        try:
            for file in planned.files:
                if file.action is not SetupFileAction.KEEP:
                    _write(root, file)
                    written.append(file)
        except StateUnusable:
            for file in reversed(written):
                _put_back(root, file)
            raise
    return _allow_given(worktree, state, before, planned, order)


def ignoring(root: Path, paths: PathsConfig) -> bytes | None:
    """A ``.gitignore`` with the loop's own files in it (R10); None where it has them all."""
    wanted = [f"/{paths.logs}/", f"/{paths.decide}", f"/{paths.blocked}"]
    text = _text_of(root, ".gitignore") or ""
    missing = [line for line in wanted if line not in text.splitlines()]
    if not missing:
        return None
    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += newline
    text += newline.join(missing) + newline
    return text.encode("utf-8", errors="surrogateescape")


def require_can_be_set_up(profile: ProfileName) -> Profile:
    """The profile; raises ``ConfigError`` where this version cannot set it up."""
    found = profile_of(profile)
    if found not in CAN_BE_SET_UP:
        names = " and ".join(one.name.value for one in CAN_BE_SET_UP)
        raise ConfigError(
            f"the profile {profile.value} cannot be set up by this version, which sets up {names}; "
            f"choose another profile in {CONFIG_FILE}, and write its plan yourself"
        )
    return found


def existing_plan(root: Path) -> str | None:
    """The plan that lies here for the profile that holds, relative to the root."""
    config = load_settings(root, {}, {}).config
    return _find_plan(root, profile_of(config.profile), config.paths)


def _profile_for(root: Path, order: SetupParams) -> Profile:
    if order.profile is not None:
        return require_can_be_set_up(order.profile)
    settings = load_settings(root, {}, {})
    is_clear = settings.names_profile or len(settings.detected) == 1
    return require_can_be_set_up(settings.config.profile if is_clear else FIXPLAN.name)


def _values(root: Path, order: SetupParams, profile: Profile) -> dict[tuple[str, ...], Any]:
    """What the config file is to say, by keys; what it says already and nobody chose stays."""
    values: dict[tuple[str, ...], Any] = {("profile",): profile.name.value}
    config = load_settings(root, {}, {"profile": profile.name.value}).config
    if profile is SPEC and hindrances(config):
        values |= {("commits",): "agent", ("push",): False}
    if order.agent_command is not None:
        table: dict[str, Any] = {"argv": list(order.agent_command)}
        if order.agent_prompt not in {None, PromptBy.STDIN}:
            table["prompt"] = str(order.agent_prompt)
        values |= {("agent",): "command", ("agents", "command"): table}
    elif order.agent is not None:
        values[("agent",)] = order.agent
    elif config.agent not in {*KNOWN_AGENTS, *config.agents}:
        values[("agent",)] = Config().agent
    if order.max_iterations is not None:
        values[("max_iterations",)] = order.max_iterations
    if order.timeout is not None:
        values[("timeout",)] = duration_text(order.timeout)
    if order.max_cost_usd is not None:
        values[("max_cost_usd",)] = order.max_cost_usd
    if order.completion_phrase is not None:
        values[("promise", "complete")] = order.completion_phrase
    return values


def _find_plan(root: Path, profile: Profile, paths: PathsConfig) -> str | None:
    names = profile.plan_files if paths.plan is None else (paths.plan,)
    return next((name for name in names if (root / name).is_file()), None)


def _specification(
    root: Path, description: str, profile: Profile, *, today: date
) -> tuple[list[FileToWrite], str | None]:
    """The description's own file, where every agent of the loop reads it, and its path."""
    if not description.strip():
        return [], None
    names = find_specs(root)
    name = next(
        (one for one in names if is_said_by(_text_of(root, f"{FOLDER}/{one}") or "", description)),
        None,
    )
    if name is None:
        name = name_for(description, names)
        text = spec_text(description, created=today)
    else:
        text = _text_of(root, f"{FOLDER}/{name}") or ""
    path = f"{FOLDER}/{name}"
    files = [_to_write(root, path, text)]
    index = _text_of(root, f"{FOLDER}/{INDEX}")
    if profile is SPEC or index is not None:
        text = with_entry(index, name, description, today=today)
        files.append(_to_write(root, f"{FOLDER}/{INDEX}", text))
    return files, path


def _plan(
    root: Path, path: str, order: SetupParams, profile: Profile, *, spec: str | None
) -> PlanWritten:
    text = _text_of(root, path)
    if text is None or (not text.strip() and order.items):
        return new_plan(profile.name, order.items, spec=spec)
    origin = f" ({spec})" if spec and profile is SPEC else ""
    return add_items(text, order.items, origin=origin)


def _ignoring(root: Path, paths: PathsConfig) -> list[FileToWrite]:
    data = ignoring(root, paths)
    before = _bytes_of(root, ".gitignore")
    after = before if data is None else data
    return [] if after is None else [FileToWrite(path=".gitignore", before=before, after=after)]


def _to_write(root: Path, path: str, text: str) -> FileToWrite:
    data = text.encode("utf-8", errors="surrogateescape")
    return FileToWrite(path=path, before=_bytes_of(root, path), after=data)


def _bytes_of(root: Path, path: str) -> bytes | None:
    return read_regular(resolve_inside(root, path), LARGEST_FILE)


def _text_of(root: Path, path: str) -> str | None:
    data = _bytes_of(root, path)
    return None if data is None else data.decode("utf-8", errors="surrogateescape")


def _write(root: Path, file: FileToWrite) -> None:
    target = resolve_inside(root, file.path)
    try:
        make_folders_below(root, Path(root / file.path).parent)
        if file.before is None and read_if_there(target) is not None:
            raise ChangedMeanwhile(file.path)
        write_atomic(target, file.after, expected=file.before)
    except ChangedMeanwhile as error:
        raise StateUnusable(
            f"{target} was changed by somebody else meanwhile, so nothing was written; "
            "look at it, and set up again"
        ) from error
    except OSError as error:
        raise StateUnusable(
            f"{target} cannot be written: {error.strerror or error}; mend that, and try again"
        ) from error


def _put_back(root: Path, file: FileToWrite) -> None:
    """As it was; the error that led here is the one that is told."""
    target = root / file.path
    with contextlib.suppress(OSError, StateUnusable, ChangedMeanwhile):
        if file.before is not None:
            write_atomic(target, file.before, expected=file.after)
        elif read_if_there(target) == file.after:
            target.unlink()


def _allowed(worktree: Worktree, state: StateFolder) -> Sequence[trust.Claim]:
    """What the work tree's owner has allowed, as it is now."""
    settings = load_settings(worktree.root, {}, {})
    claims = trust.claims_of(worktree.root, settings.config, settings.from_file)
    missing = trust.not_allowed(state, claims)
    return [claim for claim in claims if claim not in missing]


def _allow_given(
    worktree: Worktree,
    state: StateFolder,
    before: Sequence[trust.Claim],
    planned: SetupPlanned,
    order: SetupParams,
) -> tuple[str, ...]:
    """A command that a person has just given needs no second leave; whatever else there is does."""
    settings = load_settings(worktree.root, {}, {})
    claims = trust.claims_of(worktree.root, settings.config, settings.from_file)
    given = [claim for claim in claims if order.agent_command and claim.agent == "command"]
    if given:
        kept = [claim for claim in before if claim.agent != "command"]
        trust.allow(state, worktree.root, [*kept, *given])
    needed = trust.claims_of_run(claims, planned.config, ())
    missing = trust.not_allowed(state, needed)
    if not missing:
        return ()
    names = ", ".join(claim.key for claim in missing)
    return (f"before a run, look at what this repository brings ({names}): ralph allow",)
