"""Criteria of issues, and whether a close reason says how each was verified."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.beads.evidence import (
    check_close_reason,
    check_issues,
    describe_close_reason,
    newly_closed,
)
from ralph_ls.core.plan.formats.beads.issues import BeadsIssue
from ralph_ls.core.plan.verification.criteria import (
    CommandRun,
    EvidenceLine,
    command_of,
    criterion_key,
    read_criteria,
    read_evidence,
    without_ticks,
    write_evidence,
)
from tests.unit.core.plan.beads.test_queue import snapshot_of

REASON = """
Acceptance criteria verified:
- [x] Unit tests pass (npm test auth.test.ts - exit 0)
- [x] Integration test passes (npm run e2e login - exit 0)
- [x] TypeScript compiles (tsc --noEmit - exit 0)
"""
CRITERIA = "- [ ] Unit tests pass\n- [ ] Integration test passes\n- [ ] TypeScript compiles"


@pytest.mark.parametrize(
    ("text", "criteria"),
    [
        pytest.param("- [ ] a\n- [x]  b  c\n", ["a", "b c"], id="boxes"),
        pytest.param("* a\n1. b\n2) c\n+ d", ["a", "b", "c", "d"], id="items"),
        pytest.param("[ ] a\n[X] b", ["a", "b"], id="boxes alone"),
        pytest.param("- a\n  more\n\nprose\n- b", ["a more", "b"], id="items go on"),
        pytest.param("  lead\n- a", ["a"], id="prose before"),
        pytest.param("a\n\nb", ["a", "b"], id="lines"),
        pytest.param("## Acceptance\n**Acceptance criteria:**\na", ["a"], id="labels"),
        pytest.param("- [ ] \n- a", ["a"], id="an empty box"),
        pytest.param("", [], id="none"),
    ],
)
def test_criteria_are_items_or_lines(text: str, criteria: list[str]) -> None:
    assert list(read_criteria(text)) == criteria


def test_bs_reason_is_read_line_by_line() -> None:
    assert read_evidence(REASON) == (
        EvidenceLine("Unit tests pass", True, "npm test auth.test.ts", 0),
        EvidenceLine("Integration test passes", True, "npm run e2e login", 0),
        EvidenceLine("TypeScript compiles", True, "tsc --noEmit", 0),
    )


@pytest.mark.parametrize(
    ("line", "verified"),
    [
        ("- [ ] a (make - exit 2)", EvidenceLine("a", False, "make", 2)),
        ("[X] a (`make x`: exit code 1)", EvidenceLine("a", True, "make x", 1)),
        ("* [x] a (make → exited with 0)", EvidenceLine("a", True, "make", 0)),
        ("- [x] a (b) (make exit 0)", EvidenceLine("a (b)", True, "make", 0)),
        ("- [x] a (f(1) - exit 0).", EvidenceLine("a", True, "f(1)", 0)),
        ("- [x] a) (make - exit 0)", EvidenceLine("a)", True, "make", 0)),
        ("- [x] make) - exit 0)", EvidenceLine("make) - exit 0)", True, None, None)),
        ("- [x] a (exit 0)", EvidenceLine("a (exit 0)", True, None, None)),
        ("- [x] a (seen)", EvidenceLine("a (seen)", True, None, None)),
        ("- [x] ", None),
        ("- a (make - exit 0)", None),
    ],
)
def test_lines_of_evidence(line: str, verified: EvidenceLine | None) -> None:
    assert read_evidence(line) == (() if verified is None else (verified,))


def test_evidence_is_written_as_b_does() -> None:
    assert write_evidence(read_evidence(REASON)) == REASON.strip()
    assert write_evidence([EvidenceLine("a", False, None, None)]).endswith("\n- [ ] a")


_WORDS = st.sampled_from(["a", "(b)", "make", "- c", "exit", "f(1)", "d:"])


@given(
    st.lists(
        st.builds(
            EvidenceLine,
            st.lists(_WORDS, min_size=1).map(" ".join),
            st.booleans(),
            st.lists(_WORDS, min_size=1).map(" ".join),
            st.integers(0, 255),
        )
    )
)
def test_what_was_written_is_read(verified: list[EvidenceLine]) -> None:
    assert list(read_evidence(write_evidence(verified))) == verified


ON_PATH = frozenset({"true", "test", "frob", "id"})


@pytest.mark.parametrize(
    ("criterion", "command", "exit_code"),
    [
        ("npm test auth.test.ts exits 0", "npm test auth.test.ts", 0),
        ("Running npm test x.ts exits with code 0", "npm test x.ts", 0),
        ("time make test exits 0", "time make test", 0),
        ("make exits 0", "make", 0),
        ("pytest passes", "pytest", 0),
        ("npm test passes", "npm test", 0),
        ("go test ./... passes", "go test ./...", 0),
        ("Tests pass (`npm test x` - exit 0)", "npm test x", 0),
        ("Unit tests pass (npm test auth.test.ts)", "npm test auth.test.ts", 0),
        ("`make test` passes", "make test", 0),
        ("`make lint` exits with 1 on a bad file", "make lint", 1),
        ("`make ok` exits 0, and `make no` exits 2", "make ok", 0),
        ("It exits 3: `make no`", "make no", 3),
        ("`./tool --bad` exits non-zero", "./tool --bad", -1),
        ("Bad input exits 2 (tools/run bad)", "tools/run bad", 2),
        ("`Cart` adds up, see `./run.sh`", "./run.sh", 0),
        ("`frob x` prints y", "frob x", 0),
        ("`unknown x` runs without error", "unknown x", 0),
        ("Run `unknown` twice", "unknown", 0),
        ("`unknown` exits cleanly", "unknown", 0),
        ("`frob` passes", "frob", 0),
    ],
)
def test_a_criterion_may_name_its_command(criterion: str, command: str, exit_code: int) -> None:
    assert command_of(criterion, on_path=ON_PATH) == CommandRun(command, exit_code)


@pytest.mark.parametrize(
    "criterion",
    [
        "works",
        "`Cart` adds up",
        "`Cart` passes validation",
        "`Cart.total()` returns 0",
        "`user created` is printed",
        "`unknown x` prints y",
        "`id` column exists",
        "`&&` is refused",
        "Unit tests pass",
        "The parser exits 0 on good input",
        "pytest suite passes",
        "pytest suite exits 0",
        "make lint passes",
        "make sure the login exits 0",
        "It is fast (`unknown x`)",
    ],
)
def test_a_criterion_may_name_no_command(criterion: str) -> None:
    assert command_of(criterion, on_path=ON_PATH) is None


@pytest.mark.parametrize(
    ("criterion", "line"),
    [
        ("tests pass (`true`)", "tests pass (`true` - exit 0)"),
        ("tests pass (`true`)", "tests pass (true - exit 0)"),
        ("tests pass (true)", "tests pass (`true` - exit 0)"),
        ("tests pass (`true`)", "Tests pass (`true` - exit code 0)."),
        ("tests pass (`true`)", "tests pass (`true`, exit: 0)"),
        ("tests pass (`true`)", "tests pass (true exited with 0)"),
        ("tests pass (make test)", "tests pass (make test - exit 0)"),
        ("tests pass (make test)", "tests pass (make test: exit status 0)"),
        ("tests pass", "tests pass (`npm test` - exit 0)"),
        ("`make test` passes", "make test passes (make test - exit 0)"),
    ],
)
def test_a_line_is_about_its_criterion_however_the_command_is_marked(
    criterion: str, line: str
) -> None:
    issue = BeadsIssue(
        id="a", title="A", criteria=f"- [ ] {criterion}", close_reason=f"- [x] {line}"
    )
    assert check_close_reason(issue).is_verified, check_close_reason(issue)


ASKED = "npm test auth.test.ts exits 0"


@pytest.mark.parametrize(
    ("criterion", "line"),
    [
        (ASKED, "Unit tests pass (npm test auth.test.ts - exit 0)"),
        (ASKED, "npm test auth.test.ts exits 0"),
        (ASKED, "`npm test auth.test.ts` → exit 0"),
        (ASKED, "Tests: npm test auth.test.ts: exit 0"),
        (ASKED, "all (cd web && CI=1 npm test auth.test.ts -- --silent - exit 0)"),
        (ASKED, "all (make lint - exit 0, npm test auth.test.ts - exit 0)"),
        (ASKED, "all (npm ci && npm test auth.test.ts - exit 0)"),
        ("`./tool --bad` exits 2", "refuses (./tool --bad - exit 2)"),
        ("`make x` exits non-zero", "refuses (make x - exit 2)"),
        ("`frob x` prints y", "prints (frob x - exit 0)"),
    ],
)
def test_a_line_that_cites_the_command_verifies_its_criterion(criterion: str, line: str) -> None:
    issue = BeadsIssue(id="a", title="A", criteria=criterion, close_reason=f"- [x] {line}")
    closing = check_close_reason(issue, on_path=ON_PATH)
    assert (closing.is_verified, describe_close_reason(closing)) == (True, "")


@pytest.mark.parametrize(
    ("criterion", "line"),
    [
        (ASKED, "[x] Unit tests pass"),
        (ASKED, "[x] Unit tests pass (true - exit 0)"),
        (ASKED, "[x] npm test auth.test.ts exits 0 (true - exit 0)"),
        (ASKED, "[x] Unit tests pass (npm test auth.test.ts)"),
        (ASKED, "[x] Unit tests pass (npm test - exit 0)"),
        (ASKED, "[x] Unit tests pass (npm test auth.test.ts -t login - exit 0)"),
        (ASKED, "[x] Unit tests pass (npm test auth.test.ts || true - exit 0)"),
        (ASKED, "[x] Unit tests pass (npm test auth.test.ts - exit 1)"),
        (ASKED, "[ ] Unit tests pass (npm test auth.test.ts - exit 0)"),
        ("tests pass (`make test`)", "[x] tests pass (npm test - exit 0)"),
        ("`./tool --bad` exits 2", "[x] refuses (./tool --bad - exit 0)"),
        ("`make x` exits non-zero", "[x] refuses (make x - exit 0)"),
        ("`frob x` prints y", "[x] `frob x` prints y (true - exit 0)"),
        ("`Cart` adds up", "[x] it adds up"),
        ("Unit tests pass", "[x] tests pass"),
    ],
)
def test_a_line_without_the_command_verifies_nothing(criterion: str, line: str) -> None:
    issue = BeadsIssue(id="a", title="A", criteria=criterion, close_reason=f"- {line}")
    assert not check_close_reason(issue, on_path=ON_PATH).is_verified


def test_the_command_that_has_to_be_cited_is_reported() -> None:
    issue = BeadsIssue(id="a", title="A", criteria=ASKED, close_reason="- [x] Unit tests pass")
    assert describe_close_reason(check_close_reason(issue)) == (
        "was closed with 1 criterion not verified, such as “npm test auth.test.ts exits 0”; cite "
        "(npm test auth.test.ts - exit 0)"
    )


def test_an_editor_doubts_only_what_fails_whatever_is_on_path() -> None:
    reason = "- [x] `frob x` prints y (true - exit 0)\n- [x] z (frob x - exit 0)"
    closed = {"id": "c", "status": "closed", "acceptance_criteria": "`frob x` prints y"}
    assert remarks({**closed, "close_reason": reason}) == []
    assert remarks({**closed, "close_reason": "- [x] z (frob x - exit 0)"}) == []
    assert remarks({**closed, "close_reason": "- [x] z"}) == [("close-without-evidence", 3)]


def test_ticks_are_no_change_and_all_else_is() -> None:
    assert without_ticks("- [x] a\n\n  - [X]  b") == without_ticks("- [ ] a\n- [ ] b\r\n")
    assert without_ticks("- [ ] a") != without_ticks("- [ ] b")
    assert without_ticks("a[x]") != without_ticks("a[ ]")
    assert criterion_key("**Tests** pass. (`make` - exit 0)") == criterion_key("tests  pass")


@pytest.mark.parametrize(
    ("criteria", "reason", "said"),
    [
        pytest.param(CRITERIA, REASON, "", id="as b does"),
        pytest.param(
            "Unit tests pass (`npm test auth.test.ts` - exit 0)", REASON, "", id="named with it"
        ),
        pytest.param(
            CRITERIA,
            "- [x] Unit tests pass (x - exit 0)",
            "was closed with 2 criteria not verified, such as “Integration test passes”",
            id="missing",
        ),
        pytest.param(
            "- [ ] a\n- [ ] b",
            "- [x] a (make - exit 1)\n- [ ] b (make - exit 0)",
            "was closed with 1 command failed, for “a” and 1 criterion not verified, such as “b”",
            id="failed",
        ),
        pytest.param("- [ ] a", "- [x] a", "", id="no command"),
        pytest.param(
            CRITERIA, "Closed", "was closed without saying how it was verified", id="closed"
        ),
        pytest.param("", "", "was closed without saying how it was verified", id="no reason"),
        pytest.param("", "Done", "was closed without saying how it was verified", id="bare"),
        pytest.param("", "make test ends with 0", "", id="without criteria"),
        pytest.param(
            "",
            "- [x] a (make - exit 3)\n- [x] b",
            "was closed with 1 command failed, for “a”",
            id="failed without criteria",
        ),
    ],
)
def test_a_reason_is_held_against_the_criteria(criteria: str, reason: str, said: str) -> None:
    closing = check_close_reason(
        BeadsIssue(id="a", title="t", criteria=criteria, close_reason=reason)
    )
    assert describe_close_reason(closing) == said
    assert closing.is_verified is not bool(said)


def test_a_tick_without_a_command_is_named() -> None:
    closing = check_close_reason(
        BeadsIssue(id="a", title="t", criteria="a\nb", close_reason="- [x] a\n[x] b")
    )
    assert closing.without_command == ("a", "b")


def test_what_was_closed_is_known_by_its_id() -> None:
    closed = {"status": "closed", "close_reason": "r"}
    before = snapshot_of({"id": "a"}, {"id": "b", **closed}, {"id": "c"}, {"id": "d", **closed})
    after = snapshot_of(
        {"id": "a", **closed}, {"id": "b", **closed}, {"id": "d"}, {"id": "e", **closed}
    )
    assert [issue.id for issue in newly_closed(before, after)] == ["a", "e"]


def remarks(*issues: dict[str, Any], closed_before: tuple[str, ...] = ()) -> list[tuple[str, int]]:
    found = check_issues(snapshot_of(*issues), closed_before=closed_before)
    return [(one.code.value, one.place.line) for one in found]


def test_what_is_wrong_with_issues_is_reported_at_their_lines() -> None:
    found = remarks(
        {"id": "a", "acceptance_criteria": "works correctly\n`make` ends with 0"},
        {"id": "b"},
        {"id": "c", "status": "closed"},
        {"id": "d", "status": "closed", "close_reason": "make test ends with 0"},
        {"id": "e", "issue_type": "epic"},
        {"id": "f", "parent": "e", "acceptance_criteria": "`make`", "needs": ["g"]},
        {"id": "g", "acceptance_criteria": "`make`", "needs": ["f"]},
        {"id": "h", "status": "deferred"},
        {"id": "i", "status": "closed"},
        closed_before=("i",),
    )
    assert found == [
        ("criteria-vague", 3),
        ("criteria-missing", 4),
        ("close-without-evidence", 5),
        ("dependency-cycle", 8),
    ]


def test_the_remarks_say_what_to_do() -> None:
    snapshot = snapshot_of({"id": "c", "title": "Cart", "status": "closed"})
    (one,) = check_issues(snapshot)
    assert one.message == (
        "“Cart” was closed without saying how it was verified; write one line for each criterion, "
        "such as: - [x] Unit tests pass (npm test - exit 0)"
    )
    assert (one.task, one.place.start) == ("c", 0)


@given(st.text(), st.text())
def test_reading_never_fails(criteria: str, reason: str) -> None:
    closing = check_close_reason(
        BeadsIssue(id="a", title="t", criteria=criteria, close_reason=reason)
    )
    assert closing.is_verified is not bool(describe_close_reason(closing))
    assert all(read_criteria(criteria))
    command_of(criteria)
