"""An unfinished merge of an agent: reported to the next one, and to no later one."""

from __future__ import annotations

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.loop.rules.commits import UNFINISHED_GIT, unfinished_git_words
from tests.unit.core.loop.simulated_project import finishes, progress, turn
from tests.unit.core.loop.simulated_run import play


def test_the_next_agent_is_reported_and_no_later_one() -> None:
    words = unfinished_git_words("rebase")
    left = turn(files=1, commit=True, notices=(Notice(code=UNFINISHED_GIT, message=words),))
    played = play(left, progress, finishes)
    assert [prompt.unfinished_git for prompt in played.prompts] == ["", words, ""]


def test_each_operation_is_aborted_in_its_own_way() -> None:
    assert "(git merge --abort)" in unfinished_git_words("merge")
    assert "(git bisect reset)" in unfinished_git_words("bisect")
