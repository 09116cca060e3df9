"""Calls of the iteration's own tools in an agent's stream."""

from __future__ import annotations

import json

import pytest

from ralph_ls.core.agent.decode.claude.decoder import ClaudeDecoder
from ralph_ls.core.agent.tools import MOST_KEPT, call_key, own_tool
from ralph_ls.protocol.config.agent_catalog import CATALOG


@pytest.mark.parametrize("agent", CATALOG.values(), ids=lambda agent: agent.name)
def test_every_agents_name_of_a_tool_is_known(agent: object) -> None:
    place = getattr(agent, "mcp", None)
    assert place is not None
    assert own_tool(place.tool.replace("{tool}", "report_status")) == "report_status"


@pytest.mark.parametrize("name", ["Bash", "report_status", "mcp__other__report_status", "ralph_x"])
def test_no_other_tool_is_ours(name: str) -> None:
    assert own_tool(name) is None


def test_a_call_is_known_again_whatever_the_spelling_of_its_keys() -> None:
    one = call_key("report_status", {"testsStatus": "PASSING", "status": "COMPLETE"})
    assert one == call_key("report_status", {"status": "COMPLETE", "tests_status": "PASSING"})
    assert one != call_key("report_status", {"status": "COMPLETE"})


def line(parent: str | None, name: str, number: int) -> bytes:
    block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": {"reason": "no key"}}
    block["input"] = {"reason": f"no key {number}"}
    record = {
        "type": "assistant",
        "message": {"role": "assistant", "content": [block]},
        "parent_tool_use_id": parent,
        "session_id": "s",
    }
    return json.dumps(record).encode() + b"\n"


def test_a_sub_agents_call_is_marked() -> None:
    decoder = ClaudeDecoder(1)
    decoder.feed(line(None, "mcp__ralph__report_blocked", 1))
    decoder.feed(line("t0", "mcp__ralph__report_blocked", 2))
    decoder.feed(line("t0", "Bash", 3))
    assert decoder.final().sub_agent_calls == (call_key("report_blocked", {"reason": "no key 2"}),)


def test_a_flood_of_them_is_bounded() -> None:
    decoder = ClaudeDecoder(1)
    for number in range(MOST_KEPT + 5):
        decoder.feed(line("t0", "mcp__ralph__report_blocked", number))
    assert len(decoder.final().sub_agent_calls) == MOST_KEPT
