"""The kinds of agents' failures, in tables: statuses, messages, and how processes ended."""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import Any

import pytest

from ralph_ls.core.agent.failures import (
    FAILURE_TEXTS,
    NO_OUTPUT,
    Failure,
    failure_in_text,
    failure_of_status,
    process_failure,
    remedy_of,
    with_failure_in_plain_text,
    with_stated_failure,
)
from ralph_ls.core.agent.result import AccountLimit, AgentResult, WallTime
from ralph_ls.protocol.run.events import AgentExited
from ralph_ls.protocol.run.report import AgentFailure as Kind

NOT_LOGGED_IN, LIMIT, OVERLOADED = Kind.NOT_LOGGED_IN, Kind.LIMIT, Kind.OVERLOADED
UNREACHABLE = Kind.UNREACHABLE
ROOT, WRONG, FULL = Kind.REFUSED_AS_ROOT, Kind.WRONG_CALL, Kind.CONTEXT_FULL


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (None, None),
        (200, None),
        (400, None),
        (401, NOT_LOGGED_IN),
        (403, NOT_LOGGED_IN),
        (404, WRONG),
        (408, OVERLOADED),
        (413, FULL),
        (429, LIMIT),
        (500, OVERLOADED),
        (503, OVERLOADED),
        (529, OVERLOADED),
    ],
)
def test_a_status_of_the_service(status: int | None, kind: Kind | None) -> None:
    assert failure_of_status(status) is kind


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Not logged in · Please run /login", NOT_LOGGED_IN),
        ("Failed to authenticate. API Error: 401 stub failure 401", NOT_LOGGED_IN),
        ("Invalid API key · Fix external API key", NOT_LOGGED_IN),
        ("unexpected status 401 Unauthorized: no, url: http://h/v1/responses", NOT_LOGGED_IN),
        ("unexpected status 403 Forbidden: no", NOT_LOGGED_IN),
        ("Missing environment variable: `STUB_KEY`.", NOT_LOGGED_IN),
        ("Please set an Auth method in your settings.json", NOT_LOGGED_IN),
        ("No authentication information found.", NOT_LOGGED_IN),
        ("Invalid auth method selected.", NOT_LOGGED_IN),
        ("API key not valid. Please pass a valid API key.", NOT_LOGGED_IN),
        ("API Error: 529 busy. This is a server-side issue", OVERLOADED),
        ("We\u2019re currently experiencing high demand, which may cause errors.", OVERLOADED),
        ("unexpected status 503 Service Unavailable: no", OVERLOADED),
        ("unexpected status 529 <unknown status code>: no", OVERLOADED),
        ("API Error: Connection refused (ECONNREFUSED)", UNREACHABLE),
        ("API Error: Unable to connect to API (ConnectionRefused)", UNREACHABLE),
        ("getaddrinfo ENOTFOUND api.example.com", UNREACHABLE),
        ("stream disconnected before completion: error sending request for url", UNREACHABLE),
        ("stream closed before response.completed", OVERLOADED),
        ("unexpected status 500 Internal: connection refused by upstream", OVERLOADED),
        ("status code 418: connection refused", UNREACHABLE),
        ("Reconnecting... (Connection failed: error sending request)", UNREACHABLE),
        ("Prompt is too long", FULL),
        ("Your input exceeds the context window of this model.", FULL),
        ("There's an issue with the selected model (x). It may not exist", WRONG),
        ("The model `gpt-9` does not exist or you do not have access to it.", WRONG),
        ("exceeded retry limit, last status: 429 Too Many Requests", LIMIT),
        ("429 Too Many Requests", LIMIT),
        ("HTTP 502", OVERLOADED),
        ("status code: 418", None),
        ("reached the turn limit", None),
        ("stub failure 400", None),
        ("", None),
    ],
)
def test_the_message_of_a_failure(message: str, kind: Kind | None) -> None:
    assert failure_in_text(message) is kind


def test_every_failure_has_words_and_only_what_needs_the_user_has_a_remedy() -> None:
    assert set(FAILURE_TEXTS) == set(Kind)
    remedies = {kind: remedy_of(kind, agent="codex") for kind in (None, *Kind)}
    assert {kind for kind, words in remedies.items() if words} == {NOT_LOGGED_IN, ROOT, WRONG}
    by_flag = {kind: remedy_of(kind, agent="command", is_flag=True) for kind in Kind}
    assert {kind for kind, words in by_flag.items() if "--agent-command" in words} == {
        *(NOT_LOGGED_IN, ROOT, WRONG)
    }
    assert not any("[agents." in words for words in by_flag.values())
    assert remedies[NOT_LOGGED_IN] == "log in with codex, or give it an API key"
    assert remedy_of(NOT_LOGGED_IN, agent="x", login="codex login") == "log in with: codex login"


def exited(**fields: Any) -> AgentExited:
    stamp = {"seq": 1, "at": datetime(2026, 1, 31, tzinfo=UTC), "run": "r", "iteration": 1}
    return AgentExited.model_validate({**stamp, "exitCode": 1, **fields})


TEXT = AgentResult(text="I did it.")
NO_END = AgentResult(failed=True, why="it had no end", failure=Kind.CRASHED, session_id="s")
SAYS = AgentResult(failed=True, why="it is odd", session_id="s")
LOGGED_OUT = AgentResult(failed=True, why="Not logged in", failure=NOT_LOGGED_IN)
AS_ROOT = "--dangerously-skip-permissions cannot be used with root/sudo privileges for security"
UNKNOWN_OPTION = "error: unknown option '--nonsense'"
CODEX_WARNING = 'WARNING: Refusing to create helper binaries under temporary dir "/scratch"\n'


@pytest.mark.parametrize(
    ("final", "fields", "stderr", "has_result", "failure"),
    [
        pytest.param(TEXT, {"exitCode": 0}, "", False, None, id="well"),
        pytest.param(TEXT, {"exitCode": 0}, UNKNOWN_OPTION, True, None, id="well-with-a-report"),
        pytest.param(TEXT, {}, "", True, None, id="bad-exit-with-a-report"),
        pytest.param(SAYS, {"stopped": True}, "", False, None, id="stopped-by-a-person"),
        pytest.param(NO_END, {"overspent": True}, "", False, None, id="past-our-own-limit"),
        pytest.param(TEXT, {"timedOut": True}, "", True, Failure(kind=Kind.TIMED_OUT), id="time"),
        pytest.param(TEXT, {"idle": True}, "", False, Failure(kind=Kind.IDLE), id="idle"),
        pytest.param(
            AgentResult(limit=AccountLimit(), failed=True, why="429"),
            {},
            "",
            False,
            Failure(kind=LIMIT, text="429"),
            id="limit",
        ),
        pytest.param(
            AgentResult(limit=AccountLimit(), text="done"),
            {"exitCode": 0},
            "",
            True,
            None,
            id="over-its-limit",
        ),
        pytest.param(
            LOGGED_OUT,
            {},
            "",
            False,
            Failure(kind=NOT_LOGGED_IN, text="Not logged in"),
            id="its-own-word",
        ),
        pytest.param(TEXT, {"signal": 9}, "", False, Failure(kind=Kind.KILLED), id="killed"),
        pytest.param(
            NO_END,
            {"exitCode": 143},
            "",
            False,
            Failure(kind=Kind.KILLED, text="it had no end"),
            id="killed-as-a-shell-says-it",
        ),
        pytest.param(
            NO_END, {}, "", False, Failure(kind=Kind.CRASHED, text="it had no end"), id="no-end"
        ),
        pytest.param(
            SAYS, {"exitCode": 0}, "", False, Failure(kind=Kind.OTHER, text="it is odd"), id="odd"
        ),
        pytest.param(
            TEXT,
            {},
            UNKNOWN_OPTION,
            False,
            Failure(kind=Kind.CRASHED, text=UNKNOWN_OPTION),
            id="it-printed",
        ),
        pytest.param(
            AgentResult(),
            {"exitCode": 0},
            "",
            False,
            Failure(kind=Kind.NO_OUTPUT, text=NO_OUTPUT),
            id="nothing",
        ),
        pytest.param(
            AgentResult(), {"exitCode": 0}, UNKNOWN_OPTION, True, None, id="nothing-but-a-report"
        ),
        pytest.param(
            AgentResult(),
            {},
            AS_ROOT,
            False,
            Failure(kind=ROOT, text=AS_ROOT),
            id="refused-as-root",
        ),
        pytest.param(
            AgentResult(failed=True, why="no result", failure=Kind.CRASHED),
            {},
            f"\n{UNKNOWN_OPTION}\n\nUsage: claude\n",
            False,
            Failure(kind=WRONG, text=UNKNOWN_OPTION),
            id="unknown-flag",
        ),
        pytest.param(
            AgentResult(),
            {"exitCode": 2},
            f"{CODEX_WARNING}error: unexpected argument '--no' found",
            False,
            Failure(kind=WRONG, text="error: unexpected argument '--no' found"),
            id="unknown-flag-behind-a-warning",
        ),
        pytest.param(
            AgentResult(),
            {},
            "Please run /login",
            False,
            Failure(kind=NOT_LOGGED_IN, text="Please run /login"),
            id="not-logged-in-on-stderr",
        ),
        pytest.param(
            AgentResult(),
            {},
            "Traceback (most recent call last):\nKeyError: 'alpha'\n",
            False,
            Failure(kind=Kind.CRASHED, text="KeyError: 'alpha'"),
            id="crashed",
        ),
        pytest.param(
            NO_END,
            {"exitCode": 53},
            "Reached max session turns for this session.",
            False,
            Failure(kind=Kind.MAX_TURNS, text="Reached max session turns for this session."),
            id="out-of-turns-on-stderr",
        ),
        pytest.param(
            NO_END,
            {},
            UNKNOWN_OPTION,
            False,
            Failure(kind=Kind.CRASHED, text="it had no end"),
            id="what-others-print-while-it-works",
        ),
    ],
)
def test_how_a_process_failed(
    final: AgentResult, fields: Any, stderr: str, has_result: bool, failure: Failure | None
) -> None:
    assert process_failure(final, exited(**fields), stderr, has_result=has_result) == failure


def test_an_agent_whose_engine_died_has_not_failed() -> None:
    assert process_failure(SAYS, None, has_result=False) is None


HIT = "You've hit your limit \u00b7 resets 5pm (Europe/Vilnius)"
RESETS = AccountLimit(resets_locally=WallTime(clock=time(17), zone="Europe/Vilnius"))
IN_A_MINUTE = AccountLimit(resets_in=60)


@pytest.mark.parametrize(
    ("failure", "limit", "why", "found"),
    [
        (None, None, HIT, (LIMIT, RESETS)),
        (Kind.OTHER, None, HIT, (LIMIT, RESETS)),
        (LIMIT, AccountLimit(), HIT, (LIMIT, RESETS)),
        (LIMIT, AccountLimit(), "429", (LIMIT, AccountLimit())),
        (LIMIT, IN_A_MINUTE, HIT, (LIMIT, IN_A_MINUTE)),
        (LIMIT, None, "429", (LIMIT, None)),
        (None, None, "Prompt is too long: rate limit exceeded", (FULL, None)),
        (NOT_LOGGED_IN, None, HIT, (NOT_LOGGED_IN, None)),
        (NOT_LOGGED_IN, AccountLimit(), HIT, (NOT_LOGGED_IN, RESETS)),
        (OVERLOADED, None, "Connection refused", (UNREACHABLE, None)),
        (OVERLOADED, None, "Please run /login", (OVERLOADED, None)),
        (None, None, "fetch failed", (UNREACHABLE, None)),
        (None, None, "it is odd", (None, None)),
    ],
)
def test_a_message_adds_what_the_fields_do_not_say(
    failure: Kind | None,
    limit: AccountLimit | None,
    why: str,
    found: tuple[Kind | None, AccountLimit | None],
) -> None:
    told = AgentResult(failed=True, why=why, failure=failure, limit=limit)
    complete = with_stated_failure(told)
    assert (complete.failure, complete.limit) == found
    well = AgentResult(text=HIT, why=why)
    assert with_stated_failure(well) is well


@pytest.mark.parametrize(
    ("text", "stderr", "has_failed", "failure"),
    [
        (HIT, "", False, LIMIT),
        (f"I began.\n{HIT}\n", "", True, LIMIT),
        (f"I began.\n{HIT}\n", "", False, None),
        ("", f"a warning\n{HIT}\n", True, LIMIT),
        ("", f"{HIT}\n", False, None),
        ("I began.", HIT, True, None),
        (f"I began.\n{HIT}\n\nwrapper: claude ended\nwith code 1\nGood bye", "", True, LIMIT),
        (f"{HIT}\nwrapper: claude ended with code 1", "", False, None),
        ("", f"{HIT}\nwrapper: claude ended with code 1\n", True, LIMIT),
        (f"{HIT}\na\nb\nc\nd", "", True, None),
        (f"It says\n> {HIT}\nin the banner.", "", True, None),
        (f"It says\n    {HIT}\nin the banner.", "", True, None),
        (f"It says\n```\n{HIT}\n```\nin the banner.", "", True, None),
        (f"```\na\n```\n{HIT}\nwrapper: code 1", "", True, LIMIT),
        (f"{HIT} {'x' * 300}", "", True, None),
        ("API Error: Unable to connect to API (ConnectionRefused)", "", True, UNREACHABLE),
        ("API Error: of a kind that nobody knows", "", True, None),
        ("it raises ECONNREFUSED", "", True, None),
        ("", "", True, None),
    ],
)
def test_plain_text_that_a_program_prints_in_place_of_an_answer(
    text: str, stderr: str, has_failed: bool, failure: Kind | None
) -> None:
    found = with_failure_in_plain_text(AgentResult(text=text), stderr, has_failed=has_failed)
    assert found.failed is (failure is not None)
    assert found.failure is failure
    assert found.limit == (RESETS if failure is LIMIT else None)
