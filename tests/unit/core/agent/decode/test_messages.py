"""Messages of decoders are written in the form that readers check them with."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.decode.common.line_decoder import MessageEmitter, to_json_lines
from ralph_ls.protocol.run.messages import (
    MESSAGE_ADAPTER,
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
TODOS = st.builds(TodoItem, text=TEXTS, state=st.sampled_from(["pending", "inProgress", "done"]))
TOLD: st.SearchStrategy[AgentMessage] = st.one_of(
    st.builds(TextMessage, **PLACE, text=TEXTS),
    st.builds(
        ToolMessage,
        **PLACE,
        call=TEXTS,
        name=TEXTS,
        summary=TEXTS,
        state=st.sampled_from(ToolState),
    ),
    st.builds(FileMessage, **PLACE, path=TEXTS, action=st.sampled_from(FileAction)),
    st.builds(TodoMessage, **PLACE, items=st.lists(TODOS, max_size=3).map(tuple)),
    st.builds(UsageMessage, **PLACE, usage=COUNTS),
)


@given(st.lists(TOLD, max_size=4))
def test_a_line_is_what_the_message_is_written_as(told: list[AgentMessage]) -> None:
    dumped = [
        MESSAGE_ADAPTER.dump_json(message, by_alias=True, exclude_none=True) for message in told
    ]
    assert to_json_lines(told) == b"".join(line + b"\n" for line in dumped)
    assert [MESSAGE_ADAPTER.validate_json(line) for line in dumped] == told
    assert [message_of(message) for message in told] == told


def test_counts_have_the_fields_of_a_usage_in_their_order() -> None:
    fields = {field: found.alias for field, found in Usage.model_fields.items()}
    names = UsageCounts.__struct_fields__
    assert dict(zip(names, UsageCounts.__struct_encode_fields__, strict=True)) == fields


def test_a_count_that_no_machine_can_count_to_is_written_all_the_same() -> None:
    told = UsageMessage(start=1, offset=0, usage=UsageCounts(turns=10**30))
    assert to_json_lines([told, told]).endswith(b'"usage":{"turns":1%s}}\n' % (b"0" * 30))


def test_counts_are_the_loop_s_usage() -> None:
    counts = UsageCounts(input_tokens=1, cached_tokens=2, cost_usd=0.5, context_window=3)
    usage = Usage(input_tokens=1, cached_tokens=2, cost_usd=0.5, context_window=3)
    assert counts.to_usage() == usage


def test_what_was_reported_is_taken_once() -> None:
    teller = MessageEmitter(2)
    teller.text("one")
    teller.offset = 5
    teller.file("a.py", FileAction.READ)
    assert teller.take() == [
        TextMessage(start=2, offset=0, text="one"),
        FileMessage(start=2, offset=5, path="a.py", action=FileAction.READ),
    ]
    assert teller.take() == []


def test_a_count_beyond_all_machines_is_reported_as_it_is() -> None:
    told = UsageMessage(start=1, offset=0, usage=UsageCounts(input_tokens=1 << 70))
    assert f'"inputTokens":{1 << 70}'.encode() in to_json_lines([told])
