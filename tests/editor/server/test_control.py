"""Orders from an editor: to runs that live, to runs that do not, and wrong ones."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from ralph_ls.client import RequestRefused
from ralph_ls.protocol.lsp.methods import METHODS
from ralph_ls.store.run.ancestry import MARKER
from tests.editor.conftest import StartEditor
from tests.editor.scripted_run import RUN, made_run
from tests.engine.project_builder import make_repository, newest_run
from tests.engine.ralph_runner import Project
from tests.engine.steered_run import ASKS_FIRST, FINISHES, STUCK_FIRST, at_work, parked

pytestmark = pytest.mark.slow

ASKS_THEN_WAITS = f"""\
if [ "$RALPH_START" = 1 ]; then say '<promise>DECIDE:red or blue?</promise>'; exit; fi
wait_here; {FINISHES}
"""


class TestLivingEngine:
    async def test_two_editors_see_the_same_and_an_answer_in_one_closes_it_in_the_other(
        self, edit: StartEditor, loops: Project
    ) -> None:
        loops.make_gate()
        running = parked(loops, ASKS_THEN_WAITS, "decide")
        ada = await edit(loops.repository, name="Ada's editor")
        bob = await edit(loops.repository, name="Bob's editor")
        for editor in (ada, bob):
            await editor.subscribe(view=True)
            asked = await editor.view(lambda state: bool(state["panel"]["question"]))
            assert asked["needsPerson"]
        answered = await ada.request("ralph/answer", {"text": " blue\n"})
        assert answered["text"] == "the agent gets your answer in the next iteration"
        for editor in (ada, bob):
            told = await editor.event("questionAnswered")
            assert (told["answer"], told["by"]) == ("blue", "Ada's editor")
        late = await bob.request("ralph/answer", {"text": "red"})
        assert not late["accepted"]
        loops.open_gate()
        assert await asyncio.to_thread(running.wait) is not None
        ended = [await editor.event("runEnded") for editor in (ada, bob)]
        assert ended[0] == ended[1]
        assert ada.events() == bob.events()

    async def test_it_is_paused_resumed_sent_a_note_and_stopped(
        self, edit: StartEditor, loops: Project
    ) -> None:
        at_work(loops)
        editor = await edit(loops.repository)
        await editor.subscribe()
        for name, params in (("pause", {}), ("resume", {}), ("note", {"text": "mind the tax"})):
            reply = await editor.request(f"ralph/{name}", params)
            assert (reply["accepted"], reply["code"]) == (True, "accepted"), reply
        told = await editor.event("noteAdded")
        assert (told["text"], told["by"]) == ("mind the tax", "Visual Studio Code")
        reply = await editor.request("ralph/answer", {"text": "blue"})
        assert (reply["accepted"], reply["code"]) == (False, "no-question")
        reply = await editor.request("ralph/stop", {"now": True})
        assert reply["accepted"]
        ended = await editor.event("runEnded")
        assert (ended["reason"], ended["by"]) == ("stopped", "Visual Studio Code")

    async def test_a_second_start_names_the_active_run(
        self, edit: StartEditor, loops: Project
    ) -> None:
        at_work(loops)
        editor = await edit(loops.repository)
        refused = await editor.refusal("ralph/start", {"agentCommand": [loops.command]})
        found = newest_run(loops.repository)
        assert found is not None
        assert found.owner is not None
        assert (refused.code, refused.data) == (-32803, {"code": "workspace-busy"})
        assert f"(pid {found.owner.pid})" in refused.message
        assert found.state.run in refused.message


class TestWithoutEngine:
    async def test_a_killed_engine_shows_as_crashed_and_its_run_is_taken_up(
        self, edit: StartEditor, loops: Project
    ) -> None:
        running = at_work(loops)
        editor = await edit(loops.repository, name="Ada's editor")
        await editor.subscribe(view=True)
        await editor.view(lambda state: bool(state["live"]))
        running.kill()
        crashed = await editor.view(lambda state: state["phase"] == "crashed")
        assert (crashed["live"], crashed["needsPerson"]) == (False, True)
        assert "pid" not in crashed
        stopped = await editor.refusal("ralph/stop")
        assert stopped.data == {"code": "no-engine"}
        assert "no engine is running in" in stopped.message
        reply = await editor.request("ralph/resume")
        assert (reply["accepted"], reply["code"]) == (True, "continued")
        resumed = await editor.event("runResumed")
        assert resumed["by"] == "Ada's editor"
        await editor.view(lambda state: bool(state["live"]) and state["phase"] != "crashed")
        assert (await editor.request("ralph/stop", {"now": True}))["accepted"]
        await editor.event("runEnded")

    async def test_an_answer_is_written_and_the_run_continues_if_asked(
        self, edit: StartEditor, loops: Project
    ) -> None:
        loops.agent(ASKS_FIRST)
        assert loops.run("9").exit_code == 3
        editor = await edit(loops.repository)
        await editor.subscribe(view=True)
        reply = await editor.request("ralph/answer", {"text": "blue"})
        assert (reply["accepted"], reply["code"]) == (True, "written")
        assert reply["text"] == (
            "the answer is in .ralph/decide.txt; continue with: ralph run --resume"
        )
        await editor.view(lambda state: state["panel"]["waiting"] == 0)
        again = await editor.refusal("ralph/answer", {"text": "red", "continue": True})
        assert ".ralph/decide.txt already contains an answer" in again.message
        reply = await editor.request("ralph/resume")
        assert reply["code"] == "continued"
        told = await editor.event("questionAnswered")
        assert told["answer"] == "blue"
        assert (await editor.event("runEnded", reason="complete"))["exitCode"] == 0

    async def test_a_reset_continues_and_counts_as_that_users(
        self, edit: StartEditor, loops: Project
    ) -> None:
        loops.agent(STUCK_FIRST)
        assert loops.run("9").exit_code == 4
        editor = await edit(loops.repository, name="Ada's editor")
        await editor.subscribe()
        written = await editor.request("ralph/reset")
        assert (written["code"], written["text"]) == (
            "written",
            "resuming resets the breaker; continue with: ralph run --resume",
        )
        reply = await editor.request("ralph/reset", {"continue": True})
        assert reply["code"] == "continued"
        moved = await editor.event("circuitBreakerStateChange", toState="CLOSED")
        assert "Ada's editor" in moved["reason"]
        await editor.event("runEnded", reason="complete")

    async def test_where_there_was_never_a_run_it_is_refused(
        self, edit: StartEditor, tmp_path: Path
    ) -> None:
        editor = await edit(make_repository(tmp_path / "repository"))
        for name in ("stop", "pause", "resume", "reset"):
            refused = await editor.refusal(f"ralph/{name}")
            assert (refused.code, refused.data) == (-32803, {"code": "no-engine"})
            assert "no run in" in refused.message
        left = await editor.request("ralph/note", {"text": "mind the tax"})
        assert left == {
            "accepted": True,
            "code": "left",
            "text": "the agent gets it in the next run",
        }


class TestStart:
    async def test_it_takes_all_that_the_request_names(
        self, edit: StartEditor, loops: Project
    ) -> None:
        loops.plan("First task", "Second task")
        loops.agent(FINISHES)
        editor = await edit(loops.repository)
        await editor.subscribe()
        plan = await editor.request("ralph/state")
        second = plan["plan"]["tasks"][1]["id"]
        begun = await editor.request(
            "ralph/start",
            {
                "workspace": loops.repository.as_uri(),
                "maxIterations": 1,
                "profile": "fixplan",
                "agentCommand": [loops.command, "an argument with spaces"],
                "agentPrompt": "stdin",
                "plan": "@fix_plan.md",
                "task": second,
                "timeout": "5m",
                "onHalt": "exit",
            },
        )
        assert begun["text"].endswith("at most 1 iterations")
        started = await editor.event("runStarted", run=begun["run"])
        config = started["config"]
        assert (config["maxIterations"], config["timeouts"]["iteration"], config["task"]) == (
            1,
            300.0,
            second,
        )
        command = config["agents"]["command"]
        assert command["argv"] == [loops.command, "an argument with spaces"]
        assert (command["prompt"], config["onHalt"]) == ("stdin", "exit")
        await editor.event("runEnded")

    @pytest.mark.parametrize(
        ("wrong", "field", "words"),
        [
            ({"agent": "demo", "agentCommand": ["a"]}, "agentCommand", "not both"),
            ({"agentPrompt": "stdin"}, "agentPrompt", "goes with agentCommand"),
        ],
    )
    async def test_what_contradicts_itself_is_refused(
        self,
        edit: StartEditor,
        tmp_path: Path,
        wrong: dict[str, object],
        field: str,
        words: str,
    ) -> None:
        editor = await edit(make_repository(tmp_path / "repository"))
        refused = await editor.refusal("ralph/start", wrong)
        assert refused.code == -32602
        [problem] = refused.data["problems"]
        assert problem["field"] == field
        assert words in problem["message"]

    async def test_what_keeps_a_run_from_beginning_is_reported_in_its_own_words(
        self, edit: StartEditor, loops: Project
    ) -> None:
        config = 'agent = "command"\n[agents.command]\nargv = ["./agent.sh"]\n'
        loops.plan("First task", files={".ralph/config.toml": config, "agent.sh": "#!/bin/sh\n"})
        editor = await edit(loops.repository)

        async def refused(**params: object) -> RequestRefused:
            return await editor.refusal("ralph/start", params)

        not_allowed = await refused()
        assert (not_allowed.code, not_allowed.data) == (-32803, {"code": "not-allowed"})
        assert "ralph allow" in not_allowed.message
        assert loops.tell("run", "5").stderr == f"ralph: {not_allowed.message}\n"
        assert (await refused(agentCommand=["no-such-program"])).data == {
            "code": "agent-unavailable"
        }
        assert (await refused(plan="none.md", agentCommand=["sh"])).data == {"code": "plan-missing"}
        assert (await refused(task="zzz", agentCommand=["sh"])).data == {"code": "used-wrongly"}
        (loops.repository / ".ralph/config.toml").write_text("agents = 3\n", encoding="utf-8")
        unusable = await refused()
        assert unusable.data == {"code": "config-unusable"}
        assert "config.toml:1: agents" in unusable.message

    async def test_without_git_the_refusal_says_how_to_get_it(
        self, edit: StartEditor, loops: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        loops.plan("First task")
        monkeypatch.setenv("PATH", str(tmp_path))
        editor = await edit(loops.repository)
        refused = await editor.refusal("ralph/start", {"agentCommand": [sys.executable]})
        assert refused.data == {"code": "git-missing"}
        assert "https://git-scm.com/downloads" in refused.message

    async def test_a_run_outlives_the_server_that_started_it(
        self, edit: StartEditor, loops: Project
    ) -> None:
        loops.agent(f"wait_here; {FINISHES}")
        loops.make_gate()
        editor = await edit(loops.repository)
        await editor.subscribe()
        begun = await editor.request("ralph/start", {"agentCommand": [loops.command]})
        last = await editor.event("agentStarted")
        editor.kill()
        # The one that comes next knows all of it, and is sent only what it has not seen.
        other = await edit(loops.repository)
        seen = await other.subscribe(afterSeq=last["seq"], run=begun["run"], view=True)
        assert (seen["state"]["live"], seen["seq"]) == (True, last["seq"])
        await asyncio.to_thread(loops.open_gate)
        ended = await other.event("runEnded")
        assert ended["reason"] == "complete"
        numbers = [event["seq"] for event in other.events()]
        assert numbers == list(range(last["seq"] + 1, ended["seq"] + 1))


class TestTrust:
    async def test_a_folder_that_is_not_trusted_is_only_looked_at(
        self, edit: StartEditor, tmp_path: Path
    ) -> None:
        repository = make_repository(tmp_path / "repository")
        with made_run(repository):
            editor = await edit(repository, options={"readOnly": True})
            texts: dict[str, dict[str, object]] = {"answer": {"text": "x"}, "note": {"text": "x"}}
            texts |= {"skip": {"task": "a"}, "resetTask": {"task": "a"}}
            texts |= {"editTask": {"task": "a", "edit": "unblock"}, "rollback": {"start": 1}}
            for name in ("start", "stop", "pause", "resume", "reset", *texts):
                refused = await editor.refusal(f"ralph/{name}", texts.get(name))
                assert (refused.code, refused.data) == (-32803, {"code": "read-only"})
                command = await editor.refusal(
                    "workspace/executeCommand",
                    {"command": f"ralph.{name}", "arguments": [texts.get(name, {})]},
                )
                assert command.data == {"code": "read-only"}
            assert (await editor.subscribe())["state"]["live"]
        editor.notify(
            "workspace/didChangeConfiguration", {"settings": {"ralph": {"readOnly": False}}}
        )
        left = await editor.request("ralph/note", {"text": "mind the tax"})
        assert left["code"] == "left"

    async def test_a_server_that_was_started_to_read_only_is_not_talked_out_of_it(
        self, edit: StartEditor, tmp_path: Path
    ) -> None:
        repository = make_repository(tmp_path / "repository")
        editor = await edit(repository, options={"readOnly": False}, flags=["--read-only"])
        for told in (False, None):
            settings = {"ralph": {"readOnly": told}}
            editor.notify("workspace/didChangeConfiguration", {"settings": settings})
            refused = await editor.refusal("ralph/note", {"text": "mind the tax"})
            assert refused.data == {"code": "read-only"}
        assert not (repository / ".ralph").exists()
        state = await editor.request("ralph/state")
        assert [task["title"] for task in state["plan"]["tasks"]] == ["First task"]

    async def test_a_server_that_an_iteration_has_started_changes_nothing(
        self, edit: StartEditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repository = make_repository(tmp_path / "repository")
        plan = (repository / "@fix_plan.md").read_text(encoding="utf-8")
        with made_run(repository) as made:
            monkeypatch.setenv(MARKER, f"{RUN}/1")
            editor = await edit(repository)
            for method in METHODS.values():
                if not method.changes:
                    continue
                name = method.name.removeprefix("ralph/")
                refused = await editor.refusal(method.name, GIVEN.get(name))
                assert refused.data == {"code": "from-inside"}, name
                assert "refused: it was started from inside an iteration of run" in refused.message
            assert (await editor.subscribe())["state"]["live"]
            assert not list(made.state.folder.glob("inbox/*"))
        assert (repository / "@fix_plan.md").read_text(encoding="utf-8") == plan

    def test_every_method_says_whether_it_changes_anything(self) -> None:
        reading = {name for name, method in METHODS.items() if not method.changes}
        assert reading == {
            *("ralph/changes", "ralph/fileAt", "ralph/state", "ralph/subscribe"),
            *("ralph/unsubscribe", "ralph/setupChoices", "ralph/validateSetup"),
            *("ralph/claims", "ralph/demo", "ralph/dashboard", "ralph/plans"),
            *("ralph/runs", "ralph/anywhere", "ralph/iterations", "ralph/inspect", "ralph/lanes"),
            *("ralph/event", "ralph/output", "ralph/messages", "ralph/view", "ralph/lessons"),
        }


GIVEN: dict[str, dict[str, object]] = {
    "allow": {"shown": "a" * 64},
    "configure": {"key": "max_iterations", "value": "5"},
    "answer": {"text": "x"},
    "note": {"text": "x"},
    "skip": {"task": "a"},
    "resetTask": {"task": "a"},
    "editTask": {"task": "a", "edit": "unblock"},
    "rollback": {"start": 1},
    "maintain": {"what": "prune"},
    "proposePlan": {"description": "Paint the house, all of it"},
    "setup": {"profile": "fixplan"},
    "decideLesson": {"action": "accept", "path": "lesson.md"},
    "resumeFleetTask": {"task": "api#T1"},
}


WRONG: dict[str, list[tuple[dict[str, object], str]]] = {
    "start": [
        ({"maxIterations": 0}, "maxIterations"),
        ({"maxIteration": 3}, "maxIteration"),
        ({"profile": "other"}, "profile"),
        ({"agentCommand": []}, "agentCommand"),
        ({"agentCommand": "sh -c x"}, "agentCommand"),
        ({"plan": "../plan.md"}, "plan"),
        ({"timeout": "soon"}, "timeout"),
        ({"onHalt": "sleep"}, "onHalt"),
        ({"resume": "maybe"}, "resume"),
        ({"workspace": 3}, "workspace"),
    ],
    "stop": [({"now": "now"}, "now"), ({"later": True}, "later")],
    "pause": [({"long": 3}, "long")],
    "resume": [({"continue": "x"}, "continue"), ({"goOn": True}, "goOn")],
    "reset": [({"continue": []}, "continue")],
    "answer": [({}, "text"), ({"text": " \n"}, "text"), ({"text": ["a"]}, "text")],
    "note": [({}, "text"), ({"text": "x" * 100_001}, "text")],
    "skip": [({}, "task"), ({"task": ""}, "task")],
    "resetTask": [({"task": 3}, "task")],
    "editTask": [({"task": "a", "edit": "explode"}, "edit"), ({"task": "a"}, "edit")],
    "changes": [({}, "start"), ({"start": 1, "run": "../x"}, "run")],
    "fileAt": [({"commit": "main", "path": "a"}, "commit")],
    "rollback": [({"start": 0}, "start"), ({"start": 1, "force": 3}, "force")],
    "state": [({"now": True}, "now")],
    "subscribe": [({"afterSeq": -1}, "afterSeq"), ({"after_seq": 1}, "after_seq")],
    "unsubscribe": [({"workspace": {}}, "workspace")],
}


async def test_params_that_are_wrong_are_refused_with_the_field_named(
    edit: StartEditor, tmp_path: Path
) -> None:
    editor = await edit(make_repository(tmp_path / "repository"))
    for name, cases in WRONG.items():
        for params, field in cases:
            refused = await editor.refusal(f"ralph/{name}", params)
            assert refused.code == -32602, (name, params)
            fields = [problem["field"] for problem in refused.data["problems"]]
            assert any(each.startswith(field) for each in fields), (name, params, fields)
            assert f"ralph/{name}: " in refused.message
