"""Workspace of an engine: the values that its parts share, the keeper's record, the user's edits.

The keeper's record is the work tree as it was when an engine and its agent were both gone. Edits of
the plan are those that editors reported while the agent worked: the user's tick is not the agent's
work, and counts for nothing else (docs/rules.md#user-edits).
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.plan.edit.progress_log import archive_path
from ralph_ls.core.plurals import some_of
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.engine.agent.description import Agent
from ralph_ls.engine.git.worktree_state import LoopFiles
from ralph_ls.engine.plan.source import PlanSource
from ralph_ls.engine.sandbox.box import Box
from ralph_ls.engine.sandbox.selection import ChosenSandbox, box_for_checks
from ralph_ls.protocol.config.config import Config, LogForm
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.files import PRIVATE_FILE, read_if_there, write_atomic
from ralph_ls.store.layout import RunFiles, StateFolder, Worktree
from ralph_ls.store.project.plan_file import UserSave, read_saves, text_hash
from ralph_ls.store.project.project_state import ProjectState
from ralph_ls.store.project.trust import Claim, RunTrust
from ralph_ls.store.run.engine_output import OUTPUT

NAME = "last-look.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalSnapshot:
    """One look, taken by the keeper (``engine.keeper``)."""

    start: int | None
    """The start whose agent that engine had started last; None: it had started none."""
    ended_at: float | None
    """When the agent ended, in seconds since the epoch; None: the engine was informed of it."""
    died_at: float
    """When the engine died."""
    looked_at: float
    """When it was taken."""
    tree: Baseline


def load_final_snapshot(folder: Path) -> FinalSnapshot | None:
    """The look in a run's folder; None where there is none that can be read."""
    data = read_if_there(folder / NAME)
    if data is None:
        return None
    try:
        found = json.loads(data)
        return FinalSnapshot(
            start=found["start"],
            ended_at=found["endedAt"],
            died_at=found["diedAt"],
            looked_at=found["lookedAt"],
            tree=Baseline.model_validate(found["tree"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def save_final_snapshot(folder: Path, look: FinalSnapshot) -> None:
    """Keep a look for the next engine."""
    seen = {
        "start": look.start,
        "endedAt": look.ended_at,
        "diedAt": look.died_at,
        "lookedAt": look.looked_at,
        "tree": look.tree.model_dump(mode="json", by_alias=True),
    }
    write_atomic(folder / NAME, json.dumps(seen).encode(), mode=PRIVATE_FILE)


def remove_final_snapshot(folder: Path) -> None:
    """Remove it, once the journal has what came of it."""
    with contextlib.suppress(OSError):
        (folder / NAME).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """One run's place in the world."""

    worktree: Worktree
    state: StateFolder
    run: str
    files: RunFiles
    config: Config
    agent: Agent
    """The one that does the run's iterations, where nothing says otherwise."""
    source: PlanSource
    """Where the tasks come from."""
    environment: Mapping[str, str]
    """The caller's, from which the agent's is made."""
    redactor: Redactor
    agents: Mapping[str, Agent] = field(default_factory=dict)
    """Others that an iteration may be given to, by their names in the settings."""
    judge: Agent | None = None
    """The one that judges finished work; None: nobody does."""
    claims: tuple[Claim, ...] = ()
    """What the repository brings and this run may use; allowed when the run began."""
    trust: RunTrust = field(default_factory=lambda: RunTrust({}))
    """What of that, and of what the plan names, the run may execute."""
    project: ProjectState | None = None
    """None where nothing is kept beyond the work tree."""
    last_look: FinalSnapshot | None = None
    """The tree when the engine before this one and its agent were both gone."""
    issues_touched: bool = False
    """The issues of ``bd`` may have been changed since, so that what differs is not the agent's."""
    sandbox: ChosenSandbox = field(default_factory=lambda: ChosenSandbox(kind="none"))
    """What the run is kept in."""
    written_at_start: tuple[str, ...] = ()
    """The loop's own files that this start has written; the first commit takes them along."""

    def agent_for(self, name: str | None) -> Agent:
        """The agent of that name in the settings; None: the run's own."""
        return self.agent if name is None else self.agents.get(name, self.agent)

    @property
    def box_for_checks(self) -> Box | None:
        """The box that validation scripts and closing commands run in; None: in none."""
        return box_for_checks(self.sandbox.box, self.config)

    @property
    def root(self) -> Path:
        return self.worktree.root

    def is_gone(self) -> bool:
        """Whether the work tree was removed; one that merely cannot be reached may come back."""
        try:
            # The root alone would not do: what is written into it later creates it again.
            (self.root / ".git").lstat()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return False

    @property
    def plan_path(self) -> str:
        """Relative to the root; where the plan is no file, what it is called."""
        return self.source.path

    @property
    def log_folder_outside(self) -> Path | None:
        """Folder of the logs for people, if that is outside the work tree.

        See docs/rules.md#files.
        """
        if self.project is None or self.config.logs.form is not LogForm.JSONL:
            return None
        return self.project.logs

    @property
    def own_files(self) -> LoopFiles:
        """The loop's own files, whose changes are no evidence; ralph's own output is among them."""
        paths = self.config.paths
        return LoopFiles(
            paths=frozenset(
                {
                    *self.source.own_files,
                    *self.progress_files,
                    paths.decide,
                    paths.blocked,
                    *self.guarded_files,
                    *OUTPUT.paths(self.root),
                }
            ),
            folders=(".ralph", paths.logs, *self.source.own_folders, *self.state_inside),
        )

    @property
    def progress_files(self) -> tuple[str, str]:
        """The progress log, and the file beside it that its old entries go to."""
        log = self.config.paths.progress
        return log, archive_path(log)

    @property
    def guarded_files(self) -> frozenset[str]:
        """What no iteration may change, beside the settings: what ``ralph allow`` covers."""
        named = (claim.path for claim in self.claims)
        return frozenset({self.config.paths.validate_script, *filter(None, named)})

    @property
    def state_inside(self) -> tuple[str, ...]:
        """Folder of the state in the work tree, if it was configured to be there."""
        folder = Path(os.path.realpath(self.state.folder.parent))
        if not folder.is_relative_to(self.root):
            return ()
        return (folder.relative_to(self.root).as_posix(),)

    def marker(self, start: int) -> str:
        """What marks every process of an iteration."""
        return f"{self.run}/{start}"


SHOWN_TASKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEdits:
    """What people saved of the plan in one iteration."""

    ticked: frozenset[str] = frozenset()
    """Ids of the tasks that became done with that."""
    moved: frozenset[str] = frozenset()
    """Ids of the tasks of which they changed what an agent may not."""
    alone: bool = False
    """Whether the plan differs by nothing else."""


def find_plan_edits(
    workspace: Workspace, before: str, after: str, *, since: datetime | None
) -> PlanEdits:
    """What people made of the plan from ``before`` to ``after``, since the former was read."""
    was, now = (workspace.source.files_of(text) for text in (before, after))
    changed = [path for path in {**was, **now} if was.get(path) != now.get(path)]
    saves: list[UserSave] = []
    users: list[str] = []
    for path in changed:
        found = saves_of(workspace, path, since=since)
        reached = text_hash(was.get(path, ""))
        for save in found:
            if save.before == reached:
                reached = save.sha256
        if found and reached == text_hash(now.get(path, "")):
            users.append(path)
        saves += found
    return PlanEdits(
        ticked=frozenset(task for save in saves for task in save.ticked),
        moved=frozenset(task for save in saves for _, task in save.decided),
        alone=bool(users) and users == changed,
    )


def saves_of(workspace: Workspace, path: str, *, since: datetime | None) -> Sequence[UserSave]:
    """What people saved of a file of the work tree, oldest first."""
    if since is None:
        return ()
    real = os.path.realpath(workspace.root / path)
    path = os.path.relpath(real, workspace.root).replace(os.sep, "/")
    return read_saves(workspace.state, path, since=since)


def emit_plan_edits(edits: PlanEdits, done: Collection[str]) -> tuple[Notice, ...]:
    """Report which of the tasks that are done now were ticked by the user."""
    theirs = [task for task in done if task in edits.ticked]
    if not theirs:
        return ()
    message = (
        "you ticked tasks in the plan while the agent worked, which is not its progress: "
        f"{some_of(theirs, SHOWN_TASKS)}"
    )
    return (Notice(code="person-edited-plan", message=message),)
