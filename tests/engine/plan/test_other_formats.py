"""Plans of other tools in real runs: the ready task is given, ticked in its form, and guarded."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from ralph_ls.store.project.plan_choice import current_tag_of
from tests.engine.project_builder import git
from tests.engine.ralph_runner import Project, told

DATA = Path("tests/data/plan_formats")
TAGS = ("tasks/tasks.json", "state.json")
BACKLOG = "backlog/tasks/task-2*"
ROUNDS = {
    "task-master": (
        "Pay by card",
        "perl -0pi -e 's/(Pay by card.*?)pending/$1done/s' .taskmaster/tasks/tasks.json",
        "The plan is Task Master's",
    ),
    "backlog.md": (
        "Pay by card: a payment that was refused leaves the order unpaid",
        f"sed -i 's/To Do/Done/; s/\\[ \\]/[x]/' {BACKLOG}",
        "The plan is Backlog.md's",
    ),
    "superpowers": (
        "Pay by card",
        "sed -i 's/\\[ \\]/[x]/' docs/superpowers/plans/*.md",
        "The plan is a superpowers plan",
    ),
    "gsd": ("Page", "sed -i '/02-02/s/\\[ \\]/[x]/' .planning/ROADMAP.md", "a GSD roadmap"),
    "bmad": (
        "Story 1.2: Pay by card",
        "sed -i 's/ready-for-dev/done/' _bmad-output/implementation-artifacts/*",
        "The plan is a BMAD sprint",
    ),
    "bmad-story": (
        "Charge the card (AC: 1, 2)",
        "sed -i '/Charge/s/\\[ \\]/[x]/; s/Approved/Ready for Review/' docs/stories/*.md",
        "The plan is a BMAD story",
    ),
    "todo.txt": (
        "Pay by card +shop @work",
        "sed -i 's/^(A) \\(.*\\)/x 2026-01-07 \\1 pri:A/' todo.txt",
        "The plan is a todo.txt",
    ),
    "org": ("Pay by card", "sed -i 's/TODO \\[/DONE [/' plan.org", "The plan is an Org file"),
}


def with_sample(project: Project, name: str) -> Project:
    """The project with the sample of a format instead of its plan."""
    project.plan()
    shutil.copytree(DATA / name, project.repository, dirs_exist_ok=True)
    git(project.repository, "rm", "-q", "@fix_plan.md")
    git(project.repository, "add", "-A")
    git(project.repository, "commit", "-qm", "sample")
    return project


@pytest.mark.slow
@pytest.mark.parametrize("name", ROUNDS)
def test_the_ready_task_is_given_and_its_tick_is_seen(project: Project, name: str) -> None:
    title, tick, rules = ROUNDS[name]
    with_sample(project, name).agent(f"work; {tick}; commit; report 'STATUS: IN_PROGRESS'")
    done = project.run("1", "--json")
    assert rules in project.prompt(1)
    (started,) = told(done, "iterationStarted")
    assert started.task.title == title
    assert title in project.prompt(1)
    assert [event.done for event in told(done, "planChanged")] == [(started.task.id,)]
    assert git(project.repository, "status", "--porcelain") == ""


ROADMAP = """# Roadmap

- [ ] **Phase 7: Reset** - Audit
- [ ] **Phase 8: Runtime** - Deliver
- [ ] **Phase 9: Layer** - Approve

### Phase 7: Reset
- [ ] 07-01-PLAN.md
### Phase 9: Layer
**Depends on**: Phase 7
- [ ] 09-01-PLAN.md
"""


@pytest.mark.slow
def test_the_plans_of_a_roadmap_come_in_the_place_of_their_phases(project: Project) -> None:
    with_sample(project, "gsd")
    path = project.file(".planning/ROADMAP.md")
    path.write_text(ROADMAP, encoding="utf-8")
    tick = (
        "for one in 07-01 'Phase 8:' 09-01 'Phase 7:' 'Phase 9:'; do "
        'if grep -q "\\[ \\].*$one" .planning/ROADMAP.md; then '
        'sed -i "/\\[ \\].*$one/s/\\[ \\]/[x]/" .planning/ROADMAP.md; break; fi; done'
    )
    done = project.agent(f"work; {tick}; commit; report 'STATUS: IN_PROGRESS'").run("5", "--json")
    given = [event.task.id for event in told(done, "iterationStarted")]
    assert given == ["07-01", "8", "09-01", "7", "9"]
    assert [one for event in told(done, "planChanged") for one in event.done] == given
    assert "[ ]" not in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_plan_that_the_table_counts_is_not_done_again(project: Project) -> None:
    with_sample(project, "gsd")
    row = "| 7. Reset | 1/1 | Complete | 2026-01-05 |\n| 9. Layer | 0/1 | Not started | - |\n"
    path = project.file(".planning/ROADMAP.md")
    path.write_text(f"{ROADMAP}\n{row}", encoding="utf-8")
    summary = project.file(".planning/phases/09-layer/09-01-SUMMARY.md")
    summary.parent.mkdir(parents=True)
    summary.write_text("Done.\n", encoding="utf-8")
    git(project.repository, "add", "-A")
    git(project.repository, "commit", "-qm", "executed")
    tick = (
        "sed -i 's/0.1 | Not started/1\\/1 | In Progress/; s/ \\] 09-01/x] 09-01/' .planning/*.md"
    )
    project.agent(f"work; {tick}; commit; report 'STATUS: IN_PROGRESS'")
    done = project.run("2", "--json")
    assert [one.task.id for one in told(done, "iterationStarted")] == ["8", "8"]
    assert "1 open plan has a SUMMARY beside it (09-01)" in done.stdout
    assert [one for event in told(done, "planChanged") for one in event.done] == ["09-01"]


@pytest.mark.slow
def test_what_an_agent_may_not_change_is_restored(project: Project) -> None:
    with_sample(project, "task-master")
    path = ".taskmaster/tasks/tasks.json"
    before = project.file(path).read_text(encoding="utf-8")
    project.agent(
        f"work; sed -i 's/Checkout/Nothing/' {path}; "
        f"perl -0pi -e 's/(Pay by card.*?)pending/$1done/s; s/(by mail.*?)pending/$1cancelled/s' "
        f"{path}; commit; report 'STATUS: IN_PROGRESS'"
    )
    project.run("1")
    head, pay, rest = before.split('"pending"')
    assert project.file(path).read_text(encoding="utf-8") == f'{head}"done"{pay}"pending"{rest}'


def with_tags(project: Project) -> tuple[Path, str]:
    """A project whose current tag is ``dev``; its file of tasks, and the text of that."""
    with_sample(project, "task-master")
    tasks, state = (project.file(f".taskmaster/{name}") for name in TAGS)
    dev = {"tasks": [{"id": 7, "title": "Log in", "status": "pending"}]}
    known = {**json.loads(tasks.read_text(encoding="utf-8")), "dev": dev}
    tasks.write_text(json.dumps(known, indent=2), encoding="utf-8")
    state.write_text('{"currentTag": "dev"}', encoding="utf-8")
    return tasks, tasks.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_run_works_on_the_tag_that_is_current_when_it_starts(project: Project) -> None:
    tasks, text = with_tags(project)
    assert "Next: Log in" in project.tell("plan").stdout
    assert "0/1 tasks done" in project.tell("plan", "--all").stdout
    switch = "work; sed -i s/dev/master/ .taskmaster/state.json; commit"
    begun = project.agent(switch).run("1", "--json")
    assert "Next: Pay by card" in project.tell("plan").stdout
    close = f"work; sed -i '/Log in/,$s/pending/done/' .taskmaster/{TAGS[0]}; commit"
    resumed = project.agent(close).run("2", "--resume", "--json")
    for one in (begun, resumed):
        assert told(one, "iterationStarted")[-1].task.id == "dev:7"
    assert [event.done for event in told(resumed, "planChanged")] == [("dev:7",)]
    head, _, rest = text.rpartition("pending")
    assert tasks.read_text(encoding="utf-8") == f"{head}done{rest}"


@pytest.mark.slow
def test_a_tag_is_chosen_by_its_name_or_behind_the_path(project: Project) -> None:
    tasks, text = with_tags(project)
    rows = json.loads(project.tell("plan", "--all", "--json").stdout)["plans"]
    path = f".taskmaster/{TAGS[0]}"
    known = [(one["name"], one["path"], one["total"], one["chosen"]) for one in rows]
    assert known == [("master", f"{path}#master", 5, False), ("dev", path, 1, True)]
    for name in ("master", f"{path}#master"):
        assert "Next: Pay by card" in project.tell("plan", name).stdout
    project.tell("config", "set", "paths.plan", f"{path}#master")
    assert "Next: Pay by card" in project.tell("plan").stdout
    spoil = f"work; sed -i 's/Log in/Log out/' .taskmaster/{TAGS[0]}; commit"
    done = project.agent(spoil).run("1", "--json", "--plan", "dev")
    assert [event.task.id for event in told(done, "iterationStarted")] == ["dev:7"]
    assert tasks.read_text(encoding="utf-8") == text
    missing = project.run("1", "--plan", f"{path}#gone")
    assert "there is no tag gone; the tags are: master, dev" in missing.stderr


def test_a_state_of_task_master_that_is_no_file_is_none(tmp_path: Path) -> None:
    path = f".taskmaster/{TAGS[0]}"
    tasks, state = tmp_path / path, tmp_path / ".taskmaster" / TAGS[1]
    tasks.parent.mkdir(parents=True)
    tasks.write_text('{"master": {"tasks": []}, "dev": {"tasks": []}}', encoding="utf-8")
    assert current_tag_of(tmp_path, path) == ""
    state.mkdir(parents=True)
    assert current_tag_of(tmp_path, path) == ""
    state.rmdir()
    state.write_bytes(b'{"currentTag": "dev", "x": "\xff"}')
    assert current_tag_of(tmp_path, path) == "dev"
    assert current_tag_of(tmp_path, "tasks/tasks.json") == ""
    state.write_text('{"currentTag": "gone"}', encoding="utf-8")
    assert current_tag_of(tmp_path, path) == ""


@pytest.mark.slow
def test_a_line_that_is_restored_and_done_has_its_date(project: Project) -> None:
    with_sample(project, "todo.txt").agent(
        "work; sed -i 's/^(A) .*/x Pay by card +shop @work/' todo.txt; commit; "
        "report 'STATUS: IN_PROGRESS'"
    )
    project.run("1")
    line = project.file("todo.txt").read_text(encoding="utf-8").splitlines()[1]
    words = "2026-01-05 Pay by card [+]shop @work dep:basket pri:A"
    assert re.fullmatch(rf"x 20[0-9]{{2}}-[0-9]{{2}}-[0-9]{{2}} {words}", line)


@pytest.mark.slow
def test_a_list_in_markdown_named_todo_txt_is_worked_on(project: Project) -> None:
    project.plan()
    git(project.repository, "mv", "@fix_plan.md", "TODO.txt")
    before = "# Shop\n\n- [ ] Pay by card\n- [ ] Log in\n- [ ] Mail\n"
    project.file("TODO.txt").write_text(before, encoding="utf-8")
    git(project.repository, "commit", "-qam", "sample")
    assert "Next: Pay by card" in project.tell("plan").stdout
    project.agent(
        "work; sed -i 's/\\[ \\] Pay/[x] Pay/; /Log in/d; s/Mail/Mail or not/' TODO.txt; commit; "
        "report 'STATUS: IN_PROGRESS'"
    )
    done = project.run("1", "--json")
    (started,) = told(done, "iterationStarted")
    assert started.task.title == "Pay by card"
    assert "todo.txt" not in project.prompt(1)
    assert [event.done for event in told(done, "planChanged")] == [(started.task.id,)]
    text = project.file("TODO.txt").read_text(encoding="utf-8")
    assert text.startswith("# Shop\n\n- [x] Pay by card\n- [ ] Log in\n")


@pytest.mark.slow
def test_a_task_is_named_by_its_number(project: Project) -> None:
    with_sample(project, "kiro").agent("work; commit; report 'STATUS: IN_PROGRESS'")
    ran = project.run("1", "--task", "2.1")
    (begun,) = told(ran, "iterationStarted")
    assert begun.task is not None
    assert begun.task.title.startswith("2.1 ")


FINISHES = {
    "spec-kit": ("specs/001-checkout/tasks.md", "[ ]", "[X]"),
    "task-master": (".taskmaster/tasks/tasks.json", '"pending"', '"done"'),
    "org": ("plan.org", "TODO [", "DONE ["),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FINISHES)
def test_a_finished_plan_is_confirmed_once(project: Project, name: str) -> None:
    path, is_open, is_done = FINISHES[name]
    turn = "work; commit; report 'STATUS: IN_PROGRESS'"
    plan = with_sample(project, name).agent(turn).file(path)
    text = plan.read_text(encoding="utf-8").replace(is_open, is_done).replace("- [ ]", "- [X]")
    plan.write_text(text.replace("in-progress", "done"), encoding="utf-8")
    done = project.run("3", "--json")
    (end,) = told(done, "runEnded")
    assert (done.exit_code, len(told(done, "agentStarted")), end.reason) == (0, 1, "complete")
