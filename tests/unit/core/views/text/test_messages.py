"""What an agent says, in lines for people."""

from __future__ import annotations

from typing import Literal

import pytest

from ralph_ls.core.views.text.agent_output import message_line
from ralph_ls.protocol.run.messages import (
    AgentMessage,
    FileAction,
    FileMessage,
    TextMessage,
    TodoItem,
    TodoMessage,
    ToolMessage,
    ToolState,
    UsageCounts,
    UsageMessage,
)
from ralph_ls.protocol.run.report import Usage


def tool(state: ToolState, summary: str = "ls") -> AgentMessage:
    return ToolMessage(start=1, name="Bash", summary=summary, state=state)


def file(action: FileAction) -> AgentMessage:
    return FileMessage(start=1, path="a.txt", action=action)


def usage(**counts: float) -> AgentMessage:
    return UsageMessage(start=1, usage=UsageCounts(**Usage.model_validate(counts).model_dump()))


def item(text: str, state: Literal["pending", "inProgress", "done"]) -> TodoItem:
    return TodoItem(text=text, state=state)


ITEMS = (item("a", "done"), item("b", "inProgress"), item("c", "pending"))


@pytest.mark.parametrize(
    ("message", "line"),
    [
        pytest.param(TextMessage(start=1, text="\n a  \n\nb\n"), " a\n\nb", id="text"),
        pytest.param(TextMessage(start=1, text="a\x1b[2Jb"), "a\\x1b[2Jb", id="tamed"),
        pytest.param(TextMessage(start=1, text="\n"), "", id="no-text"),
        pytest.param(tool(ToolState.STARTED), "⚒ Bash: ls", id="call"),
        pytest.param(tool(ToolState.STARTED, ""), "⚒ Bash", id="call-of-nothing"),
        pytest.param(tool(ToolState.FAILED), "✗ Bash: ls", id="failed-call"),
        pytest.param(tool(ToolState.DONE), "", id="call-that-went-well"),
        pytest.param(file(FileAction.CREATED), "✎ a.txt created", id="created"),
        pytest.param(file(FileAction.CHANGED), "✎ a.txt changed", id="changed"),
        pytest.param(file(FileAction.DELETED), "✎ a.txt deleted", id="deleted"),
        pytest.param(file(FileAction.READ), "", id="read"),
        pytest.param(TodoMessage(start=1, items=ITEMS), "☑ a\n◐ b\n☐ c", id="to-do"),
        pytest.param(usage(input_tokens=12000, turns=3), "", id="counts-on-the-way"),
        pytest.param(usage(output_tokens=3), "∑ 3 out", id="least-counts"),
        pytest.param(
            usage(input_tokens=12000, output_tokens=345, cached_tokens=9, turns=1, cost_usd=0.5),
            "∑ 12,000 tokens in, 345 out, 9 cached, 1 turn, $0.5000",
            id="counts-at-the-end",
        ),
    ],
)
def test_a_message_is_reported_in_its_line(message: AgentMessage, line: str) -> None:
    assert message_line(message) == line
