"""The words of notifications."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralph_ls.core.notify.occasions import Notification
from ralph_ls.core.notify.schedule import Outgoing
from ralph_ls.core.notify.texts import body_of, comment_of, fenced, payload_of, title_of
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.notify import NotifyEvent
from ralph_ls.protocol.plan import RequestKind, RequestView
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import TaskRef

RUN = "20260131T120000Z-1a2b"
GITHUB = RequestView(
    kind=RequestKind.GITHUB, title="Lost", source="ada/invoice#12", url="https://x/12"
)


def run(**more: Any) -> RunState:
    answers = more.pop("answers", [])
    config = Config.model_validate({"notify": {"answers": answers}})
    return RunState(run=RUN, workspace="/home/ada/my invoice", config=config, **more)


def out(text: str = "Which?", more: int = 0, **given: Any) -> Outgoing:
    values = {"event": NotifyEvent.QUESTION, "command": "ralph resume", **given}
    return Outgoing(notification=Notification(text=text, **values), more=more)


def test_the_title_names_repository_and_event() -> None:
    assert title_of(out(), run()) == "my invoice: Ralph has a question"
    assert title_of(out(more=2), run()) == "my invoice: Ralph has a question (and 2 more)"
    assert title_of(out(), RunState()) == "ralph: Ralph has a question"


def test_the_body_has_everything_to_act_on() -> None:
    task = TaskRef(id="7", title="Write \x1b[2Jletters")
    whole = body_of(out(task=task, iteration=3, cost_usd=0.42), run())
    assert whole == (
        "Which?\n\nTask: Write \\x1b[2Jletters\n"
        f"Iteration 3 · $0.42 · run {RUN}\n\n"
        "cd '/home/ada/my invoice' && ralph resume"
    )


def test_the_body_without_anything_to_do() -> None:
    assert body_of(out(command=""), run()) == f"Which?\n\nRun {RUN}"
    assert body_of(out(command=""), RunState()) == "Which?"
    assert "\n\nNext: look at it: ralph status" in body_of(
        out(command="", advice="look at it: ralph status"), run()
    )


def test_a_question_lists_its_options_with_the_numbers_that_answer_it() -> None:
    listed = "  1  red\n  2  blue"
    assert body_of(out("red or blue?", command=""), RunState()) == f"red or blue?\n{listed}"
    lettered = out("Which one?\n(a) red\n(b) blue", command="")
    assert body_of(lettered, RunState()) == f"Which one?\n{listed}"


def test_a_long_text_is_cut_and_harmless() -> None:
    whole = body_of(out("a\x07" + "b" * 5000), run())
    assert whole.startswith("a\\x07b")
    assert len(whole) < 1700


def test_the_payload_of_a_command() -> None:
    sent = out(start=3, iteration=2, task=TaskRef(id="7", title="Letters"), options=("a", "b"))
    found = payload_of(sent, run(request=GITHUB, branch="main"))
    assert json.loads(json.dumps(found)) == {
        "event": "question",
        "title": "my invoice: Ralph has a question",
        "text": "Which?",
        "options": ["a", "b"],
        "question_id": "1a2b-3",
        "repository": "my invoice",
        "workspace": "/home/ada/my invoice",
        "branch": "main",
        "run": RUN,
        "start": 3,
        "iteration": 2,
        "task": {"id": "7", "title": "Letters"},
        "request": "Lost",
        "source": "ada/invoice#12",
        "url": "https://x/12",
        "cost_usd": None,
        "command": "cd '/home/ada/my invoice' && ralph resume",
        "next": "",
        "more": 0,
    }
    bare = payload_of(out(event=NotifyEvent.COMPLETE), run())
    assert (bare["question_id"], bare["task"], bare["request"], bare["url"]) == ("", None, "", "")


def test_a_comment_fences_the_agents_words_and_names_no_folder() -> None:
    comment = comment_of(out("Which of ``` @ada?", start=3), run())
    assert "````text\nWhich of ``` @ada?\n````\n" in comment
    assert "/home/ada" not in comment
    assert comment.endswith("The owner of the loop answers with `ralph answer`.\n")
    assert "/ralph answer" not in comment


def test_a_comment_says_how_to_answer_where_answers_count() -> None:
    comment = comment_of(out(start=3), run(answers=["github"]))
    assert "the line `/ralph answer 1a2b-3` first" in comment


@pytest.mark.parametrize(
    ("command", "end"),
    [
        ("ralph run --resume", "continues with `ralph run --resume`.\n"),
        ("a `b`", "continues with `a 'b'`.\n"),
        ("", "```\n"),
    ],
)
def test_the_comment_of_an_end(command: str, end: str) -> None:
    comment = comment_of(out("done", 2, event=NotifyEvent.LIMIT, command=command), run())
    assert comment.startswith("Ralph reached a limit (and 2 more):\n\n```text\ndone\n```\n")
    assert comment.endswith(end)


def test_no_text_closes_its_fence() -> None:
    assert fenced("````") == "`````text\n````\n`````"
