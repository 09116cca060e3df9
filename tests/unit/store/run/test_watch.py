from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph_ls.core.agent.decode.common.line_decoder import to_json_lines
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.run.events import AgentExited, AgentStarted, Event
from ralph_ls.protocol.run.messages import AgentMessage, TextMessage, ToolMessage, ToolState
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run.follow import READ_LIMIT
from ralph_ls.store.run.journal import Journal
from ralph_ls.store.run.watch import OUTPUT_BACKLOG, MessageTail, OutputChunk, RunFollower, RunItem
from tests.unit.core.views.run_states import iteration_ended
from tests.unit.store.store_builders import RUN, START, at, ended, note, resumed, to_lines


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    return RunFiles(folder=tmp_path)


def agent_started(seq: int, iteration: int = 1, attempt: int = 1) -> AgentStarted:
    return AgentStarted(
        seq=seq,
        at=at(seq),
        run=RUN,
        iteration=iteration,
        attempt=attempt,
        agent="command",
        argv=("agent",),
        pid=4711,
        process_start_time=1.0,
    )


def agent_exited(seq: int) -> AgentExited:
    return AgentExited(seq=seq, at=START, run=RUN, iteration=1, exit_code=0)


def lay(files: RunFiles, *events: Event, **output: bytes) -> None:
    """A journal, and output such as ``out_1`` or ``err_2_2`` for iteration and attempt."""
    files.journal.write_bytes(to_lines(events))
    for name, data in output.items():
        stream, iteration, *attempt = name.split("_")
        number = int(attempt[0]) if attempt else 1
        files.output(int(iteration), number, stream).write_bytes(data)


def shown(seen: list[RunItem]) -> list[object]:
    """Events by number, output as stream and text."""
    return [
        (item.stream, item.data.decode()) if isinstance(item, OutputChunk) else item.seq
        for item in seen
    ]


def follow(
    files: RunFiles, *, live: Callable[[], bool] = lambda: True, **options: int
) -> list[object]:
    follower = RunFollower(
        files,
        is_live=live,
        after_seq=options.get("after_seq", 0),
        output=bool(options.get("output", True)),
    )
    return shown([item for batch in follower for item in batch])


def test_output_is_between_the_events_of_its_agent(files: RunFiles) -> None:
    events: list[Event] = [note(1), agent_started(2), agent_exited(3), note(4), ended(5)]
    lay(files, *events, out_1=b"said\n", err_1=b"warned\n")
    assert follow(files) == [1, 2, ("out", "said\n"), ("err", "warned\n"), 3, 4, 5]


def test_each_attempt_and_iteration_has_its_own(files: RunFiles) -> None:
    events: list[Event] = [
        agent_started(1),
        agent_exited(2),
        agent_started(3, attempt=2),
        agent_exited(4),
        agent_started(5, iteration=2),
        agent_exited(6),
        ended(7),
    ]
    lay(files, *events, out_1=b"a", out_1_2=b"b", out_2=b"c")
    assert follow(files) == [1, ("out", "a"), 2, 3, ("out", "b"), 4, 5, ("out", "c"), 6, 7]


@pytest.mark.parametrize(
    "closing", [iteration_ended().model_copy(update={"seq": 2}), ended(2)], ids=["lost", "ended"]
)
def test_an_agent_without_a_reported_end_is_shown_to_its_last_byte(
    files: RunFiles, closing: Event
) -> None:
    lay(files, agent_started(1), closing, ended(3), out_1=b"half a li")
    assert follow(files)[:3] == [1, ("out", "half a li"), 2]


def test_without_output_only_events_are_shown(files: RunFiles) -> None:
    lay(files, agent_started(1), agent_exited(2), ended(3), out_1=b"said\n")
    assert follow(files, output=False) == [1, 2, 3]


def test_a_late_viewer_gets_the_end_of_what_a_running_agent_reported(files: RunFiles) -> None:
    lay(
        files,
        note(1),
        agent_started(2),
        out_1=b"x" * OUTPUT_BACKLOG + b"newest\n",
        err_1=b"short\n",
    )
    seen = follow(files, after_seq=2, live=lambda: False)
    assert seen == [("out", "x" * (OUTPUT_BACKLOG - 7) + "newest\n"), ("err", "short\n")]


def test_a_viewer_that_is_there_from_the_start_gets_all_of_it(files: RunFiles) -> None:
    lay(files, note(1), agent_started(2), out_1=b"x" * 2 * OUTPUT_BACKLOG)
    _, _, output = follow(files, after_seq=0, live=lambda: False)
    assert output == ("out", "x" * 2 * OUTPUT_BACKLOG)


def test_an_agent_without_output_yet_is_no_trouble(files: RunFiles) -> None:
    lay(files, note(1), agent_started(2))
    assert follow(files, after_seq=2, live=lambda: False) == []


def test_what_comes_while_one_watches_is_shown_once_and_in_order(files: RunFiles) -> None:
    lay(files, agent_started(1), out_1=b"one\n")
    seen: list[RunItem] = []
    came = threading.Event()
    follower = RunFollower(files, is_live=lambda: True)

    def watch() -> None:
        for batch in follower:
            seen.extend(batch)
            came.set()

    thread = threading.Thread(target=watch)
    thread.start()
    journal = Journal(files.journal, size=files.journal.stat().st_size)
    assert came.wait(30)
    with files.output(1, 1, "out").open("ab") as output:
        output.write("漢".encode()[:2])
        output.flush()
        output.write("漢".encode()[2:])
    journal.append([agent_exited(2), ended(3)])
    thread.join(30)
    journal.close()
    assert not thread.is_alive()
    assert (
        b"".join(item.data for item in seen if isinstance(item, OutputChunk)) == "one\n漢".encode()
    )
    assert [item.seq for item in seen if not isinstance(item, OutputChunk)] == [1, 2, 3]
    assert not any(isinstance(item, OutputChunk) for item in [seen[0], *seen[-2:]])


def test_of_a_flood_it_takes_one_piece_at_a_time(files: RunFiles) -> None:
    lay(files, agent_started(1), agent_exited(2), ended(3), out_1=b"x" * (3 * READ_LIMIT + 1))
    pieces = [
        [len(item.data) if isinstance(item, OutputChunk) else item.seq for item in batch]
        for batch in RunFollower(files, is_live=lambda: True)
    ]
    assert pieces == [[1], [READ_LIMIT], [READ_LIMIT], [READ_LIMIT], [1], [2, 3]]


def test_a_viewer_that_cannot_keep_up_passes_over_what_nobody_can_read(files: RunFiles) -> None:
    lay(files, agent_started(1), agent_exited(2), ended(3), out_1=b"x" * 3000 + b"end", err_1=b"e")
    follower = RunFollower(files, is_live=lambda: True)
    follower.backlog = 1000
    assert shown([item for batch in follower for item in batch]) == [
        1,
        ("out", "\n… 2003 bytes of output are not shown …\n"),
        ("out", "x" * 997 + "end"),
        ("err", "e"),
        2,
        3,
    ]


def test_it_can_be_stopped_in_the_middle_of_a_flood(files: RunFiles) -> None:
    lay(files, agent_started(1), out_1=b"x" * 2 * READ_LIMIT)
    follower = RunFollower(files, is_live=lambda: True)
    batches = iter(follower)
    assert shown(next(batches)) == [1]
    next(batches)
    follower.stop()
    assert list(batches) == []


def test_a_run_that_continues_is_followed_to_its_next_end(files: RunFiles) -> None:
    lay(files, note(1), ended(2), resumed(3), note(4), ended(5))
    assert follow(files, after_seq=2) == [3, 4, 5]


def test_an_engine_that_is_gone_ends_it(files: RunFiles) -> None:
    lay(files, note(1), agent_started(2), out_1=b"said\n")
    assert follow(files, live=lambda: False) == [1, 2, ("out", "said\n")]


def test_it_can_be_stopped(files: RunFiles) -> None:
    lay(files, note(1))
    follower = RunFollower(files, is_live=lambda: True)
    batches = iter(follower)
    assert shown(next(batches)) == [1]
    follower.stop()
    assert list(batches) == []


class TestRecords:
    """An agent that prints records: people are shown what they say."""

    def speaks(self, files: RunFiles, *messages: AgentMessage) -> None:
        with files.messages.open("ab") as file:
            file.write(to_json_lines(messages))

    def says(self, iteration: int, text: str) -> AgentMessage:
        return TextMessage(start=iteration, text=text)

    def started(self, seq: int, iteration: int = 1) -> AgentStarted:
        return agent_started(seq, iteration).model_copy(update={"dialect": Dialect.CLAUDE})

    def test_their_words_are_shown_and_their_json_is_not(self, files: RunFiles) -> None:
        events: list[Event] = [self.started(1), agent_exited(2), ended(3)]
        lay(files, *events, out_1=b'{"type":"assistant"}\n', err_1=b"warned\n")
        done = ToolMessage(start=1, name="Bash", state=ToolState.DONE)
        self.speaks(files, self.says(1, "Hello 漢字\n"), done, self.says(1, "\n"))
        assert follow(files) == [1, ("out", "Hello 漢字\n"), ("err", "warned\n"), 2, 3]

    def test_each_iteration_has_its_own(self, files: RunFiles) -> None:
        events: list[Event] = [
            self.started(1),
            agent_exited(2),
            self.started(3, iteration=2),
            agent_exited(4),
            ended(5),
        ]
        lay(files, *events)
        self.speaks(files, self.says(1, "one"), self.says(2, "two"), self.says(3, "three"))
        assert follow(files) == [1, ("out", "one\n"), 2, 3, ("out", "two\n"), 4, 5]

    def test_a_line_is_shown_once_it_is_whole(self, files: RunFiles) -> None:
        self.speaks(files, self.says(1, "one"), self.says(1, "two"))
        data = files.messages.read_bytes()
        tail = MessageTail(files.messages, 1)
        shown = b""
        for end in range(len(data) + 1):
            files.messages.write_bytes(data[:end])
            shown += tail.read()
            assert shown.count(b"\n") == data[:end].count(b"\n")
        assert (shown, tail.read()) == (b"one\ntwo\n", b"")
        assert tail.offset == len(data)

    def test_what_cannot_be_read_is_passed_over(self, files: RunFiles) -> None:
        lines = [b'{"iteration":1,"kind":"teaBrewed"}', b"torn", b'{"iteration":1,"offset":', b""]
        files.messages.write_bytes(b"\n".join(lines) + b"\n")
        self.speaks(files, self.says(1, "one"))
        assert MessageTail(files.messages, 1).read() == b"one\n"

    def test_a_line_that_no_read_takes_in_is_passed_over(self, files: RunFiles) -> None:
        self.speaks(files, self.says(1, "x" * (READ_LIMIT * 2)), self.says(1, "one"))
        assert MessageTail(files.messages, 1).read() == b"one\n"

    def test_what_is_passed_over_ends_with_a_whole_line(self, files: RunFiles) -> None:
        self.speaks(files, *[self.says(1, f"line {number}") for number in range(100)])
        tail = MessageTail(files.messages, 1)
        assert tail.skip(120) == files.messages.stat().st_size - 120
        assert tail.read() == b"line 98\nline 99\n"
        assert (tail.read(), tail.skip(1)) == (b"", 0)
        assert MessageTail(files.folder / "none", 1).skip(1) == 0

    def test_a_late_viewer_is_shown_the_end_from_a_whole_line_on(self, files: RunFiles) -> None:
        lay(files, self.started(1), note(2))
        self.speaks(files, *[self.says(1, f"line {number}") for number in range(OUTPUT_BACKLOG)])
        (item,) = follow(files, live=lambda: False, after_seq=2)
        assert isinstance(item, tuple)
        lines = item[1].splitlines()
        assert lines[-1] == f"line {OUTPUT_BACKLOG - 1}"
        assert lines == [
            f"line {number}" for number in range(OUTPUT_BACKLOG - len(lines), OUTPUT_BACKLOG)
        ]
        assert 10 < len(lines) < OUTPUT_BACKLOG / 40
