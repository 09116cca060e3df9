"""Leases as engines read them."""

from __future__ import annotations

from pathlib import Path

from ralph_ls.engine.clock import boot_seconds
from ralph_ls.engine.run.lease import LEASE_VARIABLE, is_lease_held, lease_in, write_lease


def test_a_lease_ends_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "lease"

    assert not is_lease_held(path)
    write_lease(path, boot_seconds() + 60)
    assert is_lease_held(path)
    write_lease(path, boot_seconds() - 1)
    assert not is_lease_held(path)
    path.write_text("soon")
    assert not is_lease_held(path)
    assert lease_in({LEASE_VARIABLE: str(path)}) == path
    assert lease_in({}) is None
