"""Which failure an agent's stream reports: tables of what the programs were seen to say."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.protocol.run.report import AgentFailure as Kind
from tests.unit.core.agent.decode.claude_streams import answer, final, init
from tests.unit.core.agent.decode.codex_streams import done, error, failed, final_of_codex, said


def ended(**fields: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": True, **fields}


def told(kind: str, words: str) -> dict[str, Any]:
    return answer(words, error=kind)


AUTH, SERVER = "authentication_failed", "server_error"


@pytest.mark.parametrize(
    ("records", "kind"),
    [
        ([told(AUTH, "Not logged in"), ended(result="Not logged in")], Kind.NOT_LOGGED_IN),
        ([ended(result="API Error: 401", api_error_status=401)], Kind.NOT_LOGGED_IN),
        ([told("billing_error", "Credit"), ended(result="Credit")], Kind.NOT_LOGGED_IN),
        ([ended(result="API Error: 529", api_error_status=529)], Kind.OVERLOADED),
        ([told(SERVER, "refused"), ended(result="Connection refused")], Kind.OVERLOADED),
        ([told("rate_limit", "429"), ended(result="x", api_error_status=429)], Kind.LIMIT),
        ([ended(result="Prompt is too long", api_error_status=400)], Kind.CONTEXT_FULL),
        ([ended(result="x", terminal_reason="prompt_too_long")], Kind.CONTEXT_FULL),
        ([told("model_not_found", "x"), ended(result="x", api_error_status=404)], Kind.WRONG_CALL),
        ([ended(subtype="error_max_turns")], Kind.MAX_TURNS),
        ([ended(subtype="error_max_budget_usd", errors=["Reached"])], Kind.BUDGET),
        ([ended(result="Overloaded")], Kind.OVERLOADED),
        ([ended(result="odd")], None),
        ([ended(subtype="error_during_execution", is_error=False)], None),
        ([ended(is_error=False, result="Not logged in, says the test")], None),
        ([], Kind.CRASHED),
        ([told(SERVER, "busy")], Kind.OVERLOADED),
        ([told(SERVER, "busy"), answer("I go on.")], Kind.CRASHED),
    ],
)
def test_of_claude(records: list[Any], kind: Kind | None) -> None:
    assert final(init(), *records).failure is kind


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([failed("unexpected status 401 Unauthorized: no")], Kind.NOT_LOGGED_IN),
        ([failed("Missing environment variable: `KEY`.")], Kind.NOT_LOGGED_IN),
        ([failed("unexpected status 529 <unknown status code>: no")], Kind.OVERLOADED),
        ([failed("exceeded retry limit, last status: 429 Too Many Requests")], Kind.LIMIT),
        ([failed("ran out of room in the model's context window")], Kind.CONTEXT_FULL),
        ([failed("odd")], None),
        ([error("unexpected status 503 Service Unavailable: no")], Kind.OVERLOADED),
        ([said("Not logged in, says the test.")], Kind.CRASHED),
        ([error("unexpected status 401 Unauthorized: no"), done()], None),
    ],
)
def test_of_codex(events: list[Any], kind: Kind | None) -> None:
    assert final_of_codex(*events).failure is kind
