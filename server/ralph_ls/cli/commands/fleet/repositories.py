"""``ralph fleet add``, ``list`` and ``allow``: the repositories of the fleet's file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

from ralph_ls.cli.fleet_context import FleetContext
from ralph_ls.cli.output import emit_json, print_text
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.fleet import FleetFile, FleetRepository
from ralph_ls.store.layout import find_worktree
from ralph_ls.store.project.fleet_file import add_repository, approve

_URL = re.compile(r"[a-z][a-z0-9+.-]*://|[^/\s]+@[^/\s]+:")


def add(context: FleetContext, words: tuple[str, ...], *, name: str | None, push: bool) -> None:
    """Add a repository to the file."""
    if len(words) != 1:
        raise UsageError("name a folder or a URL: ralph fleet add ~/src/api")
    (place,) = words
    values: dict[str, Any]
    if _URL.match(place):
        if not push:
            raise UsageError(
                f"workers push the commits of each task to {place}; allow that: "
                f"ralph fleet add {place} --push"
            )
        values = {"url": place, "push": True}
        stem = place.rstrip("/").rpartition("/")[2].rpartition(":")[2].removesuffix(".git")
    else:
        root = find_worktree(Path(place).expanduser()).root
        values, stem = {"path": str(root)}, root.name
    chosen = name or re.sub(r"[^a-z0-9_.-]+", "-", stem.lower()).strip("-._") or "repository"
    add_repository(context.path, chosen, values)
    print_text(f"{context.path} has {chosen} now.")
    if "url" in values:
        print_text(f"Approve what it runs: ralph fleet allow {chosen}")
    print_text("Work on all plans: ralph fleet run --until-done")


def list_all(context: FleetContext) -> None:
    """Print the repositories."""
    fleet = context.fleet()
    if context.as_json:
        emit_json(fleet.model_dump(mode="json", exclude={"database"}))
        return
    for name, one in fleet.repositories.items():
        print_text(f"{name}  {one.path or one.url} → {one.onto}, {one.lanes} at a time")
    if not fleet.repositories:
        print_text("The fleet has no repository. Add one: ralph fleet add PATH")


def allow(context: FleetContext, words: tuple[str, ...], *, yes: bool) -> None:
    """Show what the repositories would execute, and store the approval in the file."""
    fleet = context.fleet()
    _require_known(words, fleet)
    for name in words or tuple(fleet.repositories):
        _allow_one(context, name, fleet.repositories[name], yes=yes)


def publish(context: FleetContext, words: tuple[str, ...], *, yes: bool) -> None:
    """Bring what was merged onto the branches that work started from, in all repositories."""
    from ralph_ls.core.fleet_rules import AT_WORK
    from ralph_ls.engine.clock import SystemClock
    from ralph_ls.engine.fleet.publish import apply_changes, change_words, prepare_changes
    from ralph_ls.store.layout import new_run_id

    fleet = context.fleet()
    _require_known(words, fleet)
    ledger = context.ledger()
    run = ledger.active_run()
    at_work = [] if run is None else [one for one in ledger.tasks(run) if one["state"] in AT_WORK]
    if at_work:
        raise UsageError(
            f"{at_work[0]['task']} is {at_work[0]['state']}; let the fleet finish first: "
            "ralph fleet drain"
        )
    changes = prepare_changes(fleet, words, new_run_id(SystemClock().now()), context.environment)
    if not changes:
        print_text("Nothing to publish: the branches have all that was merged.")
        return
    for line in change_words(changes):
        print_text(line)
    if not yes and not typer.confirm("All are rebased and valid. Publish them in this order?"):
        print_text("Nothing was published.")
        return
    apply_changes(changes)
    print_text(f"Published: {', '.join(one.name for one in changes)}")


def _require_known(words: tuple[str, ...], fleet: FleetFile) -> None:
    unknown = [name for name in words if name not in fleet.repositories]
    if unknown:
        near = did_you_mean(unknown[0], list(fleet.repositories))
        raise UsageError(f"the fleet has no repository {unknown[0]!r}{near}")


def _allow_one(context: FleetContext, name: str, settings: FleetRepository, *, yes: bool) -> None:
    from ralph_ls.engine.clock import SystemClock
    from ralph_ls.engine.fleet.planning import open_repository, plan_tree, workspace_for_plan
    from ralph_ls.store.layout import new_run_id

    run = new_run_id(SystemClock().now())
    repository = open_repository(name, settings, run, context.environment)
    tree = plan_tree(repository, context.environment)
    workspace = workspace_for_plan(repository, tree, context.environment, needs_approval=False)
    missing = workspace.trust.missing(workspace.claims)
    if not missing:
        print_text(f"{name}: nothing to approve")
        return
    for claim in missing:
        print_text(f"{name} · {claim.key}")
        for line in claim.text.splitlines():
            print_text(f"    {line}")
    if not yes and not typer.confirm(f"Allow {name} to run this?"):
        print_text(f"{name}: nothing was approved")
        return
    approved = {claim.key: claim.digest for claim in workspace.claims}
    approve(context.path, name, {**settings.approved, **approved})
    print_text(f"{name}: approved")
