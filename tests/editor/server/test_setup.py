"""The set-up wizard's requests: choices, rules, a proposed plan and its end, the files."""

from __future__ import annotations

import asyncio
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.editor.conftest import StartEditor
from tests.editor.scripted_run import made_run
from tests.engine.project_builder import PATIENCE, git, make_repository, write_agent

pytestmark = pytest.mark.slow

DESCRIPTION = "Let people reset a password. Done when a test shows it, and all others pass."
ITEMS = [{"title": "Send a mail", "priority": "P0", "detail": "soon"}, {"title": "Be quick"}]
HANGS = """\
cat >/dev/null
(trap '' TERM; exec 9>"{kept}/held"; : >"{kept}/here"; sleep 600) &
sleep 600
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "README.md").write_text("# A project\n", encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "The beginning")
    return folder


def agent(tmp_path: Path, body: str) -> list[str]:
    command = write_agent(tmp_path / "agents", body.replace("{kept}", str(tmp_path)))
    return shlex.split(command)


def files_of(result: Any) -> dict[str, str]:
    return {file["path"]: file["action"] for file in result["files"]}


class TestChoices:
    async def test_what_can_be_chosen_where_nothing_is_set_up(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        found = await editor.request("ralph/setupChoices")
        assert [one["name"] for one in found["profiles"]] == [
            *("fixplan", "spec", "stories", "beads", "issue"),
        ]
        assert [one["title"] for one in found["templates"]][:5] == [
            *("Bug Fix", "Feature", "Refactoring", "Test Coverage", "Documentation"),
        ]
        agents = {one["name"]: one["found"] for one in found["agents"]}
        assert agents["demo"] is True
        assert [one["found"] for one in found["agents"]] == sorted(agents.values(), reverse=True)
        known = {"claude", "codex", "cline", "gemini", "opencode", "qwen", "copilot"}
        assert known <= set(agents)
        missing = [one for one in found["agents"] if not one["found"] and one["name"] in known]
        assert all(one["detail"].startswith("install it with npm install -g ") for one in missing)
        assert (found["alreadySetUp"], found.get("existingPlan")) == (False, None)
        assert found.get("profile") is None
        assert found["defaults"]["completionPhrase"] == "COMPLETE"
        assert found["defaults"]["maxIterations"] == 20
        assert await editor.command("setupChoices") == found

    async def test_what_is_there_and_what_the_repository_brings(
        self, edit: StartEditor, tmp_path: Path
    ) -> None:
        repository = make_repository(tmp_path / "set-up")
        (repository / ".ralph").mkdir()
        (repository / ".ralph" / "config.toml").write_text(
            'agent = "house"\nmax_iterations = 3\n[agents.house]\nargv = ["/bin/sh"]\n'
            '[agents.gone]\nargv = ["no-such-program"]\n'
        )
        editor = await edit(repository)
        found = await editor.request("ralph/setupChoices")
        assert (found["alreadySetUp"], found["existingPlan"]) == (True, "@fix_plan.md")
        assert found["profile"] == "fixplan"
        by_name = {one["name"]: one for one in found["agents"]}
        assert by_name["house"] == {
            "name": "house",
            "found": True,
            "detail": "/bin/sh",
            "needsAllow": True,
            "reportsCost": False,
        }
        assert by_name["gone"]["found"] is False
        assert "'no-such-program' was not found on PATH" in by_name["gone"]["detail"]
        assert (found["defaults"]["agent"], found["defaults"]["maxIterations"]) == ("house", 3)

    async def test_settings_that_cannot_be_read_are_reported(
        self, edit: StartEditor, repository: Path
    ) -> None:
        (repository / ".ralph").mkdir()
        (repository / ".ralph" / "config.toml").write_text("profile = ")
        editor = await edit(repository)
        refused = await editor.refusal("ralph/setupChoices")
        assert (refused.code, refused.data["code"]) == (-32803, "config-unusable")


class TestRules:
    async def test_a_draft_is_judged_and_the_most_severe_comes_first(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        draft = {"description": "Short", "completionPhrase": "no", "timeout": "1m", "items": []}
        found = await editor.request("ralph/validateSetup", draft)
        assert [(one["field"], one["severity"]) for one in found["problems"]] == [
            ("completionPhrase", "error"),
            ("timeout", "error"),
            ("items", "error"),
            ("description", "warning"),
            ("description", "warning"),
            ("description", "information"),
        ]
        assert found["problems"][-1]["fix"]["text"] == "All new code has tests and they pass."
        assert await editor.command("validateSetup", draft) == found
        assert await editor.request("ralph/validateSetup", {"timeout": 1800}) == {"problems": []}


class TestProposal:
    async def test_an_agent_proposes_items(
        self, edit: StartEditor, repository: Path, tmp_path: Path
    ) -> None:
        command = agent(tmp_path, "cat >/dev/null; printf '%s\\n' '## P0' '- [ ] Send a mail'")
        editor = await edit(repository)
        order = {"description": DESCRIPTION, "agentCommand": command, "template": "feature"}
        found = await editor.request("ralph/proposePlan", order)
        item = {"title": "Send a mail", "priority": "P0", "detail": ""}
        assert found == {"items": [item], "notes": []}
        assert await editor.command("proposePlan", order) == found
        assert git(repository, "status", "--porcelain") == ""

    async def test_giving_up_ends_the_agent_with_all_that_it_started(
        self, edit: StartEditor, repository: Path, tmp_path: Path
    ) -> None:
        for name in ("here", "held"):
            os.mkfifo(tmp_path / name)
        command = agent(tmp_path, HANGS)
        editor = await edit(repository)
        order = {"description": DESCRIPTION, "agentCommand": command}
        answer = editor.ask("ralph/proposePlan", order)
        # What holds its other end is the last of the agent's processes.
        held = asyncio.create_task(asyncio.to_thread((tmp_path / "held").read_bytes))
        await asyncio.to_thread((tmp_path / "here").read_bytes)
        editor.cancel_last()
        async with asyncio.timeout(PATIENCE):
            told = await answer
            await held
        assert told["error"]["code"] == -32800
        assert await editor.request("ralph/validateSetup") == {"problems": []}

    @pytest.mark.parametrize(
        ("order", "code", "words"),
        [
            ({"description": " "}, -32602, "A task description is needed."),
            (
                {"description": "x", "agent": "demo", "agentCommand": ["x"]},
                -32602,
                "give agent or agentCommand, not both",
            ),
            ({"description": "x", "agentPrompt": "file"}, -32602, "goes with agentCommand"),
            ({"description": "x", "agent": "nobody"}, -32803, "no agent 'nobody'"),
            ({"description": "x", "template": "nothing"}, -32803, "no template 'nothing'"),
        ],
    )
    async def test_what_was_asked_wrongly_is_refused(
        self, edit: StartEditor, repository: Path, order: Any, code: int, words: str
    ) -> None:
        editor = await edit(repository)
        refused = await editor.refusal("ralph/proposePlan", order)
        assert refused.code == code
        assert words in refused.message


class TestSetup:
    async def test_the_files_are_shown_then_written_and_the_loop_is_set_up(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        order = {"description": DESCRIPTION, "items": ITEMS, "timeout": "10m", "agent": "demo"}
        shown = await editor.request("ralph/setup", order)
        assert (shown["written"], set(files_of(shown).values())) == (False, {"create"})
        assert git(repository, "status", "--porcelain") == ""
        written = await editor.request("ralph/setup", {**order, "dryRun": False})
        assert written == {**shown, "written": True}
        for file in written["files"]:
            assert (repository / file["path"]).read_text(encoding="utf-8") == file["text"]
        state = await editor.request("ralph/state")
        assert [task["title"] for task in state["plan"]["tasks"]] == ["Send a mail", "Be quick"]
        again = await editor.command("setup", order)
        assert set(files_of(again).values()) == {"keep"}
        assert len(again["notes"]) == 2

    async def test_errors_are_reported_by_their_fields(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        refused = await editor.refusal("ralph/setup", {"timeout": 60, "dryRun": False})
        assert refused.code == -32602
        assert [one["field"] for one in refused.data["problems"]] == [
            "description",
            "timeout",
            "items",
        ]
        assert git(repository, "status", "--porcelain") == ""

    async def test_where_the_folder_is_not_trusted_nothing_is_started_or_written(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository, options={"readOnly": True})
        for method in ("ralph/setup", "ralph/proposePlan"):
            order = {"description": DESCRIPTION}
            refused = await editor.refusal(method, order)
            assert refused.data["code"] == "read-only"
        assert await editor.request("ralph/validateSetup") == {"problems": []}


class TestDescribed:
    """An editor's single field: what should be built becomes the plan."""

    async def test_a_description_is_the_first_task_and_its_specification(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        order = {
            "description": f"{DESCRIPTION}\n- It expires after an hour\n- It works once\n",
            "itemsFromDescription": True,
            "agent": "demo",
            "maxIterations": 5,
            "dryRun": False,
        }
        result = await editor.request("ralph/setup", order)
        assert result["written"] is True
        plan = (repository / "@fix_plan.md").read_text(encoding="utf-8")
        assert plan.count("- [ ]") == 1
        assert "Let people reset a password" in plan
        (spec,) = (repository / "specs").glob("*.md")
        assert "- It works once" in spec.read_text(encoding="utf-8")
        assert spec.name in plan
        config = (repository / ".ralph" / "config.toml").read_text(encoding="utf-8")
        assert 'agent = "demo"' in config
        assert "max_iterations = 5" in config

    async def test_nothing_described_is_refused(self, edit: StartEditor, repository: Path) -> None:
        editor = await edit(repository)
        order = {"description": " \n", "itemsFromDescription": True, "dryRun": False}
        refused = await editor.refusal("ralph/setup", order)
        assert refused.data["code"] == "invalid-params"
        assert not (repository / "@fix_plan.md").exists()


class TestAllow:
    """Approving in place: what was shown, and nothing else."""

    @pytest.fixture
    def bringing(self, repository: Path) -> Path:
        (repository / ".ralph").mkdir()
        (repository / ".ralph" / "validate.sh").write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        (repository / ".ralph" / "config.toml").write_text(
            'agent = "command"\n[agents.command]\nargv = ["./agent.sh"]\n', encoding="utf-8"
        )
        (repository / "agent.sh").write_text("#!/bin/sh\n" + "#" * 5000, encoding="utf-8")
        return repository

    async def test_each_command_and_file_is_shown_and_approved_by_its_digest(
        self, edit: StartEditor, bringing: Path
    ) -> None:
        editor = await edit(bringing)
        shown = await editor.request("ralph/claims")
        assert shown["allowed"] is False
        by_key = {claim["key"]: claim for claim in shown["claims"]}
        assert sorted(by_key) == [
            *(".ralph/validate.sh", "agents.command", "agents.command: ./agent.sh"),
        ]
        script = by_key["agents.command: ./agent.sh"]
        assert (script["path"], script["cut"], script["allowed"]) == ("./agent.sh", True, False)
        assert len(script["text"]) == 4000
        assert by_key[".ralph/validate.sh"]["text"] == "#!/bin/sh\nexit 0\n"
        allowed = await editor.request("ralph/allow", {"shown": shown["digest"]})
        assert allowed["allowed"] is True
        assert all(claim["allowed"] for claim in allowed["claims"])
        assert (await editor.request("ralph/claims"))["allowed"] is True

    async def test_what_changed_since_it_was_shown_is_not_approved(
        self, edit: StartEditor, bringing: Path
    ) -> None:
        editor = await edit(bringing)
        shown = await editor.request("ralph/claims")
        (bringing / "agent.sh").write_text("#!/bin/sh\nrm -rf ~\n", encoding="utf-8")
        refused = await editor.refusal("ralph/allow", {"shown": shown["digest"]})
        assert refused.data["code"] == "not-allowed"
        assert "changed since they were shown" in refused.message
        again = await editor.request("ralph/claims")
        assert not any(claim["allowed"] for claim in again["claims"])

    async def test_a_read_only_server_shows_and_approves_nothing(
        self, edit: StartEditor, bringing: Path
    ) -> None:
        editor = await edit(bringing, options={"readOnly": True})
        for name, given in (("claims", None), ("allow", {"shown": "a" * 64})):
            refused = await editor.refusal(f"ralph/{name}", given)
            assert refused.data["code"] == "read-only"


async def test_the_sample_project_is_laid_out_for_an_editor(
    edit: StartEditor, repository: Path, tmp_path: Path
) -> None:
    editor = await edit(repository)
    folder = Path((await editor.request("ralph/demo"))["folder"])
    config = (folder / ".ralph" / "config.toml").read_text(encoding="utf-8")
    assert 'agent = "demo"' in config
    assert "- [ ] Letter: end with the amount to pay" in (folder / "@fix_plan.md").read_text()
    assert git(folder, "status", "--porcelain") == ""
    assert not (folder / ".ralph" / "logs").exists()


class TestConfigure:
    """A setting of the loop, from the editor's own settings into the file that it belongs to."""

    async def test_it_is_written_and_removed_in_the_work_trees_configuration(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        config = repository / ".ralph" / "config.toml"
        config.parent.mkdir()
        config.write_text('# Mine\nagent = "demo"\n', encoding="utf-8")
        order = {"key": "max_iterations", "value": "7"}
        written = await editor.request("ralph/configure", order)
        assert "max_iterations" in written["text"]
        text = config.read_text(encoding="utf-8")
        assert text.startswith('# Mine\nagent = "demo"\n')
        assert "max_iterations = 7" in text
        await editor.request("ralph/configure", {"key": "max_iterations"})
        assert config.read_text(encoding="utf-8") == '# Mine\nagent = "demo"\n'

    async def test_one_of_several_plans_is_chosen(
        self, edit: StartEditor, repository: Path
    ) -> None:
        for name, text in (("a", "- [x] 1. Cut\n- [ ] 2. Bend\n"), ("b", "- [ ] 1. Sell\n")):
            spec = repository / ".kiro/specs" / name
            spec.mkdir(parents=True)
            (spec / "tasks.md").write_text(text, encoding="utf-8")
        editor = await edit(repository)
        plans = (await editor.request("ralph/plans", {}))["plans"]
        assert [(one["name"], one["done"], one["total"], one["chosen"]) for one in plans] == [
            *(("a", 1, 2, False), ("b", 0, 1, False)),
        ]
        assert {one["title"] for one in plans} == {"Kiro"}
        listed = await editor.command("choosePlan", {"plan": "c"})
        assert (listed["accepted"], listed["code"]) == (False, "plan-unknown")
        assert ".kiro/specs/a/tasks.md (1/2), .kiro/specs/b/tasks.md (0/1)" in listed["text"]
        chosen = await editor.command("choosePlan", {"plan": "b"})
        assert chosen["text"] == "the plan is .kiro/specs/b/tasks.md from now on"
        plans = (await editor.command("plans"))["plans"]
        assert [one["chosen"] for one in plans] == [False, True]
        state = await editor.request("ralph/state", {})
        assert state["plan"]["path"] == ".kiro/specs/b/tasks.md"

    async def test_a_folder_without_a_plan_has_none_to_choose(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        refused = await editor.refusal("ralph/plans", {})
        assert "no plan in" in refused.message

    async def test_what_no_setting_is_or_may_be_is_refused(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        for order in ({"key": "max_iteration", "value": "7"}, {"key": "on_halt", "value": "x"}):
            refused = await editor.refusal("ralph/configure", order)
            assert order["key"] in refused.message
        assert not (repository / ".ralph" / "config.toml").exists()

    async def test_nothing_is_written_while_a_run_is_under_way(
        self, edit: StartEditor, repository: Path
    ) -> None:
        editor = await edit(repository)
        with made_run(repository):
            order = {"key": "max_cost_usd", "value": "1000"}
            refused = await editor.refusal("ralph/configure", order)
        assert refused.data["code"] == "workspace-busy"
        assert not (repository / ".ralph" / "config.toml").exists()
