"""Context of ``ralph fleet``: the file, the database, and how results are printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_ls.protocol.fleet import DATABASE_VARIABLE
from ralph_ls.store.layout import state_root

if TYPE_CHECKING:
    from ralph_ls.engine.fleet.ledger import Ledger
    from ralph_ls.protocol.fleet import FleetFile


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """How a worker was asked for."""

    until_done: bool
    submit: bool
    labels: tuple[str, ...]
    lanes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetContext:
    """What every action of ``ralph fleet`` begins with."""

    environment: Mapping[str, str]
    file: str | None
    database: str | None
    as_json: bool

    @property
    def path(self) -> Path:
        """The fleet's file."""
        from ralph_ls.store.project.fleet_file import fleet_path

        return fleet_path(self.environment, self.file)

    def fleet(self) -> FleetFile:
        """The fleet; raises ``ConfigError`` where there is none."""
        from ralph_ls.store.project.fleet_file import load_fleet

        return load_fleet(self.path)

    def address(self) -> str:
        """The database: the one that was given, that of the environment or file, else SQLite."""
        given = self.database or self.environment.get(DATABASE_VARIABLE)
        if given is None and self.path.exists():
            given = self.fleet().database
        return given or f"sqlite:///{state_root(self.environment) / 'fleet' / 'fleet.sqlite'}"

    def may_push(self, address: str) -> bool:
        """Whether the file on this machine has a repository there that may be pushed to.

        A database in a file is that of this user alone, so what is in it came from such a file.
        """
        from ralph_ls.engine.fleet.mirror import address_of

        if self.address().startswith("sqlite"):
            return True
        if not self.path.exists():
            return False
        repositories = self.fleet().repositories.values()
        return any(address_of(one.path, one.url) == address for one in repositories)

    def ledger(self) -> Ledger:
        """The tasks in the database."""
        from ralph_ls.engine.fleet.database import make_tables, open_engine
        from ralph_ls.engine.fleet.ledger import Ledger

        engine = open_engine(self.address())
        make_tables(engine)
        return Ledger(engine)
