"""What decoders tell is written as the messages are that readers check it with."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.decode.told import (
    Counts,
    FileTold,
    Teller,
    TextTold,
    Todo,
    TodoTold,
    Told,
    ToolTold,
    UsageTold,
    lines_of,
    usage_of,
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
from tests.unit.agent.decode.streams import message_of

TEXTS = st.text(max_size=20)
NUMBERS = st.integers(min_value=0, max_value=1 << 40)
COUNTS = st.builds(
    Counts,
    **{
        name: st.none() | NUMBERS
        for name in Counts.__struct_fields__
        if name not in {"cost_usd", "turns", "estimated"}
    },
    cost_usd=st.none() | st.floats(min_value=0, max_value=1e12),
    turns=st.none() | st.integers(max_value=1 << 80),
    estimated=st.none() | st.just(True),
)
PLACE = {"start": NUMBERS, "offset": NUMBERS}
TODOS = st.builds(Todo, text=TEXTS, state=st.sampled_from(["pending", "inProgress", "done"]))
TOLD: st.SearchStrategy[Told] = st.one_of(
    st.builds(TextTold, **PLACE, text=TEXTS),
    st.builds(
        ToolTold,
        **PLACE,
        call=TEXTS,
        name=TEXTS,
        summary=TEXTS,
        state=st.sampled_from(ToolState),
    ),
    st.builds(FileTold, **PLACE, path=TEXTS, action=st.sampled_from(FileAction)),
    st.builds(TodoTold, **PLACE, items=st.lists(TODOS, max_size=3).map(tuple)),
    st.builds(UsageTold, **PLACE, usage=COUNTS),
)


@given(st.lists(TOLD, max_size=4))
def test_a_line_is_what_the_message_is_written_as(told: list[Told]) -> None:
    messages = [message_of(one) for one in told]
    dumped = [message.model_dump_json(by_alias=True, exclude_none=True) for message in messages]
    assert lines_of(told) == "".join(f"{line}\n" for line in dumped).encode()
    assert [MESSAGE_ADAPTER.validate_json(line) for line in dumped] == messages


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        *zip((TextTold, ToolTold, FileTold, TodoTold, UsageTold), MESSAGE_TYPES, strict=True),
        (Counts, Usage),
        (Todo, TodoItem),
    ],
)
def test_a_message_has_the_fields_of_its_model_in_their_order(
    kind: type[msgspec.Struct], model: type[WireModel]
) -> None:
    fields = {field: found.alias for field, found in model.model_fields.items()}
    assert dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)) == fields


def test_a_count_that_no_machine_can_count_to_is_written_all_the_same() -> None:
    told = UsageTold(start=1, offset=0, usage=Counts(turns=10**30))
    assert lines_of([told, told]).endswith(b'"usage":{"turns":1%s}}\n' % (b"0" * 30))


def test_counts_are_the_loop_s_usage() -> None:
    counts = Counts(input_tokens=1, cached_tokens=2, cost_usd=0.5, context_window=3)
    usage = Usage(input_tokens=1, cached_tokens=2, cost_usd=0.5, context_window=3)
    assert usage_of(counts) == usage


def test_what_was_told_is_taken_once() -> None:
    teller = Teller(2)
    teller.text("one")
    teller.offset = 5
    teller.file("a.py", FileAction.READ)
    assert teller.take() == [
        TextTold(start=2, offset=0, text="one"),
        FileTold(start=2, offset=5, path="a.py", action=FileAction.READ),
    ]
    assert teller.take() == []


def test_a_count_beyond_all_machines_is_told_as_it_is() -> None:
    told = UsageTold(start=1, offset=0, usage=Counts(input_tokens=1 << 70))
    assert f'"inputTokens":{1 << 70}'.encode() in lines_of([told])
