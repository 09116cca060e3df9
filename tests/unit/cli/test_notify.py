"""``ralph notify test``, and the terminal's bell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.cli.show.renderers import BellRenderer
from ralph_ls.core.notify.occasions import Notification
from ralph_ls.core.notify.schedule import Outgoing
from ralph_ls.engine.notify import delivery, sender
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.notify import NotifyConfig, NotifyEvent
from ralph_ls.protocol.run.events import QuestionAsked
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.external.programs import ProgramOutput
from tests.fakes.notify_servers import Received, http_server
from tests.unit.cli.cli_runner import Ralph


@pytest.fixture
def web() -> Iterator[Received]:
    with http_server() as received:
        yield received


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own settings."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = tmp_path / "config/ralph/config.toml"
    path.parent.mkdir(parents=True)
    return path


def test_a_sample_goes_to_every_destination(
    ralph: Ralph, repository: Path, own: Path, tmp_path: Path
) -> None:
    command = json.dumps(["sh", "-c", f"cat >{tmp_path}/told"])
    own.write_text(f"[notify]\ncommand = {command}\nbell = true\ngithub = true\n")
    said = ralph(repository, "notify", "test", "--event", "complete")
    assert said.out.splitlines() == [
        "command: sent",
        "bell: not sent",
    ]
    assert (said.code, "the output is no terminal" in said.err) == (1, True)
    told = json.loads((tmp_path / "told").read_text())
    assert (told["event"], told["title"]) == ("complete", "tree: Ralph is done")


def test_problems_name_the_next_step(ralph: Ralph, repository: Path, own: Path) -> None:
    own.write_text('[notify]\ncommand = ["sh", "-c", "echo no network >&2; exit 3"]\n')
    said = ralph(repository, "notify", "test")
    assert (said.code, said.out) == (1, "command: not sent\n")
    assert "not sent to command: it ended with 3: no network; check it" in said.err
    shown = ralph(repository, "notify", "test", "--json")
    assert shown.json == {
        "event": "question",
        "destinations": [
            {"to": "command", "sent": False, "problem": "it ended with 3: no network"}
        ],
    }


@pytest.mark.parametrize(
    ("settings", "arguments", "message"),
    [
        ("", ("test",), "no destination is set; set one, such as: ralph config set --user"),
        ("", ("tset",), "unknown action 'tset'; did you mean test?"),
        ("", ("test", "--event", "questoin"), "unknown event 'questoin'; did you mean question?"),
        ("", ("test", "--event", "x"), "choose one of: question, blocker"),
        (
            "bell = true\n[notify.events]\nquestion = []\n",
            ("test",),
            "notify.events.question names no destination that is set",
        ),
        (
            'bell = true\n[notify.events]\nquestion = ["fone"]\n',
            ("test",),
            "notify.events names fone, which is not a destination",
        ),
    ],
)
def test_what_is_refused(
    ralph: Ralph,
    repository: Path,
    own: Path,
    settings: str,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    own.write_text(f"[notify]\n{settings}")
    said = ralph(repository, "notify", *arguments)
    assert (said.code, message in said.err) == (64, True), said


def test_a_command_of_the_repository_is_not_run_before_it_is_allowed(
    ralph: Ralph, repository: Path, own: Path, tmp_path: Path
) -> None:
    (repository / ".ralph").mkdir(exist_ok=True)
    settings = f'notify.command = ["touch", "{tmp_path}/harm"]\n'
    (repository / ".ralph/config.toml").write_text(settings)
    said = ralph(repository, "notify", "test")
    assert (said.code, "you haven't approved it: ralph allow" in said.err) == (1, True)
    assert not (tmp_path / "harm").exists()
    assert ralph(repository, "allow", "--yes").code == 0
    assert ralph(repository, "notify", "test").code == 0
    assert (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('urls = ["localhost"]', 'write an address such as "ntfys://ntfy.sh/TOPIC"'),
        ('urls = ["bell=ntfy://x/y"]', "bell is the name of a destination; choose another"),
        ('quiet = "night"', "'night' are not two times; write such as \"22:00-07:00\""),
        ('quiet = "7:00-7:00"', "are not two times"),
        ("cost_usd = 0", "notify.cost_usd"),
        ("[notify.events]\nquestoin = []", "questoin"),
    ],
)
def test_settings_that_are_wrong(
    ralph: Ralph, repository: Path, own: Path, settings: str, message: str
) -> None:
    own.write_text(f"[notify]\n{settings}\n")
    said = ralph(repository, "notify", "test")
    assert (said.code, message in said.err) == (78, True), said.err


def test_addresses_are_shown_nowhere(ralph: Ralph, repository: Path, own: Path) -> None:
    own.write_text('[notify]\nurls = ["phone=ntfys://ntfy.sh/letters-0123456789abcdef"]\n')
    for words in (("config",), ("config", "get", "notify.urls"), ("doctor",)):
        said = ralph(repository, *words)
        assert "0123456789" not in said.out + said.err
        assert "phone" in said.out


@pytest.mark.filterwarnings("ignore")
class TestSender:
    """The process that loads Apprise, called in this one."""

    def send(self, addresses: dict[str, str]) -> dict[str, str]:
        import apprise

        return {name: sender._send(apprise, one, "T", "B") for name, one in addresses.items()}

    def test_slack_gets_a_message_at_its_webhook(
        self, web: Received, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from apprise.plugins.slack import NotifySlack

        stand_in = f"http://127.0.0.1:{web.port}/services"
        monkeypatch.setattr(NotifySlack, "webhook_url", stand_in)
        address = "https://hooks.slack.com/services/T0123ABCD/B0123ABCD/abcdefghij0123456789ABCD"
        assert self.send({"team": address}) == {"team": ""}
        ((path, text),) = web.items
        assert path == "/services/T0123ABCD/B0123ABCD/abcdefghij0123456789ABCD"
        assert "B" in json.dumps(json.loads(text))

    def test_a_problem_has_no_part_of_the_address(self, web: Received) -> None:
        web.status = 401
        address = f"ntfy://ada:pass0word@127.0.0.1:{web.port}/letters-0123"
        (problem,) = self.send({"x": address}).values()
        assert problem
        assert "127.0.0.1" not in address.partition("@")[0]
        for part in ("ada", "pass0word", "letters-0123"):
            assert part not in problem

    def test_what_is_no_address(self) -> None:
        (problem,) = self.send({"x": "nothing://here"}).values()
        assert problem.startswith("Apprise does not know such an address")


def postman(monkeypatch: pytest.MonkeyPatch, root: Path, answer: ProgramOutput) -> delivery.Postman:
    monkeypatch.setattr(delivery, "run_program", lambda *_, **__: answer)
    config = NotifyConfig(urls=("phone=ntfy://x/y",))
    return delivery.Postman(root=root, config=config, environment={}, redact=str)


@pytest.mark.parametrize(
    ("answer", "problem", "remedy"),
    [
        (ProgramOutput(0, '{"problems": {"phone": ""}}', ""), "", "check it: ralph notify test"),
        (ProgramOutput(1, '{"problems": {"phone": "no"}}', ""), "no", "check it: "),
        (
            ProgramOutput(1, '{"missing": true}', ""),
            "Apprise, which sends to addresses, is not installed",
            "install it: ",
        ),
        (ProgramOutput(1, "", "Traceback\nboom"), "it ended with 1: boom", "check it: "),
        (ProgramOutput(-9, "", ""), "it was ended by SIGKILL", "check it: "),
    ],
)
def test_what_the_sender_answers(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    answer: ProgramOutput,
    problem: str,
    remedy: str,
) -> None:
    sent = Outgoing(notification=Notification(event=NotifyEvent.COMPLETE, text="x"))
    (one,) = delivery.deliver(sent, RunState(), postman(monkeypatch, tmp_path, answer))
    assert (one.to, one.problem) == ("phone", problem)
    assert one.remedy.startswith(remedy)


def test_a_work_tree_that_is_gone_is_still_reported(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    config = NotifyConfig(command=("/bin/sh", "-c", f"cat >'{kept}'"))
    gone = delivery.Postman(
        root=tmp_path / "moved" / "away", config=config, environment={}, redact=str
    )
    sent = Outgoing(notification=Notification(event=NotifyEvent.BLOCKER, text="it is gone"))
    (one,) = delivery.deliver(sent, RunState(), gone)
    assert one.problem == ""
    assert json.loads(kept.read_text(encoding="utf-8"))["text"] == "it is gone"


class NoRenderer:
    backlog: int | None = None

    def show(self, snapshot: list[Any]) -> None:
        """Nothing is shown."""

    def close(self) -> None:
        """Nothing is open."""


def asked(age: float) -> QuestionAsked:
    at = datetime.now(UTC) - timedelta(seconds=age)
    values = {"seq": 1, "at": at, "run": "r", "question": "?", "path": "p", "asked_at": at}
    return QuestionAsked.model_validate(values)


@pytest.mark.parametrize(
    ("notify", "age", "rings"),
    [
        ({"bell": True}, 0.0, True),
        ({"bell": True}, 3600.0, False),
        ({"bell": False}, 0.0, False),
        ({"bell": True, "events": {"question": []}}, 0.0, False),
        ({"bell": True, "quiet": "00:00-23:59"}, 0.0, False),
    ],
)
def test_the_bell_rings_for_what_is_new(
    capsys: pytest.CaptureFixture[str], notify: dict[str, Any], age: float, rings: bool
) -> None:
    config = Config.model_validate({"notify": notify})
    renderer = BellRenderer(NoRenderer(), RunState(config=config))
    renderer.show([asked(age)])
    renderer.close()
    assert capsys.readouterr().out == "\a" * rings
