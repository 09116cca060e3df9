"""Whose the changes are that an engine finds when it takes up the run of a dead one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ralph_ls.core.loop.evidence.ownership import (
    AgentEndFacts,
    ChangedPath,
    FileOwner,
    Ownership,
    OwnershipOrder,
    dispute_words,
    left_to_user_words,
    owner_of,
    ownership_of,
)

AGENT, USER, BOTH, UNKNOWN = FileOwner.AGENT, FileOwner.USER, FileOwner.BOTH, FileOwner.UNKNOWN

LOOKED = AgentEndFacts(inspected_at=160.0, ended_at=100.0, alive_at=90.0)
HEARD_OF = AgentEndFacts(inspected_at=160.0, ended_at=None, alive_at=90.0)
ENDED = AgentEndFacts(ended_at=100.0, alive_at=90.0)
NO_END = AgentEndFacts(alive_at=90.0)
NOTHING = AgentEndFacts()


def path(**fields: Any) -> ChangedPath:
    """A file that was not there, and is now."""
    return ChangedPath(**{"path": "a", "before": None, "now": "new", "written_at": 80.0, **fields})


CASES: dict[str, tuple[AgentEndFacts, ChangedPath, FileOwner]] = {
    # Somebody looked when both were gone.
    "as it was left": (LOOKED, path(left="new"), AGENT),
    "as it was left, end not recorded": (HEARD_OF, path(left="new", written_at=200.0), AGENT),
    "written while the dead engine still settled": (
        LOOKED,
        path(left="new", written_at=101.0),
        USER,
    ),
    "the plan, written by the engine itself": (
        LOOKED,
        path(left="new", written_at=101.0, is_loops=True),
        AGENT,
    ),
    "written between the engine's death and the look": (
        replace(HEARD_OF, died_at=150.0),
        path(left="new", written_at=151.0),
        USER,
    ),
    "written before the engine's death, end not recorded": (
        replace(HEARD_OF, died_at=150.0),
        path(left="new", written_at=149.0),
        AGENT,
    ),
    "the plan, as the engine left it": (
        replace(LOOKED, died_at=150.0),
        path(left="new", written_at=149.0, is_loops=True),
        AGENT,
    ),
    "the plan, written between the engine's death and the look": (
        replace(LOOKED, died_at=150.0),
        path(left="new", written_at=151.0, is_loops=True),
        UNKNOWN,
    ),
    "the same, where no agent had been started": (
        replace(LOOKED, died_at=150.0, is_launched=False),
        path(left="new", written_at=151.0, is_loops=True),
        USER,
    ),
    "as it was left, and copied since": (LOOKED, path(left="new", written_at=200.0), AGENT),
    "a new file since": (LOOKED, path(left=None, written_at=200.0), USER),
    "an old time does not help a new file": (LOOKED, path(left=None, written_at=1.0), USER),
    "dirty at the start and changed since": (
        LOOKED,
        path(before="old", left="old", written_at=200.0),
        USER,
    ),
    "changed by the agent and since": (LOOKED, path(left="agent's", written_at=200.0), BOTH),
    "the plan, changed by both": (LOOKED, path(left="agent's", is_loops=True), BOTH),
    "dirty at the start, changed by both": (LOOKED, path(before="old", left="agent's"), BOTH),
    "deleted by the agent, made again since": (LOOKED, path(left="deleted"), BOTH),
    "deleted since": (LOOKED, path(left=None, now="deleted"), USER),
    "deleted by the agent": (LOOKED, path(left="deleted", now="deleted"), AGENT),
    "made by the agent, deleted in parts since": (LOOKED, path(left="x", now="deleted"), BOTH),
    "known to be the user's": (LOOKED, path(left="new", is_users=True), USER),
    # Nobody looked, the end is on record.
    "written before the end": (ENDED, path(written_at=99.0), AGENT),
    "written at the end": (ENDED, path(written_at=100.0), AGENT),
    "written after the end": (ENDED, path(written_at=100.1), USER),
    "after the end, where the agent says it wrote": (
        ENDED,
        path(written_at=101.0, is_named=True),
        BOTH,
    ),
    "after the end, where the engine writes too": (
        ENDED,
        path(written_at=101.0, is_loops=True),
        UNKNOWN,
    ),
    # Nobody looked, and nobody saw the end.
    "before the last sign of life": (NO_END, path(written_at=89.0), AGENT),
    "at the last sign of life": (NO_END, path(written_at=90.0), AGENT),
    "after the last sign of life": (NO_END, path(written_at=90.1), UNKNOWN),
    "no sign of life at all": (NOTHING, path(written_at=1.0), UNKNOWN),
    "known to be the user's, no end": (NO_END, path(written_at=200.0, is_users=True), USER),
}


@pytest.mark.parametrize("case", CASES)
def test_a_changed_path_has_an_owner(case: str) -> None:
    signs, facts, owner = CASES[case]
    assert owner_of(facts, signs) is owner


def test_what_is_as_it_was_at_the_start_is_nobodys() -> None:
    same = path(before="new", left=None, written_at=500.0)
    assert ownership_of([same], LOOKED) == Ownership()
    assert not ownership_of([same], NOTHING).is_disputed


def all_four() -> list[ChangedPath]:
    return [
        path(path="agents", left="new"),
        path(path="users", left=None),
        path(path="boths", left="agent's"),
    ]


def test_the_paths_are_dealt_out() -> None:
    found = ownership_of(all_four(), LOOKED)
    assert found == Ownership(users=("users",), both=("boths",))
    assert found.is_disputed
    assert found.not_agents == {"users", "boths"}
    assert ownership_of([path(written_at=91.0)], NO_END).unknown == ("a",)


def test_the_users_order_settles_all() -> None:
    assert ownership_of(all_four(), LOOKED, OwnershipOrder.TAKE_ALL) == Ownership()
    left = ownership_of(all_four(), LOOKED, OwnershipOrder.LEAVE)
    assert left == Ownership(users=("agents", "users", "boths"))
    assert not left.is_disputed


def test_the_words_name_the_paths_and_what_to_do() -> None:
    words = dispute_words(Ownership(both=("a", "b"), unknown=("c",)), 7)
    assert "iteration 7" in words
    assert "changed by the agent and edited again afterwards: a, b" in words
    assert "changed while nobody was watching: c" in words
    for flag in ("--take-all", "--leave"):
        assert f"ralph run --resume {flag}" in words
    assert "edited again" not in dispute_words(Ownership(unknown=("c",)), 7)
    assert "nobody was watching" not in dispute_words(Ownership(both=("c",)), 7)
    assert left_to_user_words("abcdefg").endswith("a, b, c, d, e and 2 more")
