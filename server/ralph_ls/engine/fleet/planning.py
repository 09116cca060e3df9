"""Planning of a fleet: the plans of its repositories become tasks in the database.

A plan is read at the end of the branch that its repository's tasks are merged into, from the
remote. What would keep any task from running is raised here, before anything is queued.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from ralph_ls import __version__
from ralph_ls.core.fleet_rules import FleetTask, foreign_references, resolve_reference
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.formats.registry import format_of_plan
from ralph_ls.engine.clock import SystemClock
from ralph_ls.engine.fleet.ledger import Ledger
from ralph_ls.engine.fleet.mirror import Mirror, address_of, ref_word
from ralph_ls.engine.fleet.place import FOLDER, Repository
from ralph_ls.engine.fleet.workspaces import open_workspace
from ralph_ls.engine.parallel.lane_worktree import LaneTree, make_lane
from ralph_ls.engine.parallel.merge_branch import SHARED, MergeBranch
from ralph_ls.engine.parallel.rebase import require_merge_tree
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.errors import NotAllowed, RalphError, UsageError
from ralph_ls.protocol.fleet import FleetFile, FleetRepository, FleetTaskState
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.layout import find_worktree, new_run_id, state_root
from ralph_ls.store.project import trust
from ralph_ls.store.run.state_index import find_state


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPlan:
    """A repository's plan at the end of its branch."""

    repository: Repository
    open: tuple[FleetTask, ...]
    all: tuple[TaskRef, ...]
    """Finished ones too."""
    foreign: Mapping[str, tuple[str, ...]]
    """References to other repositories, by the id of the task that has them."""


def plan_fleet(fleet: FleetFile, ledger: Ledger, environment: Mapping[str, str]) -> str:
    """Put the open tasks of every repository into the database; the run that has them.

    A run that has not ended continues; its parked tasks stay parked. Raises a ``RalphError`` for
    what keeps a repository's tasks from running.
    """
    if not fleet.repositories:
        raise UsageError("the fleet has no repository; add one: ralph fleet add PATH")
    run = ledger.active_run() or new_run_id(SystemClock().now())
    plans = [
        read_plan(name, settings, run, environment) for name, settings in fleet.repositories.items()
    ]
    resolved = _resolve(plans)
    _require_no_cycle(resolved)
    ledger.open_run(
        run,
        {
            "version": __version__,
            "lanes": fleet.lanes,
            "timezone": fleet.timezone,
            "max_cost_usd": fleet.max_cost_usd,
            "protocol": max(one.protocol for one in fleet.repositories.values()),
        },
    )
    for plan in plans:
        repository = plan.repository
        ledger.put_repository(
            run,
            repository.name,
            {
                "address": repository.mirror.address,
                "settings": repository.settings.stored(),
                "approved": dict(repository.approved),
                "base": repository.base,
            },
        )
        ledger.put_tasks(run, repository.name, resolved[repository.name])
    return run


def read_plan(
    name: str, settings: FleetRepository, run: str, environment: Mapping[str, str]
) -> ReadPlan:
    """The plan of one repository; raises a ``RalphError`` where its tasks could not run."""
    repository = open_repository(name, settings, run, environment)
    tree = plan_tree(repository, environment)
    try:
        workspace = workspace_for_plan(repository, tree, environment)
    except NotAllowed as error:
        raise NotAllowed(
            f"{name}: {error.message.partition(';')[0]}; review and approve them with: "
            f"ralph fleet allow {name}"
        ) from error
    except RalphError as error:
        raise type(error)(f"{name}: {error.message}") from error
    require_merge_tree(tree.root)
    known = format_of_plan(workspace.plan_path, profile_of(workspace.config.profile).plan_kind)
    if known.storage in SHARED or workspace.source.request is not None:
        raise UsageError(
            f"{name}: a fleet works on plans in files, and the tasks of this repository are "
            f"{known.source}; leave it out"
        )
    branch = MergeBranch(workspace, settings.onto)
    commit = tree.head()
    text = branch.text_at(commit)
    parsed = workspace.source.parse(text).plan
    foreign = foreign_references(parsed.tasks, text)
    return ReadPlan(
        repository=repository,
        open=tuple(
            FleetTask(repository=name, task=one, state=FleetTaskState.WAITING)
            for one in branch.plan_at(commit).tasks
        ),
        all=tuple(TaskRef(id=one.id, title=one.title) for one in parsed.tasks),
        foreign=foreign,
    )


def open_repository(
    name: str,
    settings: FleetRepository,
    run: str,
    environment: Mapping[str, str],
    *,
    for_publishing: bool = False,
) -> Repository:
    """A repository of the fleet's file, fetched; raises a ``RalphError`` without a first commit,
    and unless it is ``for_publishing``, where what tasks are merged into is checked out.
    """
    address = address_of(settings.path, settings.url)
    mirror = Mirror.at(state_root(environment) / FOLDER / "mirrors", address, environment)
    mirror.prepare()
    approved = dict(settings.approved)
    if settings.path is not None:
        worktree = find_worktree(Path(address))
        if not for_publishing:
            _require_not_checked_out(name, settings, worktree.root)
        state = find_state(state_root(environment), worktree)
        approved = {**trust.read_record(state).allowed, **approved}
    mirror.fetch()
    branch = settings.branch or mirror.default_branch()
    base = mirror.branch(branch)
    if base is None:
        raise UsageError(
            f"{name}: {address} has no branch {branch} with a commit; name another one with "
            "branch in fleet.toml"
        )
    return Repository(
        run=run, name=name, base=base, settings=settings, approved=approved, mirror=mirror
    )


def plan_tree(repository: Repository, environment: Mapping[str, str]) -> LaneTree:
    """The work tree in which a repository's plan is read, at the end of its branch."""
    mirror = repository.mirror
    path = mirror.root.parent.parent / "plans" / ref_word(f"{mirror.root.name}-{repository.name}")
    commit = repository.target()
    with mirror.lock():
        make_lane(mirror.root, path, f"ralph/plan/{path.name}", commit)
        worktree = find_worktree(path)
        run_git(path, "reset", "--quiet", "--hard", commit)
        run_git(path, "clean", "-ffdq")
    state = find_state(state_root(environment), worktree)
    return LaneTree(worktree=worktree, state=state, branch=path.name)


def workspace_for_plan(
    repository: Repository,
    tree: LaneTree,
    environment: Mapping[str, str],
    *,
    needs_approval: bool = True,
) -> Workspace:
    """The workspace of a repository's plan."""
    return open_workspace(
        tree,
        environment,
        repository.overrides,
        run=new_run_id(SystemClock().now()),
        approved=repository.approved,
        needs_approval=needs_approval,
    )


def _require_not_checked_out(name: str, settings: FleetRepository, root: Path) -> None:
    printed = run_git(root, "worktree", "list", "--porcelain").decode("utf-8", "surrogateescape")
    if f"branch refs/heads/{settings.onto}\n" in f"{printed}\n":
        raise UsageError(
            f"{name}: tasks are merged into {settings.onto}, which is checked out in a work tree "
            f"of {root}; check out another branch there, or name another one with onto in "
            "fleet.toml"
        )


def _resolve(plans: Sequence[ReadPlan]) -> dict[str, list[FleetTask]]:
    """The open tasks of each repository, with what they wait for in others."""
    tasks = {plan.repository.name: plan.all for plan in plans}
    resolved: dict[str, list[FleetTask]] = {}
    for plan in plans:
        name = plan.repository.name
        found: list[FleetTask] = []
        for one in plan.open:
            keys = set()
            for reference in plan.foreign.get(one.task.task.id, ()):
                key = resolve_reference(reference, tasks)
                if key is None:
                    raise UsageError(
                        f"{name}: “{one.task.task.title}” depends on {reference}, and the fleet "
                        "has no such task; write REPOSITORY#ID or REPOSITORY#TITLE of an existing "
                        f"one (repositories: {', '.join(sorted(tasks))})"
                    )
                keys.add(key)
            found.append(replace(one, foreign=frozenset(keys)))
        resolved[name] = found
    return resolved


def _require_no_cycle(resolved: Mapping[str, Sequence[FleetTask]]) -> None:
    """Raise ``UsageError`` where tasks of several repositories wait for each other."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    has_foreign = False
    for name, tasks in resolved.items():
        for one in tasks:
            has_foreign = has_foreign or bool(one.foreign)
            own = (f"{name}#{task}" for task in one.task.waits_for)
            sorter.add(one.key, *one.foreign, *own)
    try:
        sorter.prepare()
    except CycleError as error:
        if has_foreign:
            circle = " → ".join(error.args[1])
            raise UsageError(
                f"tasks of the fleet wait for each other: {circle}; remove a dependency"
            ) from error
