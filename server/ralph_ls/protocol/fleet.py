"""Fleet: the file that describes it, the states of its tasks, and what ``ralph fleet`` prints."""

from __future__ import annotations

import re
import shlex
from datetime import time
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ralph_ls.protocol.base import Timestamp, WireModel
from ralph_ls.protocol.config.tables import Duration

FLEET_FILE = "fleet.toml"

DATABASE_VARIABLE = "RALPH_FLEET_DATABASE"

FLEET_PROTOCOL = 2
"""Version of what workers of one fleet have to agree about; a worker takes no newer one.

1: all of it but releases. 2: a repository may have `release = "tag"` or `"published"`. A run has
the lowest version that has what it uses, so that older workers take part in it while they can.
"""


class FleetTaskState(StrEnum):
    """Where a task of a fleet is."""

    WAITING = "waiting"
    """For another task, a free lane, or the hours of its repository."""
    READY = "ready"
    """In the queue: the next worker with room takes it."""
    WORKING = "working"
    """A worker works on it."""
    QUEUED = "queued"
    """It is done, and its merge is due."""
    MERGING = "merging"
    """Its commits are rebased and validated; the branch is about to move."""
    MERGED = "merged"
    ASKING = "asking"
    """It has a question: `ralph fleet answer TASK TEXT`."""
    PARKED = "parked"
    """It needs its user: `ralph fleet retry TASK`."""
    DROPPED = "dropped"
    """The plan no longer has it as an open task."""


class FleetRelease(StrEnum):
    """When a merged task lets tasks of other repositories start that depend on it."""

    MERGE = "merge"
    """At once."""
    TAG = "tag"
    """When a tag of its repository's remote has its commits; `release_tags` says which tags."""
    PUBLISHED = "published"
    """When the branch that work starts from has its commits on the remote, as after `ralph fleet
    publish`."""


class FleetRunState(StrEnum):
    """What a fleet as a whole does."""

    RUNNING = "running"
    DRAINING = "draining"
    """Tasks at work are finished and merged; none is started."""
    STOPPED = "stopped"
    """Agents are stopped; what was committed is kept."""
    ENDED = "ended"
    """Every task is merged."""


_NAME = r"^[a-z0-9][a-z0-9_.-]{0,39}$"
_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")

Label = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,29}$")]
"""A word for what a worker has or a task needs, such as ``gpu`` or ``linux``."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FleetRepository(_Table):
    """One repository of a fleet: `[repositories.NAME]`."""

    path: str | None = None
    """Folder of a repository on this machine; `~` is your home."""
    url: str | None = None
    """Address of a remote that every worker can reach."""
    push: bool = False
    """Allow pushing to the address. Without it a repository with a `url` is refused. Work in a
    folder on this machine is pushed to that folder alone."""
    branch: str | None = None
    """Branch that work starts from; the repository's current or default one where it is unset."""
    onto: str = "ralph/fleet"
    """Branch that tasks are merged into. It must not be checked out anywhere."""
    plan: str | None = None
    """Path of the plan, where the repository's settings name no other."""
    agent: str | None = None
    """Agent for its tasks, where its settings name no other."""
    agent_command: str | None = None
    """Any program as the agent, as for `ralph run --agent-command`."""
    profile: str | None = None
    """Profile for its tasks."""
    lanes: int = Field(default=1, ge=1, le=64)
    """Tasks of this repository at a time, on all workers together."""
    priority: int = Field(default=5, ge=1, le=9)
    """1 is taken first, 9 last."""
    hours: str | None = None
    """When tasks may start, such as `22:00-06:00`, in the fleet's `timezone`."""
    labels: tuple[Label, ...] = ()
    """What a worker must have to take its tasks, such as `gpu`."""
    max_iterations: int | None = Field(default=None, ge=1)
    """Limit for each attempt at a task."""
    max_cost_usd: float | None = Field(default=None, gt=0)
    """Limit for each attempt at a task."""
    max_duration: Duration | None = None
    """Limit for each attempt at a task, such as `2h`."""
    release: FleetRelease = FleetRelease.MERGE
    """When tasks of other repositories may start that depend on tasks of this one."""
    release_tags: str = Field(default="v*", pattern=r"^[A-Za-z0-9*?][A-Za-z0-9._/*?+-]{0,99}$")
    """Which tags count with `release = "tag"`, such as `v*` or `release/?.0`."""
    max_failures: int = Field(default=3, ge=1)
    """After so many parked tasks in a row the repository starts no more: the fleet's breaker."""
    check_secrets: bool = True
    """Park a task whose commits have what looks like a secret, before they are pushed."""
    approved: dict[str, str] = Field(default_factory=dict)
    """What `ralph fleet allow` has approved: name and SHA-256 of each command and script."""

    @field_validator("hours")
    @classmethod
    def _hours(cls, value: str | None) -> str | None:
        if value is not None and not _HOURS.fullmatch(value):
            raise ValueError("write the hours as 22:00-06:00")
        return value

    @field_validator("agent_command")
    @classmethod
    def _words(cls, value: str | None) -> str | None:
        if value is not None and not shlex.split(value):
            raise ValueError("name a program, such as ./agent.sh --fast")
        return value

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.path is None) == (self.url is None):
            raise ValueError("name either its path or its url")
        if self.url is not None and not self.push:
            raise ValueError(
                "workers push each task's commits to its url; allow that with push = true"
            )
        return self

    @property
    def protocol(self) -> int:
        """The lowest version of workers that have what these settings need."""
        return 1 if self.release is FleetRelease.MERGE else 2

    def stored(self) -> dict[str, Any]:
        """What the database keeps: older workers do not know newer settings, so only those set."""
        return self.model_dump(mode="json", exclude={"approved"}, exclude_defaults=True)

    @property
    def opening_hours(self) -> tuple[time, time] | None:
        """The hours as times of day."""
        found = _HOURS.fullmatch(self.hours or "")
        if found is None:
            return None
        one, two, three, four = map(int, found.groups())
        return time(one, two), time(three, four)


class FleetFile(_Table):
    """`fleet.toml`: the repositories of a fleet, and the limits of all of them."""

    database: str | None = None
    """Address of a Postgres database that workers on several machines share. Without it, the fleet
    runs on this machine with SQLite."""
    lanes: int = Field(default=2, ge=1, le=64)
    """Tasks at a time on each worker."""
    max_cost_usd: float | None = Field(default=None, gt=0)
    """No task is started once all tasks together have cost so much."""
    timezone: str = "UTC"
    """Zone of the hours, such as `Europe/Berlin`."""
    repositories: dict[Annotated[str, Field(pattern=_NAME)], FleetRepository] = Field(
        default_factory=dict
    )

    @field_validator("timezone")
    @classmethod
    def _zone(cls, value: str) -> str:
        from zoneinfo import ZoneInfo

        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError) as error:
            raise ValueError("write a zone's name, such as Europe/Berlin") from error
        return value


class FleetTaskView(WireModel):
    """A task in `ralph fleet status --json`."""

    task: str
    """`repository#id`, as `ralph fleet retry` takes it."""
    title: str
    state: FleetTaskState
    waits_for: tuple[str, ...] = ()
    """Unmerged tasks of any repository that it depends on."""
    worker: str | None = None
    epoch: int = 0
    """How often a worker has taken it."""
    iterations: int = 0
    cost_usd: float = 0.0
    message: str | None = None
    """Why it is parked, what it asks, or why its last merge was refused."""
    commit: str | None = None
    """Where the branch was after its merge."""
    released: str | None = None
    """The tag or branch that released it to tasks of other repositories that wait for that."""
    unreleased: str | None = None
    """What a merged task lacks that tasks of other repositories wait for."""


class WaitingTask(WireModel):
    """A task of a fleet that waits for its user."""

    task: str
    title: str
    state: FleetTaskState
    epoch: int
    message: str
    """Its question, or what is wrong."""
    workspace: str
    """The repository: a folder, or the URL of its remote."""
    iterations: int
    since: Timestamp


class WaitingTasks(WireModel):
    """What waits in the database of one fleet, as a file in the state folder has it."""

    v: Literal[1] = 1
    run: str
    command: tuple[str, ...] = Field(min_length=1)
    """The program that read the database, which can change it too."""
    options: tuple[str, ...] = ()
    """Those of ``ralph fleet`` that name the database."""
    needs_variable: bool = False
    """The address was in the environment, or on the command line, and so is not here."""
    tasks: tuple[WaitingTask, ...] = ()


class FleetRepositoryView(WireModel):
    """A repository in `ralph fleet status --json`."""

    name: str
    onto: str
    """Branch that tasks are merged into."""
    merged: int = 0
    total: int = 0
    breaker: Literal["closed", "open"] = "closed"
    problem: str | None = None
    """Why it starts no task."""


class FleetWorkerView(WireModel):
    """A worker in `ralph fleet status --json`."""

    worker: str
    labels: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    seen: Timestamp
    """Last sign of life, by the database's clock."""
    version: str


class FleetStatus(WireModel):
    """What `ralph fleet status --json` prints."""

    run: str | None = None
    state: FleetRunState | None = None
    database: str
    """Without its password."""
    cost_usd: float = 0.0
    repositories: tuple[FleetRepositoryView, ...] = ()
    tasks: tuple[FleetTaskView, ...] = ()
    workers: tuple[FleetWorkerView, ...] = ()
