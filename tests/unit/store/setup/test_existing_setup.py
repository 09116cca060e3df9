"""Files of other tools: read, never changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.setup.existing_setup import ExistingSetup, find_existing_setup
from tests.unit.store.project.test_detection import put

RC = """\
# Project
PROJECT_NAME="shop"
CLAUDE_TIMEOUT_MINUTES=15
ALLOWED_TOOLS="Write,Read,Bash(git add *),Bash(npm run a,b)"
export SESSION_CONTINUITY=true  # as ever
SESSION_EXPIRY_HOURS='24'
CB_NO_PROGRESS_THRESHOLD=4
CB_SAME_ERROR_THRESHOLD=many
CB_PERMISSION_DENIAL_THRESHOLD=-1
CLAUDE_CODE_CMD=$(which claude)
if [ -n "$X" ]; then :; fi
"""
SIGNALLING = "Do one task. End with a ---RALPH_STATUS--- block.\n"


def found_in(root: Path) -> ExistingSetup:
    found = find_existing_setup(root)
    assert found is not None
    return found


class TestWhatIsFound:
    @pytest.mark.parametrize(
        ("names", "profile", "plan"),
        [
            ((".ralph/fix_plan.md", ".ralphrc"), "fixplan", ".ralph/fix_plan.md"),
            ((".ralph/fix_plan.md",), "fixplan", ".ralph/fix_plan.md"),
            (("fix_plan.md", "PROMPT.md", "specs/a.md"), "fixplan", "fix_plan.md"),
            (("scripts/ralph/prd.json", "scripts/ralph/ralph.sh"), "stories", None),
        ],
    )
    def test_each_layout_is_known_by_its_plan(
        self, tmp_path: Path, names: tuple[str, ...], profile: str, plan: str | None
    ) -> None:
        found = found_in(put(tmp_path, *names))
        assert (found.profile.value, found.plan) == (profile, plan or names[0])
        assert set(found.kept) == {name for name in names if "plan" not in name} - {
            "specs/a.md",
            "scripts/ralph/prd.json",
        }

    @pytest.mark.parametrize("names", [(), (".ralphrc",), ("ralph.sh",)])
    def test_where_nothing_shows_of_another_tool_there_is_none(
        self, tmp_path: Path, names: tuple[str, ...]
    ) -> None:
        assert find_existing_setup(put(tmp_path, *names)) is None


class TestSettings:
    def test_what_has_the_same_meaning_here_is_taken_and_the_rest_is_reported(
        self, tmp_path: Path
    ) -> None:
        put(tmp_path, ".ralph/fix_plan.md", ".ralphrc")
        (tmp_path / ".ralphrc").write_text(RC, encoding="utf-8")
        found = found_in(tmp_path)
        assert found.profile is ProfileName.FIXPLAN
        assert found.settings == {
            "timeouts.iteration": "15m",
            "tools.allow": ["Write", "Read", "Bash(git add *)", "Bash(npm run a,b)"],
            "session.resume": True,
            "session.max_age": "24h",
            "breaker.no_progress_open": 4,
        }
        assert found.not_taken == (
            "PROJECT_NAME: there is no such setting",
            "CB_SAME_ERROR_THRESHOLD: 'many' is not a valid value for breaker.same_error_open",
            "CB_PERMISSION_DENIAL_THRESHOLD: '-1' is not a valid value for breaker.denials_open",
            "CLAUDE_CODE_CMD: there is no such setting",
        )

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            ("SESSION_CONTINUITY=maybe", "'maybe' is not a valid value for session.resume"),
            ("SESSION_CONTINUITY=$YES", "only a shell can compute $YES"),
            ("SESSION_CONTINUITY='open", "only a shell can compute 'open"),
            ("SESSION_CONTINUITY=a b", "only a shell can compute a b"),
            ("SESSION_CONTINUITY='$5'", "'$5' is not a valid value for session.resume"),
        ],
    )
    def test_what_cannot_be_read_is_left_with_its_reason(
        self, tmp_path: Path, line: str, why: str
    ) -> None:
        put(tmp_path, ".ralph/fix_plan.md", ".ralphrc")
        (tmp_path / ".ralphrc").write_text(f"{line}\n", encoding="utf-8")
        found = found_in(tmp_path)
        assert (found.settings, found.not_taken) == ({}, (f"SESSION_CONTINUITY: {why}",))

    def test_an_empty_value_says_nothing(self, tmp_path: Path) -> None:
        put(tmp_path, ".ralph/fix_plan.md", ".ralphrc")
        (tmp_path / ".ralphrc").write_text('ALLOWED_TOOLS=""\n', encoding="utf-8")
        found = found_in(tmp_path)
        assert (found.settings, found.not_taken) == ({}, ())


class TestPrompt:
    @pytest.mark.parametrize(
        ("text", "prompt", "why"),
        [
            (SIGNALLING, ".ralph/PROMPT.md", None),
            ("Do one task.\n", None, "does not ask for a RALPH_STATUS block"),
            (SIGNALLING + "{{ goal }}\n", None, "contains {{ goal }}, which is a placeholder here"),
        ],
    )
    def test_one_that_the_loop_can_hear_is_taken(
        self, tmp_path: Path, text: str, prompt: str | None, why: str | None
    ) -> None:
        put(tmp_path, ".ralph/fix_plan.md", ".ralph/PROMPT.md")
        (tmp_path / ".ralph/PROMPT.md").write_text(text, encoding="utf-8")
        found = found_in(tmp_path)
        assert found.prompt == prompt
        assert [why in told for told in found.not_taken if why] == ([True] if why else [])

    def test_a_file_that_leads_out_of_the_tree_is_refused(self, tmp_path: Path) -> None:
        put(tmp_path, "outside.md", "tree/.ralph/fix_plan.md")
        (tmp_path / "tree/.ralph/PROMPT.md").symlink_to(tmp_path / "outside.md")
        with pytest.raises(StateUnusable, match="leads out of the work tree"):
            find_existing_setup(tmp_path / "tree")
