"""A loop seen and steered from a real Neovim that has the documented Lua file and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import psutil
import pytest

from ralph_ls.protocol.run.events import QuestionAnswered
from tests.editor.client.recording import replaying
from tests.editor.nvim.neovim import COLUMNS, REAL_PROGRAMS, Neovim, start_neovim
from tests.engine.project_builder import PATIENCE, events_of, wait_for
from tests.engine.ralph_runner import Project, wait_until
from tests.unit.core.plan.stories.story_builder import RETURNED, story, text_of

pytestmark = pytest.mark.slow

PLAN, DECIDE = "@fix_plan.md", ".ralph/decide.txt"

ASKS = "work; commit; say '<promise>DECIDE:{}</promise>'; exit"
FINISHES = "work; mark x First; commit; say 'All tasks are complete.'; report 'EXIT_SIGNAL: true'"

ASKS_THREE_TIMES = f"""\
case "$RALPH_START" in
  1) wait_here; {ASKS.format("PostgreSQL or SQLite?")} ;;
  2) {ASKS.format("Which port?")} ;;
  3) {ASKS.format("Tabs or spaces?")} ;;
esac
{FINISHES}
"""
ASKS_ONCE = f"""\
if [ "$RALPH_START" = 1 ]; then {ASKS.format("PostgreSQL or SQLite?")}; fi
{FINISHES}
"""
WAITS = f"say 'Looking around.'; wait_here; {FINISHES}"

ASKED = "iteration 1 asks: PostgreSQL or SQLite?"

LENS = "Ralph asks: answer"

OUTLINED = "# 計画\n- [ ] US-001: 支払い 💳\n- [ ] Ship\n  - Needs: \n"

TYPED = "36 characters typed while it asks me"


def test_a_whole_loop_is_started_watched_and_answered_in_three_ways(project: Project) -> None:
    plan = lay_out(project, ASKS_THREE_TIMES)
    project.make_gate()
    with start_neovim(plan) as editor:
        editor.wait_for_lens("Start loop")
        editor.command("Ralph start 9")
        editor.wait_for_lens("iteration 1 of 9")
        editor.wait_for_status_line("iteration 1 of 9")

        # A question that comes while somebody types takes nothing of it.
        editor.type(f"Go{TYPED}")
        project.open_gate()
        question = editor.wait_for_question(ASKED)
        assert editor.mode() == {"mode": "i", "blocking": False}
        assert editor.buffer() == f"{plan.read_text(encoding='utf-8')}{TYPED}\n"
        editor.type("<Esc>u")
        editor.wait("not vim.bo.modified")

        # First way: rename, on the line of the question.
        editor.go_to_line(question["line"])
        editor.type("grn")
        editor.wait_for_mode("c")
        editor.type("SQLite,  with two spaces<CR>")
        editor.wait_for_answer("PostgreSQL or SQLite?")

        # Second way: below the rule of the file that asks, saved.
        editor.wait_for_question("Which port?")
        editor.wait_for_lens(LENS)
        editor.run_lens(LENS)
        editor.wait_for_text("## Answer")
        editor.wait_for_question("Which port?")
        editor.type("oPort 8080.<Esc>:write<CR>")
        editor.wait_for_answer("Which port?")

        # Third way: the command, with nothing to quote.
        editor.open(plan)
        editor.wait_for_question("Tabs or spaces?")
        editor.command('Ralph answer "Tabs" | spaces, as you like')
        editor.wait_for_answer("Tabs or spaces?")

        editor.wait_for_lens("complete")
        editor.wait_for_status_line("complete")
        assert "- [x] First task" in editor.buffer()
        editor.wait_for_hint("done in #")
        editor.answer_hints_too_early()
        editor.wait_for_hint("done in #")
        assert answers(project) == [
            ("PostgreSQL or SQLite?", "SQLite,  with two spaces", "Neovim"),
            ("Which port?", "Port 8080.", DECIDE),
            ("Tabs or spaces?", '"Tabs" | spaces, as you like', "Neovim"),
        ]
        assert "> Port 8080.\n" in project.prompt(3)
        # The next run knows nothing of them, and the text is the same.
        editor.command("Ralph start 1")
        editor.wait_for_no_hint()
        assert_nothing_waited_for_a_key(editor)


def test_an_answer_in_one_viewer_closes_the_question_in_every_other(project: Project) -> None:
    plan = lay_out(project, ASKS_ONCE)
    with ExitStack() as stack:
        first = stack.enter_context(start_neovim(plan))
        second = stack.enter_context(start_neovim(plan))
        first.wait_for_lens("Start loop")
        first.command("Ralph start 9")
        question = first.wait_for_question(ASKED)
        terminal = stack.enter_context(watch(project))
        second.wait_for_question(ASKED)
        second.command("Ralph watch")
        assert second.diagnostics() == first.diagnostics()

        first.go_to_line(question["line"])
        first.command("Ralph answer SQLite")
        second.wait_for_answer("PostgreSQL or SQLite?")
        second.wait_for_lens("complete")
        second.open_log()
        second.wait_for_text("questionAnswered: SQLite (Neovim)")
        told = terminal.read()
    assert "Neovim" in told
    assert "SQLite" in told


def test_a_run_outlives_the_neovim_that_started_it(project: Project) -> None:
    plan = lay_out(project, WAITS)
    project.make_gate()
    path = os.pathsep.join([str(REAL_PROGRAMS), os.environ["PATH"]])
    with start_neovim(plan, env={"PATH": path}) as editor:
        editor.wait_for_lens("Start loop")
        editor.command("Ralph start 9")
        editor.wait_for_lens("iteration 1 of 9")
        servers = [psutil.Process(pid) for pid in editor.server_pids()]
        assert servers != []
        editor.kill()
    _, left = psutil.wait_procs(servers, timeout=PATIENCE)
    assert left == []
    with start_neovim(plan) as editor:
        editor.wait_for_lens("iteration 1 of 9")
        editor.wait_for_status_line("iteration 1 of 9")
        editor.command("Ralph watch")
        editor.open_log()
        editor.wait_for_text("Looking around.")
        assert not editor.lua("return vim.bo.modifiable")
        editor.open(plan)
        project.open_gate()
        editor.wait_for_lens("complete")
    wait_for(project.repository, "runEnded", reason="complete")


def test_orders_are_completed_answered_in_one_line_and_refused_with_the_reason(
    project: Project,
) -> None:
    plan = lay_out(project, WAITS, allowed=False)
    with start_neovim(plan) as editor:
        editor.wait_for_lens("Start loop")
        complete = editor.api.funcs.getcompletion
        assert complete("Ralph st", "cmdline") == ["start", "status", "stop"]
        assert complete("Ralph answer st", "cmdline") == []

        editor.run_lens("Start loop")
        editor.wait_for_message("ralph allow")
        editor.command("Ralph pause")
        editor.wait_for_message("Ralph: no run in")
        editor.command("Ralph dance")
        editor.wait_for_message("Ralph: one of answer, note")
        editor.command("Ralph status")
        editor.wait_for_message("no loop has run here yet")
        assert_nothing_waited_for_a_key(editor)


def test_a_plan_is_outlined_folded_completed_and_its_ids_are_renamed(project: Project) -> None:
    plan = lay_out(project, WAITS, allowed=False)
    plan.write_text(OUTLINED, encoding="utf-8")
    with start_neovim(plan) as editor:
        editor.wait_for_lens("Start loop")
        editor.command("lua vim.lsp.buf.document_symbol()")
        editor.wait("#vim.fn.getqflist() + #vim.fn.getloclist(0) == 3")
        assert editor.lua("return vim.fn.getloclist(0)[2].text") == "[Event] US-001 支払い 💳"
        editor.command("lclose")

        editor.lua(
            """vim.wo.foldmethod = "expr"
            vim.wo.foldexpr = "v:lua.vim.lsp.foldexpr()" """
        )
        editor.wait("vim.fn.foldlevel(4) == 2")

        # In the last line, behind what it waits for.
        editor.command("set completeopt=menuone")
        editor.type("GA<C-x><C-o>")
        editor.wait_for_menu()
        editor.type("<C-y><Esc>")
        editor.wait("vim.api.nvim_get_current_line() == ...", "  - Needs: US-001")

        # Right at the id it is a rename, and no answer.
        editor.lua("vim.lsp.buf.rename('PAY-7')")
        editor.wait("vim.api.nvim_get_current_line() == ...", "  - Needs: PAY-7")
        assert editor.buffer() == f"{OUTLINED.rstrip()} PAY-7\n".replace("US-001", "PAY-7")


def test_in_a_long_plan_the_chosen_action_is_resolved(project: Project) -> None:
    plan = lay_out(project, WAITS, allowed=False)
    tasks = [f"- [ ] Task {number}\n" for number in range(2000)]
    plan.write_text("".join(tasks), encoding="utf-8")
    with start_neovim(plan) as editor:
        editor.wait_for_lens("Start loop")
        editor.go_to_line(1200)
        done = "function(action) return action.title == 'Mark task as done' end"
        editor.command(f"lua vim.lsp.buf.code_action({{ apply = true, filter = {done} }})")
        editor.wait("vim.api.nvim_get_current_line() == ...", "- [x] Task 1200")


def test_stories_have_lenses_and_actions_and_other_json_has_no_server(project: Project) -> None:
    text = text_of(story("US-1"), story("US-2", **RETURNED))
    config = project.settings("stories")
    project.plan("Unused", files={".ralph/config.toml": config, "ralph/tasks.json": text})
    other = project.repository / "package.json"
    other.write_text("{}", encoding="utf-8")
    with start_neovim(project.file("ralph/tasks.json")) as editor:
        editor.wait_for_lens("Start loop")
        editor.wait_for_lens("changes requested in review 1: Name the key")
        nth = [line.strip() for line in text.splitlines()].index('"id": "US-2",')
        editor.go_to_line(nth)
        passes = "function(action) return action.title == 'Mark task as done' end"
        editor.command(f"lua vim.lsp.buf.code_action({{ apply = true, filter = {passes} }})")
        editor.wait("vim.bo.modified")
        passed = {**RETURNED, "passes": True, "reviewStatus": "approved"}
        assert editor.buffer() == text_of(story("US-1"), story("US-2", **passed))
        editor.command(f"edit! {other}")
        editor.wait("vim.bo.filetype == 'json'")
        assert editor.lua("return vim.lsp.get_clients({ bufnr = 0 })") == []


def test_it_passes_a_recorded_session(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    program = replaying("plain-lsp", report, tmp_path / "programs")
    plan = tmp_path / PLAN
    plan.write_text("# Fix plan\n\n- [ ] First task\n", encoding="utf-8")
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    with start_neovim(plan, env={"PATH": path}) as editor:
        editor.wait_for_lens("Start loop")
        editor.command("Ralph start 9")
        editor.wait_for_question(ASKED)
        editor.command("Ralph answer SQLite")
        editor.wait_for_answer("PostgreSQL or SQLite?")
        editor.wait_for_message("Ralph: ")
        editor.wait_for_diagnostic("run-blocked")
        editor.command("Ralph resume")
        editor.wait_for_lens("Reset breaker")
        editor.command("Ralph reset")
        editor.wait_for_lens("complete")
        editor.command("quitall!")
        wait_until(tmp_path, report.exists)
    found = json.loads(report.read_text(encoding="utf-8"))
    assert (found["problems"], found["passed"]) == ([], True)


def test_a_file_of_no_loop_starts_no_server(tmp_path: Path) -> None:
    letter = tmp_path / "letter.md"
    letter.write_text("# Dear Ada\n", encoding="utf-8")
    with start_neovim(letter) as editor:
        editor.command("Ralph start")
        editor.wait_for_message("Ralph: open the plan of a loop first")
        assert editor.lua("return vim.lsp.get_clients()") == []


def lay_out(project: Project, agent: str, *, allowed: bool = True) -> Path:
    """A repository whose settings name the agent; gives its plan."""
    project.plan("First task", files={".ralph/config.toml": project.settings()}).agent(agent)
    if allowed:
        assert project.tell("allow", "--yes").exit_code == 0
    return project.file(PLAN)


@contextmanager
def watch(project: Project) -> Iterator[IO[str]]:
    """What ``ralph watch`` prints in a terminal from now on."""
    ours, theirs = os.pipe()
    with os.fdopen(ours, encoding="utf-8") as told:
        try:
            project.ralph.start(project.repository, "watch", stdout=theirs)
        finally:
            os.close(theirs)
        # Once it has printed anything, it has read the run's state, and misses nothing after that.
        assert told.readline() != ""
        yield told


def answers(project: Project) -> list[tuple[str, str, str]]:
    """Each question that was answered, how, and by whom."""
    return [
        (event.question, event.answer, event.by)
        for event in events_of(project.repository)
        if isinstance(event, QuestionAnswered)
    ]


def assert_nothing_waited_for_a_key(editor: Neovim) -> None:
    assert editor.mode() == {"mode": "n", "blocking": False}
    said = editor.messages().splitlines()
    assert [
        line for line in said if line.startswith(("Ralph", "LSP")) and len(line) > COLUMNS
    ] == []
