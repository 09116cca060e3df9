"""Following a run: each event once, in its order, whenever one begins to listen."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from ralph_ls.editor.lsp.stdio import BACKLOG_LIMIT
from ralph_ls.protocol.run.events import PhaseChanged, QuestionAsked, RunEnded, Warned
from ralph_ls.protocol.run.values import EndReason, Phase
from tests.editor.conftest import StartEditor
from tests.editor.scripted_run import NEXT_RUN, NOON, RUN, made_run, message
from tests.engine.project_builder import make_repository

pytestmark = pytest.mark.slow


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository")


def numbers(events: list[dict[str, int]]) -> list[int]:
    return [event["seq"] for event in events]


class TestEvents:
    async def test_a_late_client_gets_what_it_missed_and_then_what_comes(
        self, edit: StartEditor, repository: Path
    ) -> None:
        with made_run(repository) as run:
            run.notes(5)
            editor = await edit(repository)
            begun = await editor.subscribe(afterSeq=3, run=RUN)
            assert (begun["run"], begun["seq"], begun["state"]["run"]["seq"]) == (RUN, 3, 7)
            run.notes(2)
            await editor.event("noteAdded", seq=9)
            assert numbers(editor.events()) == [4, 5, 6, 7, 8, 9]

    @pytest.mark.parametrize(
        ("given", "first"),
        [
            pytest.param({}, 1, id="nothing seen"),
            pytest.param({"afterSeq": 7}, 8, id="all seen, of the newest run"),
            pytest.param({"afterSeq": 5, "run": NEXT_RUN}, 1, id="of another run"),
            pytest.param({"afterSeq": 99, "run": RUN}, 8, id="more than there are"),
        ],
    )
    async def test_it_begins_behind_what_was_seen(
        self, edit: StartEditor, repository: Path, given: dict[str, object], first: int
    ) -> None:
        with made_run(repository) as run:
            run.notes(5)
            editor = await edit(repository)
            begun = await editor.subscribe(**given)
            assert begun["seq"] == first - 1
            run.notes(1)
            await editor.event("noteAdded", seq=8)
            assert numbers(editor.events()) == list(range(first, 9))

    async def test_nothing_is_missed_or_sent_twice_while_events_come_fast(
        self, edit: StartEditor, repository: Path
    ) -> None:
        with made_run(repository) as run:
            editor = await edit(repository)
            writer = threading.Thread(target=run.notes, args=(2000,))
            writer.start()
            seen = 0
            for _ in range(12):
                # Each time from what was seen last, as a client that was reloaded.
                editor.told.clear()
                begun = await editor.subscribe(afterSeq=seen, run=RUN)
                assert begun["seq"] == seen
                await editor.until("ralph/event")
                await asyncio.sleep(0)
                told = numbers(editor.events())
                assert told == list(range(seen + 1, told[-1] + 1))
                await editor.request("ralph/unsubscribe")
                told = numbers(editor.events())
                assert told == list(range(seen + 1, told[-1] + 1))
                seen = told[-1]
                if seen == 2002:
                    break
            writer.join()
            editor.told.clear()
            await editor.subscribe(afterSeq=seen, run=RUN)
            run.notes(1)
            await editor.event("noteAdded", seq=2003)
            assert numbers(editor.events()) == list(range(seen + 1, 2004))

    async def test_the_answer_comes_before_all_that_follows_it(
        self, edit: StartEditor, repository: Path
    ) -> None:
        with made_run(repository):
            editor = await edit(repository)
            editor.heard.clear()
            await editor.subscribe(view=True)
            await editor.event("phaseChanged")
            ours = [name for name in editor.heard if name.startswith(("ralph/", "answer"))]
            assert ours == ["answer", "ralph/view", "ralph/event", "ralph/event"]

    async def test_a_subscription_goes_over_to_a_new_run(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        assert await editor.subscribe() == {
            "seq": 0,
            "workspace": repository.as_uri(),
            "state": await editor.request("ralph/state"),
        }
        with made_run(repository) as run:
            run.end()
            await editor.event("runEnded", run=RUN)
        with made_run(repository, NEXT_RUN, begun=False) as run:
            # Its folder is there, and who owns it; its first event is not.
            assert (await editor.request("ralph/state"))["run"]["run"] == RUN
            run.begin()
            run.notes(1)
            await editor.event("noteAdded", run=NEXT_RUN)
        assert numbers(editor.events(RUN)) == [1, 2, 3]
        assert numbers(editor.events(NEXT_RUN)) == [1, 2, 3]

    async def test_a_client_without_events_gets_all_else_of_a_new_run(
        self, edit: StartEditor, repository: Path
    ) -> None:
        with made_run(repository) as run:
            editor = await edit(repository)
            await editor.subscribe(events=False, messages=True, output=True)
            run.agent()
            run.speak(message("one"))
            await editor.until("ralph/messages", lambda p: p["run"] == RUN)
            run.agent_ends()
            run.end()
        with made_run(repository, NEXT_RUN) as run:
            run.agent()
            run.say(b"two\n")
            run.speak(message("two"))
            told = await editor.until("ralph/messages", lambda p: p["run"] == NEXT_RUN)
            assert [each["text"] for each in told["messages"]] == ["two"]
            await editor.until("ralph/output", lambda p: p["run"] == NEXT_RUN)
        assert editor.output() == "two\n"
        assert editor.events() == []

    async def test_a_client_that_does_not_read_gets_all_of_a_long_run_when_it_does(
        self, edit: StartEditor, repository: Path
    ) -> None:
        """More than may wait for a client: who reads the journal waits for the client."""
        n_warnings, text = 3600, "x" * 20_000
        assert n_warnings * len(text) > BACKLOG_LIMIT
        with made_run(repository) as run:
            for _ in range(n_warnings):
                run.tell(Warned, code="large", message=text)
            editor = await edit(repository)
            await editor.subscribe()
            editor.stop_reading()
            run.end()
            # Any other client that asks gets an answer meanwhile.
            other = await edit(repository)
            assert (await other.request("ralph/state"))["phase"] == "ended"
            editor.read_on()
            await editor.event("runEnded")
        assert numbers(editor.events()) == list(range(1, n_warnings + 4))

    async def test_nothing_comes_after_unsubscribing(
        self, edit: StartEditor, repository: Path
    ) -> None:
        with made_run(repository) as run:
            editor = await edit(repository)
            await editor.subscribe(view=True)
            await editor.event("phaseChanged")
            assert await editor.request("ralph/unsubscribe") == {"subscribed": True}
            assert await editor.request("ralph/unsubscribe") == {"subscribed": False}
            editor.told.clear()
            run.notes(3)
            # What it would have sent precedes this answer.
            assert (await editor.request("ralph/state"))["run"]["seq"] == 5
            assert editor.events() == editor.all_told("ralph/view") == []


class TestJournal:
    """A journal is a file, and anything may happen to a file."""

    async def test_one_that_was_cut_short_is_read_again(
        self, edit: StartEditor, repository: Path
    ) -> None:
        with made_run(repository) as run:
            run.notes(5)
            editor = await edit(repository)
            await editor.subscribe()
            await editor.event("noteAdded", seq=7)
            lines = run.files.journal.read_bytes().splitlines(keepends=True)
            run.files.journal.write_bytes(b"".join(lines[:4]))
            state = await editor.request("ralph/state")
            assert state["run"]["seq"] == 4
            editor.told.clear()
            run.seq = 4
            run.notes(1)
            await editor.event("noteAdded", seq=5)
            assert numbers(editor.events()) == [5]
            assert "was cut short" in editor.log()

    async def test_one_that_is_gone_was_no_run(self, edit: StartEditor, repository: Path) -> None:
        with made_run(repository) as run:
            editor = await edit(repository)
            await editor.subscribe()
            await editor.event("phaseChanged")
            run.files.journal.unlink()
            assert "run" not in await editor.request("ralph/state")
            assert "is gone" in editor.log()

    async def test_another_file_in_its_place_is_read_on_from_where_one_was(
        self, edit: StartEditor, repository: Path
    ) -> None:
        with made_run(repository) as run:
            run.notes(3)
            editor = await edit(repository)
            await editor.subscribe()
            await editor.event("noteAdded", seq=5)
            copy = run.files.folder / "copy"
            copy.write_bytes(run.files.journal.read_bytes())
            copy.replace(run.files.journal)
            assert (await editor.request("ralph/state"))["run"]["seq"] == 5
            with run.files.journal.open("ab") as file:
                file.write(
                    b'{"seq":6,"at":"2026-01-31T12:00:00Z","run":"%b","kind":"ofTomorrow"}\n'
                    b"no event at all\n"
                    b'{"seq":7,"at":"2026-01-31T12:00:00Z","run":"%b","kind":"blockedResolved",'
                    b'"by":"Ada"}\n' % (RUN.encode(), RUN.encode())
                )
            await editor.event("blockedResolved")
            assert numbers(editor.events()) == [1, 2, 3, 4, 5, 6, 7]
            assert "this is not an event" in editor.log()

    async def test_half_a_line_is_waited_for(self, edit: StartEditor, repository: Path) -> None:
        with made_run(repository) as run:
            editor = await edit(repository)
            await editor.subscribe()
            line = b'{"seq":3,"at":"2026-01-31T12:00:00Z","run":"%b","kind":"noteAdded",' % (
                RUN.encode()
            )
            with run.files.journal.open("ab", buffering=0) as file:
                file.write(line)
                assert (await editor.request("ralph/state"))["run"]["seq"] == 2
                file.write(b'"text":"\xe6\xbc\xa2","by":"Ada"}\n')
            assert (await editor.event("noteAdded"))["text"] == "漢"


class TestAgent:
    async def test_output_comes_between_the_events_of_its_agent(
        self, edit: StartEditor, repository: Path
    ) -> None:
        with made_run(repository) as run:
            editor = await edit(repository)
            await editor.subscribe(output=True, messages=True)
            run.agent()
            run.say(b"one\n\xe6\xbc")
            run.say(b"\xa2 \xff\n", stream="err")
            run.speak(message("one"), message("two"))
            run.say(b"\xa2 two\n")
            run.agent_ends()
            await editor.event("agentExited")
        assert editor.output() == "one\n漢 two\n"
        assert editor.output("err") == "\ufffd \ufffd\n"
        spoken = [m["text"] for p in editor.all_told("ralph/messages") for m in p["messages"]]
        assert spoken == ["one", "two"]
        order = [
            name if name != "ralph/event" else params["event"]["kind"]
            for name, params in editor.told
            if name.startswith("ralph/")
        ]
        assert order[:3] == ["runStarted", "phaseChanged", "agentStarted"]
        assert order[-1] == "agentExited"

    async def test_a_late_client_gets_the_end_of_the_output(
        self, edit: StartEditor, repository: Path
    ) -> None:
        with made_run(repository) as run:
            run.speak(*[message("of the one before")] * 3)
            run.agent(iteration=2)
            run.say("漢".encode() * 10_000, iteration=2)
            run.speak(*[message(f"number {n}", start=2) for n in range(3000)])
            editor = await edit(repository)
            await editor.subscribe(output=True, messages=True)
            run.say(b" new", iteration=2)
            run.speak(message("new", start=2))
            await editor.until("ralph/output", lambda p: p["text"].endswith("new"))
            await editor.until("ralph/messages", lambda p: p["messages"][-1]["text"] == "new")
        assert editor.output() == "漢" * (8192 // 3) + " new"
        spoken = [m["text"] for p in editor.all_told("ralph/messages") for m in p["messages"]]
        assert "of the one before" not in spoken
        assert spoken[-2:] == ["number 2999", "new"]
        assert len(spoken) > 500

    async def test_a_message_that_is_none_harms_no_other(
        self, edit: StartEditor, repository: Path
    ) -> None:
        with made_run(repository) as run:
            editor = await edit(repository)
            await editor.subscribe(messages=True)
            run.agent()
            run.speak(message("one"), b'{"kind":"ofTomorrow","iteration":1}', b"{", b'{"\xff":1}')
            run.speak(message("two"))
            await editor.until("ralph/messages", lambda p: p["messages"][-1]["text"] == "two")
        spoken = [m["text"] for p in editor.all_told("ralph/messages") for m in p["messages"]]
        assert spoken == ["one", "two"]

    async def test_a_client_that_does_not_read_misses_output_and_no_event(
        self, edit: StartEditor, repository: Path
    ) -> None:
        with made_run(repository) as run:
            editor = await edit(repository)
            await editor.subscribe(output=True, messages=True)
            run.agent()
            await editor.event("agentStarted")
            editor.stop_reading()
            n_lines, line = 200_000, b"y" * 99 + b"\n"
            for _ in range(20):
                run.say(line * (n_lines // 20))
                run.notes(10)
                run.speak(*[message("m" * 1000)] * 500)
            run.agent_ends()
            run.end()
            # Any other client that asks gets an answer: the server waits for nobody.
            other = await edit(repository)
            await other.subscribe(events=True)
            await other.event("runEnded")
            editor.read_on()
            await editor.event("runEnded")
        told = editor.all_told("ralph/output")
        skipped = sum(params["skipped"] for params in told)
        assert skipped > 0
        assert len(editor.output()) + skipped == n_lines * len(line)
        assert max(len(params["text"]) for params in told) <= 64 * 1024
        spoken = editor.all_told("ralph/messages")
        lost = sum(params.get("skipped", 0) for params in spoken)
        assert lost > 0
        assert sum(len(params["messages"]) for params in spoken) + lost == 20 * 500
        assert len(editor.events()) == 2 + 1 + 200 + 2


class TestView:
    async def test_it_comes_whenever_something_changes_and_at_once_when_somebody_is_needed(
        self, edit: StartEditor, repository: Path
    ) -> None:
        with made_run(repository) as run:
            editor = await edit(repository)
            await editor.subscribe(view=True, events=False)
            first = await editor.view(lambda state: state["run"]["seq"] == 2)
            assert first["panel"]["headline"]
            assert [row["title"] for row in first["plan"]["tasks"]] == ["First task"]
            run.tell(
                QuestionAsked, question="Why?", path=".ralph/decide.txt", asked_at=NOON, iteration=1
            )
            run.tell(PhaseChanged, phase=Phase.PARKED, reason="decide")
            asked = await editor.view(lambda state: bool(state["needsPerson"]))
            assert asked["panel"]["question"]["text"] == "Why?"
            run.tell(RunEnded, reason=EndReason.STOPPED, exit_code=130, message="enough", by="Ada")
            await editor.view(lambda state: state["phase"] == "ended")
        gone = await editor.view(lambda state: not state["live"])
        assert gone["phase"] == "ended"
        assert editor.events() == []

    async def test_a_task_ticked_by_hand_shows_in_it(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        await editor.subscribe(view=True)
        plan = repository / "@fix_plan.md"
        plan.write_text("# Plan\n\n- [x] First task\n- [ ] Second task\n", encoding="utf-8")
        state = await editor.view(lambda state: len(state["plan"]["tasks"]) == 2)
        assert [row["state"] for row in state["plan"]["tasks"]] == ["done", "todo"]
        plan.unlink()
        await editor.view(lambda state: not state["plan"].get("uri"))

    async def test_a_task_ticked_in_the_editor_shows_in_it(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        await editor.subscribe(view=True)
        plan = repository / "@fix_plan.md"
        editor.open(plan, "# Plan\n\n- [x] First task\n- [x] Unsaved\n")
        state = await editor.view(lambda state: len(state["plan"]["tasks"]) == 2)
        assert [row["title"] for row in state["plan"]["tasks"]] == ["First task", "Unsaved"]

    async def test_many_changes_make_few_views(self, edit: StartEditor, repository: Path) -> None:
        with made_run(repository) as run:
            editor = await edit(repository)
            await editor.subscribe(view=True)
            run.notes(500)
            await editor.event("noteAdded", seq=502)
            await editor.view(lambda state: state["run"]["seq"] == 502)
            # One at the beginning, and then four a second of a burst that takes far less.
            assert len(editor.all_told("ralph/view")) < 50
