"""What decoders tell is written as the messages are that readers check it with."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.messages import (
    AgentMessage,
    AgentTodo,
    EmittedFile,
    EmittedText,
    EmittedTodos,
    EmittedToolCall,
    EmittedUsage,
    MessageEmitter,
    UsageCounts,
    to_json_lines,
    to_usage,
)
from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.run.messages import (
    MESSAGE_ADAPTER,
    MESSAGE_TYPES,
    FileAction,
    TodoItem,
    ToolState,
)
from ralph_ls.protocol.run.report import Usage
from tests.unit.core.agent.decode.claude_streams import message_of

TEXTS = st.text(max_size=20)
NUMBERS = st.integers(min_value=0, max_value=1 << 40)
COUNTS = st.builds(
    UsageCounts,
    **{
        name: st.none() | NUMBERS
        for name in UsageCounts.__struct_fields__
        if name not in {"cost_usd", "turns", "estimated"}
    },
    cost_usd=st.none() | st.floats(min_value=0, max_value=1e12),
    turns=st.none() | st.integers(max_value=1 << 80),
    estimated=st.none() | st.just(True),
)
PLACE = {"start": NUMBERS, "offset": NUMBERS}
TODOS = st.builds(AgentTodo, text=TEXTS, state=st.sampled_from(["pending", "inProgress", "done"]))
TOLD: st.SearchStrategy[AgentMessage] = st.one_of(
    st.builds(EmittedText, **PLACE, text=TEXTS),
    st.builds(
        EmittedToolCall,
        **PLACE,
        call=TEXTS,
        name=TEXTS,
        summary=TEXTS,
        state=st.sampled_from(ToolState),
    ),
    st.builds(EmittedFile, **PLACE, path=TEXTS, action=st.sampled_from(FileAction)),
    st.builds(EmittedTodos, **PLACE, items=st.lists(TODOS, max_size=3).map(tuple)),
    st.builds(EmittedUsage, **PLACE, usage=COUNTS),
)


@given(st.lists(TOLD, max_size=4))
def test_a_line_is_what_the_message_is_written_as(told: list[AgentMessage]) -> None:
    messages = [message_of(one) for one in told]
    dumped = [message.model_dump_json(by_alias=True, exclude_none=True) for message in messages]
    assert to_json_lines(told) == "".join(f"{line}\n" for line in dumped).encode()
    assert [MESSAGE_ADAPTER.validate_json(line) for line in dumped] == messages


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        *zip(
            (EmittedText, EmittedToolCall, EmittedFile, EmittedTodos, EmittedUsage),
            MESSAGE_TYPES,
            strict=True,
        ),
        (UsageCounts, Usage),
        (AgentTodo, TodoItem),
    ],
)
def test_a_message_has_the_fields_of_its_model_in_their_order(
    kind: type[msgspec.Struct], model: type[WireModel]
) -> None:
    fields = {field: found.alias for field, found in model.model_fields.items()}
    assert dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)) == fields


def test_a_count_that_no_machine_can_count_to_is_written_all_the_same() -> None:
    told = EmittedUsage(start=1, offset=0, usage=UsageCounts(turns=10**30))
    assert to_json_lines([told, told]).endswith(b'"usage":{"turns":1%s}}\n' % (b"0" * 30))


def test_counts_are_the_loop_s_usage() -> None:
    counts = UsageCounts(input_tokens=1, cached_tokens=2, cost_usd=0.5, context_window=3)
    usage = Usage(input_tokens=1, cached_tokens=2, cost_usd=0.5, context_window=3)
    assert to_usage(counts) == usage


def test_what_was_told_is_taken_once() -> None:
    teller = MessageEmitter(2)
    teller.text("one")
    teller.offset = 5
    teller.file("a.py", FileAction.READ)
    assert teller.take() == [
        EmittedText(start=2, offset=0, text="one"),
        EmittedFile(start=2, offset=5, path="a.py", action=FileAction.READ),
    ]
    assert teller.take() == []


def test_a_count_beyond_all_machines_is_told_as_it_is() -> None:
    told = EmittedUsage(start=1, offset=0, usage=UsageCounts(input_tokens=1 << 70))
    assert f'"inputTokens":{1 << 70}'.encode() in to_json_lines([told])
