"""What a run may execute: read once, widened by what it accepts, and by no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.protocol.errors import NotAllowed
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project.trust import (
    Claim,
    TrustRecord,
    claim_of_file,
    read_record,
    read_run_trust,
    write_record,
)

SCRIPT = claim_of_file(".ralph/validate.sh", b"exit 0\n")
REWRITTEN = claim_of_file(".ralph/validate.sh", b"exit 1\n")
PROMPT = claim_of_file(".ralph/prompts/PROMPT_build.md", b"Do it\n")


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder(folder=tmp_path / "state")


def store(state: StateFolder, *claims: Claim) -> None:
    allowed = {claim.key: claim.digest for claim in claims}
    write_record(state, TrustRecord(root="/work", allowed=allowed))


def test_a_start_is_refused_what_is_not_approved(state: StateFolder) -> None:
    store(state, SCRIPT)
    with pytest.raises(NotAllowed, match=r"PROMPT_build\.md"):
        read_run_trust(state, [SCRIPT, PROMPT])


def test_what_is_stored_later_does_not_count(state: StateFolder) -> None:
    store(state, SCRIPT)
    trust = read_run_trust(state, [SCRIPT])
    store(state, REWRITTEN, PROMPT)
    assert trust.missing([SCRIPT, REWRITTEN, PROMPT]) == (REWRITTEN, PROMPT)
    with pytest.raises(NotAllowed, match=r"validate\.sh"):
        trust.require([REWRITTEN])


def test_what_is_accepted_counts(state: StateFolder) -> None:
    trust = read_run_trust(state, [])
    trust.accept({PROMPT.key: PROMPT.digest})
    trust.require([PROMPT])
    assert trust.is_approved(PROMPT.key, PROMPT.digest)
    assert not trust.is_approved(PROMPT.key, SCRIPT.digest)


@pytest.mark.parametrize(
    ("later", "removed"),
    [
        pytest.param([SCRIPT], (), id="nothing"),
        pytest.param([], (), id="taken-back"),
        pytest.param([SCRIPT, PROMPT], (PROMPT.key,), id="added"),
        pytest.param([REWRITTEN], (SCRIPT.key,), id="rewritten"),
        pytest.param([REWRITTEN, PROMPT], (PROMPT.key, SCRIPT.key), id="both"),
    ],
)
def test_what_appears_is_removed(
    state: StateFolder, later: list[Claim], removed: tuple[str, ...]
) -> None:
    store(state, SCRIPT)
    trust = read_run_trust(state, [])
    store(state, *later)
    assert trust.remove_unapproved(state) == removed
    kept = {SCRIPT.key: SCRIPT.digest} if later else {}
    assert read_record(state) == TrustRecord(root="/work", allowed=kept)
    assert trust.remove_unapproved(state) == ()


def test_what_was_accepted_may_be_stored(state: StateFolder) -> None:
    trust = read_run_trust(state, [])
    trust.accept({PROMPT.key: PROMPT.digest})
    store(state, PROMPT)
    assert trust.remove_unapproved(state) == ()
