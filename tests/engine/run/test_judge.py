"""A judge in whole runs: what it gets to see, its verdicts, and one that writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.project_builder import Completed, git, write_agent
from tests.engine.ralph_runner import Project, told, warnings

pytestmark = pytest.mark.slow

JUDGE = r"""
case "$*" in *dontAsk*)
  cp "$kept/prompt-$RALPH_START" "$kept/judged-$RALPH_START"
  token=$(sed -n 's/.*"token": "\([0-9a-f]*\)".*/\1/p' "$kept/prompt-$RALPH_START")
  # verdict CHANGES: what it says at its end.
  verdict() { printf '{"type":"result","subtype":"success","is_error":false,"session_id":"j",'
    printf '"total_cost_usd":0.25,"usage":{"input_tokens":100,"output_tokens":10},"num_turns":1,'
    printf '"result":"I looked.\\n\\n---JUDGE_STATUS---\\n'
    printf '{\\"token\\": \\"%s\\", \\"verdict\\": ' $token
    printf '\\"%s\\", \\"reason\\": \\"as I see it\\", \\"changes\\": [%s]}' "$1" "${2:-}"
    printf '\\n---END_JUDGE_STATUS---"}\n'; }
  uses() { printf '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use",'
    printf '"id":"t","name":"%s","input":{"file_path":"a"}}]}}\n' "$1"; }
  judge; exit;;
esac
"""
"""The same ``claude`` is the judge where it is started so that it cannot write."""

WORKS = r"""
[ -e "$kept/plan-as-first" ] || cp @fix_plan.md "$kept/plan-as-first"
work; echo "I am the greatest" >>PROGRESS.md; mark x First; commit "Perfect work of mine"
says s 0.5 'All tasks are complete, believe me.\n---RALPH_STATUS---\nEXIT_SIGNAL: true
---END_RALPH_STATUS---'
"""
WORKS = WORKS.replace("true\n---", r"true\n---")

YES = "judge() { uses Read; verdict pass; }\n"
NO = (
    "judge() { uses Grep; verdict changesRequested "
    r"""'{\"file\": \"work.txt\", \"reason\": \"it counts nothing\"}'; }"""
    "\n"
)

PLAN = "# Plan\n\n- [ ] First task\n  - done when: work.txt counts the starts\n"

SETTINGS = '[judge]\nwhen = "task"\n'


def judged_run(
    project: Project,
    judge: str,
    *arguments: str,
    settings: str = SETTINGS,
    validates: bool = False,
    works: str = WORKS,
) -> Completed:
    files = {".ralph/config.toml": settings}
    if not project.repository.exists():
        project.plan(files=files)
        project.file("@fix_plan.md").write_text(PLAN, encoding="utf-8")
        if validates:
            script = project.file(".ralph/validate.sh")
            script.write_text("#!/bin/sh\necho 3 tests passed\n", encoding="utf-8")
            script.chmod(0o755)
        git(project.repository, "add", "-A")
        git(project.repository, "commit", "-q", "-m", "Plan")
        if validates:
            assert project.tell("allow", "--yes").exit_code == 0
    return project.run_claude(judge + JUDGE + works, *arguments)


def verdicts(done: Completed) -> list[Any]:
    return told(done, "judged")


def test_one_that_passes_everything_sees_the_work_and_no_word_of_the_worker(
    project: Project,
) -> None:
    done = judged_run(project, YES, "9", validates=True)
    assert done.exit_code == 0, done.stdout + done.stderr
    (judged,) = verdicts(done)
    assert (judged.verdict.value, judged.reason, judged.agent) == ("pass", "as I see it", "claude")
    assert [one.title for one in judged.tasks] == ["First task"]
    kinds = [event.kind for event in done.events]
    assert kinds.index("validated") < kinds.index("judged") < kinds.index("iterationEnded")
    prompt = (project.kept / "judged-1").read_text(encoding="utf-8")
    for expected in ("First task", "work.txt counts the starts", "3 tests passed", "+1\n"):
        assert expected in prompt
    assert "diff --git a/work.txt b/work.txt" in prompt
    for word in ("greatest", "Perfect", "believe", "PROGRESS.md b/", "EXIT_SIGNAL"):
        assert word not in prompt
    ended, *_ = told(done, "iterationEnded")
    assert (ended.usage.cost_usd, ended.usage.input_tokens) == (0.75, 1100)
    assert "Judge: pass" in done.stdout
    assert "1 passed" in done.stdout


def test_one_that_never_passes_stops_the_run_and_is_overruled(project: Project) -> None:
    done = judged_run(project, NO, "9")
    assert done.exit_code == 4, done.stdout + done.stderr
    assert [one.verdict.value for one in verdicts(done)] == ["changesRequested"] * 3
    (end,) = told(done, "runEnded")
    assert end.message.startswith(
        "the judge requested changes 3 times in a row for First task: work.txt: it counts nothing"
    )
    plan = project.file("@fix_plan.md").read_text(encoding="utf-8")
    assert "- [ ] First task" in plan
    assert "A judge requests changes: work.txt: it counts nothing" in plan
    status = project.tell("status").stdout
    assert "work.txt: it counts nothing" in status
    assert "ralph overrule" in status
    overruled = project.tell("overrule", "--no-continue")
    assert overruled.exit_code == 0, overruled.stderr
    assert "- [x] First task" in project.file("@fix_plan.md").read_text(encoding="utf-8")
    again = judged_run(project, NO, "--resume")
    assert again.exit_code == 0, again.stdout + again.stderr
    (event,) = told(again, "judgeOverruled")
    assert event.by == "ralph overrule"


def test_its_reasons_are_in_the_next_prompt(project: Project) -> None:
    judge = 'judge() { if [ "$RALPH_START" = 1 ]; then no; else verdict pass; fi; }\n'
    no = NO.replace("judge()", "no()")
    keeps = 'cp "$kept/prompt-$RALPH_START" "$kept/worker-$RALPH_START"\n'
    done = judged_run(project, judge + no, "9", works=keeps + WORKS)
    assert done.exit_code == 0, done.stdout + done.stderr
    prompt = (project.kept / "worker-2").read_text(encoding="utf-8")
    assert "## A judge requests changes" in prompt
    assert "> - work.txt: it counts nothing" in prompt
    second = (project.kept / "judged-2").read_text(encoding="utf-8")
    assert "What was requested before" in second
    # The whole work on the task, not only that of the last iteration.
    assert "+1\n+2\n" in second


def test_one_that_writes_is_undone_and_its_verdict_is_refused(project: Project) -> None:
    judge = "judge() { uses Bash; echo mine >>work.txt; echo new >new.txt; verdict pass; }\n"
    done = judged_run(project, judge, "9")
    assert done.exit_code == 0, done.stdout + done.stderr
    (judged,) = verdicts(done)
    assert judged.verdict.value == "cannotTell"
    assert judged.restored == ("new.txt", "work.txt")
    assert "its verdict is refused" in judged.reason
    assert "judge-wrote" in warnings(done)
    assert project.file("work.txt").read_text(encoding="utf-8") == "1\n"
    assert not project.file("new.txt").exists()
    kept = project.run_folder() / "judge-001.changes.diff"
    assert "+mine" in kept.read_text(encoding="utf-8")
    assert git(project.repository, "status", "--porcelain", "work.txt", "new.txt") == ""


def test_what_a_user_saves_while_it_only_reads_stays(project: Project) -> None:
    judge = "judge() { uses Read; echo mine >users.txt; verdict pass; }\n"
    done = judged_run(project, judge, "9")
    (judged,) = verdicts(done)
    assert (judged.verdict.value, judged.restored) == ("pass", ())
    assert project.file("users.txt").read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize(
    ("judge", "reason"),
    [
        ("judge() { says j 0.1 nothing; }\n", "it gave no verdict"),
        (
            "judge() { echo 'no key' >&2; exit 3; }\n",
            "it failed: the output ended without a result",
        ),
        ("judge() { token=0123; verdict pass; }\n", "its verdict has not the token of this judge"),
    ],
    ids=["silent", "failing", "quoting"],
)
def test_one_without_a_verdict_is_reported_and_holds_nothing_up(
    project: Project, judge: str, reason: str
) -> None:
    done = judged_run(project, judge, "9")
    assert done.exit_code == 0, done.stdout + done.stderr
    (judged,) = verdicts(done)
    assert (judged.verdict.value, judged.reason) == ("cannotTell", reason)
    assert f"Judge: undecided: {reason}" in done.stdout
    assert "1 not judged" in done.stdout


def test_a_command_of_the_repository_judges_once_it_is_approved(
    project: Project, tmp_path: Path
) -> None:
    script = (
        '#!/bin/sh\ntoken=$(sed -n \'s/.*"token": "\\([0-9a-f]*\\)".*/\\1/p\')\n'
        "echo '---JUDGE_STATUS---'\n"
        'printf \'{"token": "%s", "verdict": "pass"}\\n\' "$token"\n'
        "echo '---END_JUDGE_STATUS---'\n"
    )
    judge = write_agent(tmp_path / "bin", script, name="judge")
    settings = f'{SETTINGS}agent = "mine"\n[agents.mine]\nargv = {json.dumps([judge])}\n'
    refused = judged_run(project, YES, "9", settings=settings)
    assert refused.exit_code == 78
    assert "ralph allow" in refused.stderr
    assert project.tell("allow", "--yes").exit_code == 0
    done = judged_run(project, YES, "9", settings=settings)
    assert done.exit_code == 0, done.stdout + done.stderr
    (judged,) = verdicts(done)
    assert (judged.verdict.value, judged.agent) == ("pass", "mine")


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        ("cline", "'cline' has no mode in which it cannot write"),
        ("gemini-acp", "'gemini-acp' is not known as one that can only read"),
        ("nobody", "'nobody' is not known as one that can only read"),
    ],
)
def test_an_agent_that_may_write_is_refused_as_a_judge(
    project: Project, agent: str, reason: str
) -> None:
    done = judged_run(project, YES, "9", settings=f'{SETTINGS}agent = "{agent}"\n')
    assert done.exit_code == 78
    assert reason in done.stderr
    assert "choose one of claude, codex" in done.stderr
