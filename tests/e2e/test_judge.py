"""Real agents as judges: they pass everything, pass nothing, report by tool, and try to write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph_ls.core.prompt.judge import BEGIN, END
from ralph_ls.protocol.run.report import JudgeVerdict
from tests.e2e import agents
from tests.e2e.conftest import need
from tests.e2e.recipe import DONE
from tests.e2e.recipes import RECIPES
from tests.e2e.scene import Project, scene_of
from tests.e2e.test_agents import NAMES, said
from tests.e2e.test_tools import own
from tests.engine.project_builder import git
from tests.engine.ralph_runner import told
from tests.fakes.model_stub import Answer
from tests.fakes.model_stub.script import JUDGE_TOKEN

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def project(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    """A repository with two tasks whose work is judged, and the real program beside it."""
    need(agents.what_is_missing())
    with scene_of(RECIPES[request.param], tmp_path, monkeypatch) as made:
        made.settle('[judge]\nwhen = "task"\nmax_rounds = 2\n')
        yield made


each = pytest.mark.parametrize("project", NAMES, indirect=True)


AGAIN = (
    "sed -i 's/\\[ \\] First/[x] First/' @fix_plan.md; echo more >>one.txt; git commit -qam More"
)


def verdict(word: JudgeVerdict, *wants: tuple[str, str]) -> Answer:
    changes = [{"file": file, "reason": reason} for file, reason in wants]
    fields = {"token": JUDGE_TOKEN, "verdict": word.value, "reason": "seen", "changes": changes}
    return Answer(text=f"I looked at it.\n\n{BEGIN}\n{json.dumps(fields)}\n{END}\n")


@each
def test_passes_what_it_is_shown(project: Project) -> None:
    """It reads the work tree, gets no word of the worker's, and its cost is counted."""
    project.stub.say(
        *project.does_task("First", "one.txt"),
        Answer(text=f"I am the greatest.\n\n{DONE}"),
        Answer(text="I read.", tools=(project.recipe.read(project.repository / "one.txt"),)),
        verdict(JudgeVerdict.PASSED),
    )
    done = project.run("1")
    (judged,) = told(done, "judged")
    assert (judged.verdict, judged.reason) == (JudgeVerdict.PASSED, "seen"), said(done)
    assert judged.restored == ()
    prompt = (project.run_folder() / "judge-001.prompt.md").read_text(encoding="utf-8")
    assert "diff --git a/one.txt b/one.txt" in prompt
    assert "greatest" not in str(project.stub.requests[-1])
    (ended,) = told(done, "iterationEnded")
    assert ended.usage.output_tokens == 5 * 34
    assert judged.usage.output_tokens == 2 * 34


@each
def test_requests_changes_until_the_user_overrules_it(project: Project) -> None:
    refuses = verdict(JudgeVerdict.CHANGES_REQUESTED, ("one.txt", "it is empty"))
    project.stub.say(
        *project.does_task("First", "one.txt"),
        Answer(text=f"Done.\n\n{DONE}"),
        refuses,
        Answer(text="I do it.", tools=(project.recipe.shell(AGAIN),)),
        Answer(text=f"Done again.\n\n{DONE}"),
        refuses,
    )
    done = project.run("5")
    assert done.exit_code == 4, said(done)
    assert [one.verdict for one in told(done, "judged")] == [JudgeVerdict.CHANGES_REQUESTED] * 2
    plan = (project.repository / "@fix_plan.md").read_text(encoding="utf-8")
    assert "- [ ] First" in plan
    assert "one.txt: it is empty" in plan
    assert "one.txt: it is empty" in str(project.stub.requests[5])
    assert project.tell("overrule", "--no-continue").exit_code == 0
    assert "- [x] First" in (project.repository / "@fix_plan.md").read_text(encoding="utf-8")


@each
def test_reports_by_tool(project: Project) -> None:
    """A typed call is its verdict; the block of text is not needed."""
    wants = [{"file": "one.txt", "reason": "it is empty"}]
    reported = own(project, "report_verdict", verdict="changesRequested", changes=wants)
    project.stub.say(
        *project.does_task("First", "one.txt"),
        Answer(text=f"Done.\n\n{DONE}"),
        Answer(text="I report.", tools=(reported,)),
        Answer(text="That is my verdict."),
    )
    done = project.run("1")
    (judged,) = told(done, "judged")
    assert judged.verdict is JudgeVerdict.CHANGES_REQUESTED, (judged.reason, said(done))
    assert [(one.file, one.reason) for one in judged.changes] == [("one.txt", "it is empty")]
    assert "recorded; you may end your turn" in str(project.stub.requests[-1])


@each
def test_cannot_write(project: Project) -> None:
    """Its own flags keep it from writing: the tool is missing, refused, or in a sandbox."""
    wants = project.recipe.shell("echo mine >>one.txt")
    if project.recipe.name == "claude":
        wants = project.recipe.write(project.repository / "new.txt", "mine")
    project.stub.say(
        *project.does_task("First", "one.txt"),
        Answer(text=f"Done.\n\n{DONE}"),
        Answer(text="I write.", tools=(wants,)),
        verdict(JudgeVerdict.PASSED),
    )
    done = project.run("1")
    (judged,) = told(done, "judged")
    assert git(project.repository, "status", "--porcelain", "one.txt", "new.txt") == ""
    assert judged.restored == (), said(done)
    project.stub.problems.clear()
