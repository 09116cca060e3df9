"""Instants on the wire: always with a zone, always UTC with milliseconds when written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from ralph_ls.protocol.base import Timestamp, to_wire_time

TIMESTAMP: TypeAdapter[datetime] = TypeAdapter(Timestamp)


@pytest.mark.parametrize(
    ("moment", "written"),
    [
        (datetime(2026, 1, 31, 12, tzinfo=UTC), "2026-01-31T12:00:00.000Z"),
        (datetime(2026, 1, 31, 12, 0, 0, 4999, tzinfo=UTC), "2026-01-31T12:00:00.004Z"),
        (
            datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))),
            "2025-12-31T23:00:00.000Z",
        ),
    ],
)
def test_it_is_written_in_utc_with_milliseconds(moment: datetime, written: str) -> None:
    assert to_wire_time(moment) == written
    assert TIMESTAMP.dump_json(moment) == f'"{written}"'.encode()
    assert TIMESTAMP.dump_python(moment) == moment


@given(st.floats(86_400, 4e9).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)))
def test_it_comes_back_whole_but_for_what_is_smaller_than_a_millisecond(moment: datetime) -> None:
    again = TIMESTAMP.validate_json(TIMESTAMP.dump_json(moment))
    assert timedelta(0) <= moment - again < timedelta(milliseconds=1)
    assert TIMESTAMP.dump_json(again) == TIMESTAMP.dump_json(moment)


@pytest.mark.parametrize("text", ["2026-01-31T12:00:00", "2026-01-31 12:00", "2026-01-31"])
def test_one_without_a_zone_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ValidationError, match="a time needs its zone, such as 2026-01-31T12:00"):
        TIMESTAMP.validate_python(text)
