"""A task that was pushed by its worker and is to be merged, without the worker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from threading import Event
from typing import Any

from ralph_ls.cli.commands.fleet.verb import fleet_verb
from ralph_ls.engine.fleet.database import make_tables, open_engine
from ralph_ls.engine.fleet.ledger import Ledger
from ralph_ls.engine.fleet.merge import merge_task
from ralph_ls.engine.fleet.mirror import work_ref
from ralph_ls.engine.fleet.outage import Patience
from ralph_ls.engine.fleet.place import WorkerPlace
from ralph_ls.engine.fleet.planning import plan_fleet
from ralph_ls.engine.fleet.roster import Roster
from ralph_ls.store.project.fleet_file import load_fleet
from tests.engine.project_builder import git
from tests.fleet.fleet_project import FleetProject


class Merging:
    """A fleet of one repository whose first task was pushed by its worker and is to be merged."""

    def __init__(
        self,
        project: FleetProject,
        *,
        text: str = "A\n",
        name: str = "A.txt",
        address: str | None = None,
        files: Mapping[str, str] | None = None,
        settings: str = "",
    ) -> None:
        self.remote = project.repository(
            "api",
            ["Task A", "Task B"],
            files={"x.txt": "base\n", **(files or {})},
            remote=False,
            settings=settings,
        )
        self.address = address or f"sqlite:///{project.folder / 'fleet.sqlite'}"
        engine = open_engine(self.address)
        make_tables(engine)
        is_stopping = Event()
        self.ledger = Ledger(engine, Patience(is_stopping))
        if files:
            fleet_verb("allow", yes=True)
        self.run = plan_fleet(load_fleet(project.file), self.ledger, os.environ)
        Roster(engine).join("w1", [], "1.0")
        self.place = WorkerPlace(
            worker="w1",
            ledger=self.ledger,
            environment=dict(os.environ),
            lease_seconds=30,
            is_stopping=is_stopping,
        )
        self.mirror = self.place.repository(self.run, "api").mirror
        self.ledger.release(self.run)
        (self.turn,) = self.ledger.open_turns(self.run)
        self.task = self.turn.task
        taken = self.ledger.take(self.run, self.task, 1, "w1")
        assert taken is not None
        self.epoch: int = taken["epoch"]
        self.tree = project.folder / "work"
        git(self.remote, "worktree", "add", "-q", "--detach", str(self.tree), "main")
        self.head = self.commit(name, text)
        self.ref = work_ref(self.run, "api", taken["id"], self.epoch)
        self.mirror.fetch()
        git(self.remote, "update-ref", self.ref, self.head)
        assert self.ledger.pushed(self.run, self.task, self.epoch, self.head)
        assert self.ledger.finished(self.run, self.task, self.epoch)

    def commit(self, name: str, text: str) -> str:
        (self.tree / name).write_text(text)
        plan = self.tree / "@fix_plan.md"
        plan.write_text(plan.read_text().replace("[ ] Task A", "[x] Task A"))
        git(self.tree, "add", "-A")
        git(self.tree, "commit", "-qm", "Task A")
        return git(self.tree, "rev-parse", "HEAD").strip()

    def on_another_machine(self, project: FleetProject) -> WorkerPlace:
        """A worker with separate folders and sessions."""
        return WorkerPlace(
            worker="w2",
            ledger=Ledger(open_engine(self.address), Patience(Event())),
            environment=project.environment("other"),
            lease_seconds=30,
        )

    def merge(self) -> dict[str, Any]:
        row = self.ledger.task(self.run, self.task)
        assert row is not None
        merge_task(self.place, self.run, self.task, row["turn"])
        after = self.ledger.task(self.run, self.task)
        assert after is not None
        return dict(after)

    def branch(self) -> list[str]:
        """Subjects of the branch that is merged into, the oldest first."""
        return git(self.remote, "log", "--reverse", "--format=%s", "main..ralph/fleet").splitlines()
