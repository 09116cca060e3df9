"""The server's own commands, as lenses and people give them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.editor.requests.commands import COMMANDS
from ralph_ls.protocol.run.events import PhaseChanged, QuestionAsked
from ralph_ls.protocol.run.values import Phase
from tests.editor.conftest import StartEditor
from tests.editor.editor_client import NEOVIM, VS_CODE
from tests.editor.scripted_run import NOON, RUN, ScriptedRun, made_run
from tests.engine.project_builder import make_repository
from tests.engine.ralph_runner import Project
from tests.engine.steered_run import ASKS_FIRST, FINISHES

pytestmark = pytest.mark.slow


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository")


def ask(run: ScriptedRun, question: str = "Why?") -> None:
    """The run waits for an answer; its engine has written no file."""
    run.tell(QuestionAsked, question=question, path=".ralph/decide.txt", asked_at=NOON, iteration=1)
    run.tell(PhaseChanged, phase=Phase.PARKED, reason="decide")


class TestRegistered:
    async def test_all_are_there_without_a_prefix_and_none_with_one(
        self, edit: StartEditor, repository: Path
    ) -> None:
        plain = await edit(repository)
        known = plain.capabilities["executeCommandProvider"]["commands"]
        assert known == [f"ralph.{name}" for name in COMMANDS]
        own = await edit(repository, options={"commandPrefix": "ralphLoop.lens"})
        assert not (own.capabilities.get("executeCommandProvider") or {}).get("commands")
        refused = await own.refusal("workspace/executeCommand", {"command": "ralph.state"})
        assert refused.code == -32602

    async def test_a_prefix_that_is_none_is_logged(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository, options={"commandPrefix": "3 x", "lens": {"tasks": "all"}})
        assert editor.capabilities["executeCommandProvider"]["commands"]
        await editor.request("ralph/state")
        assert "Ignored the option commandPrefix" in editor.log()


class TestControls:
    @pytest.mark.parametrize("capabilities", [VS_CODE, NEOVIM])
    async def test_a_whole_run_by_commands_alone(
        self, edit: StartEditor, loops: Project, capabilities: str
    ) -> None:
        loops.agent(ASKS_FIRST)
        editor = await edit(loops.repository, capabilities=capabilities)
        await editor.subscribe()
        begun = await editor.command("start", {"agentCommand": [loops.command]})
        await editor.event("phaseChanged", phase="parked")
        state = await editor.command("state")
        assert state["run"]["run"] == begun["run"]
        lens = {"workspace": loops.repository.as_uri(), "run": begun["run"], "text": "blue"}
        answered = await editor.command("answer", lens)
        assert (answered["accepted"], answered["run"]) == (True, begun["run"])
        await editor.event("runEnded", reason="complete")

    async def test_a_task_is_run_alone(self, edit: StartEditor, loops: Project) -> None:
        loops.plan("First task", "Second task")
        loops.agent(FINISHES)
        editor = await edit(loops.repository)
        await editor.subscribe()
        refused = await editor.refusal("workspace/executeCommand", {"command": "ralph.runTask"})
        assert (refused.code, refused.data["problems"][0]["field"]) == (-32602, "task")
        first = (await editor.command("state"))["plan"]["tasks"][0]["id"]
        begun = await editor.command("runTask", {"task": first, "agentCommand": [loops.command]})
        started = await editor.event("runStarted", run=begun["run"])
        assert started["config"]["task"] == first
        assert (await editor.event("runEnded"))["reason"] == "complete"

    async def test_texts_may_come_plain(self, edit: StartEditor, repository: Path) -> None:
        editor = await edit(repository)
        assert (await editor.command("note", "mind the tax"))["code"] == "left"
        assert (await editor.command("note", {"text": "and the law"}))["code"] == "left"
        refused = await editor.refusal(
            "workspace/executeCommand", {"command": "ralph.stop", "arguments": ["now"]}
        )
        assert (refused.code, refused.data["problems"][0]["field"]) == (-32602, "argument")

    async def test_a_lens_of_another_run_steers_nothing(
        self, edit: StartEditor, repository: Path
    ) -> None:
        with made_run(repository):
            editor = await edit(repository)
            for name in ("stop", "pause", "resume", "reset", "answer"):
                reply = await editor.command(name, {"run": "20250131T120000Z-0a1b", "text": "x"})
                assert (reply["accepted"], reply["code"]) == (False, "other-run")
                assert reply["text"] == f"this is run {RUN}, not 20250131T120000Z-0a1b"

    @pytest.mark.parametrize(
        ("name", "argument", "field"),
        [
            ("start", {"maxIterations": 0}, "maxIterations"),
            ("stop", {"now": "x"}, "now"),
            ("stop", [], "argument"),
            ("answer", {"text": " "}, "text"),
            ("note", None, "text"),
            ("showFile", {}, "path"),
            ("showFile", {"path": "a\0b"}, "path"),
            ("showFile", {"path": "a", "workspace": 3}, "workspace"),
            ("state", {"other": 1}, "other"),
        ],
    )
    async def test_what_is_wrong_is_named(
        self, edit: StartEditor, repository: Path, name: str, argument: object, field: str
    ) -> None:
        editor = await edit(repository)
        arguments = [] if argument is None else [argument]
        refused = await editor.refusal(
            "workspace/executeCommand", {"command": f"ralph.{name}", "arguments": arguments}
        )
        assert (refused.code, refused.data["problems"][0]["field"]) == (-32602, field)


class TestOpening:
    async def test_the_question_is_opened_where_its_answer_can_be_written(
        self, edit: StartEditor, repository: Path
    ) -> None:
        with made_run(repository) as run:
            editor = await edit(repository)
            nothing = await editor.refusal("workspace/executeCommand", {"command": "ralph.answer"})
            assert nothing.data == {"code": "no-engine"}
            ask(run)
            shown = await editor.command("answer", {"run": RUN, "continue": True})
        decide = repository / ".ralph/decide.txt"
        assert (shown["accepted"], shown["code"], shown["text"]) == (True, "opened", str(decide))
        assert decide.read_text(encoding="utf-8").endswith("\nWhy?\n\n---\n## Answer\n")
        [(method, params)] = [each for each in editor.asked if each[0] == "window/showDocument"]
        assert (method, params["uri"]) == ("window/showDocument", decide.as_uri())
        assert params["selection"]["start"]["line"] == 4

    async def test_a_log_is_opened(self, edit: StartEditor, repository: Path) -> None:
        editor = await edit(repository)
        none = await editor.refusal("workspace/executeCommand", {"command": "ralph.showLog"})
        assert "no run in" in none.message
        with made_run(repository) as run:
            run.say(b"hello\n", iteration=2)
            shown = await editor.command("showLog", {"run": RUN, "start": 2, "commit": "abc"})
            assert shown["text"] == str(run.files.output(2, 1, "out"))
            missing = await editor.refusal(
                "workspace/executeCommand",
                {"command": "ralph.showLog", "arguments": [{"start": 3}]},
            )
            assert missing.data == {"code": "state-unusable"}
            wrong = await editor.refusal(
                "workspace/executeCommand",
                {"command": "ralph.showLog", "arguments": [{"start": "3"}]},
            )
            assert wrong.data["problems"][0]["field"] == "start"

    async def test_a_file_is_opened_and_none_outside_the_work_tree(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        shown = await editor.command("showFile", {"path": "@fix_plan.md"})
        assert (shown["code"], shown["text"]) == ("opened", str(repository / "@fix_plan.md"))
        for path in ("../kept", "/etc/passwd", "none.md"):
            refused = await editor.refusal(
                "workspace/executeCommand",
                {"command": "ralph.showFile", "arguments": [{"path": path}]},
            )
            assert refused.data == {"code": "state-unusable"}

    async def test_a_client_that_opens_nothing_gets_the_path_of_the_file(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository, changes={"window": {}})
        shown = await editor.command("showFile", {"path": "@fix_plan.md"})
        assert (shown["code"], shown["text"]) == (
            "not-opened",
            f"open {repository / '@fix_plan.md'}",
        )
        assert editor.asked == []
