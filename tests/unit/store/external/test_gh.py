"""Running ``gh``: which one, with what around it, and what is said when it fails."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import RequestMissing
from ralph_ls.protocol.plan import IssueReference
from ralph_ls.store.external.gh import Gh, comment_words, explain_failure, find_gh, view_issue
from tests.fakes.gh import NO_HOST, NO_NETWORK, NOT_LOGGED_IN, install, seed

ISSUE = IssueReference(number=12, repository="ada/invoice")
HERE = IssueReference(number=12)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def program(root: Path, body: str, *, timeout_seconds: float = 60.0) -> Gh:
    """One that does this instead."""
    path = root.parent / "other" / "gh"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable} -IS\nimport sys, time\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return find_gh(root, {"PATH": str(path.parent)}, timeout_seconds=timeout_seconds)


class TestFinding:
    def test_one_on_path(self, root: Path, tmp_path: Path) -> None:
        path = install(tmp_path / "bin")
        found = find_gh(root, {"PATH": os.pathsep.join(["relative", str(path.parent)])})
        assert Path(found.program) == path

    @pytest.mark.parametrize("path", ["", "relative", "/nowhere"])
    def test_none_says_how_to_get_it(self, root: Path, path: str) -> None:
        with pytest.raises(RequestMissing, match=r"cli\.github\.com.*gh auth login.*--issue FILE"):
            find_gh(root, {"PATH": path})

    def test_never_one_of_the_work_tree(self, root: Path, tmp_path: Path) -> None:
        install(root / "bin")
        with pytest.raises(RequestMissing):
            find_gh(root, {"PATH": str(root / "bin")})
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "gh").symlink_to(root / "bin" / "gh")
        with pytest.raises(RequestMissing):
            find_gh(root, {"PATH": str(outside)})

    def test_it_is_calm_and_finds_the_repository_that_it_is_in(
        self, root: Path, tmp_path: Path
    ) -> None:
        install(tmp_path / "bin")
        noisy = {"GH_FORCE_TTY": "1", "GH_DEBUG": "api", "GIT_DIR": "/x", "GH_TOKEN": "t"}
        found = find_gh(root, {"PATH": str(tmp_path / "bin"), **noisy})
        assert noisy.keys() & found.environment.keys() == {"GH_TOKEN"}
        assert found.environment["GH_PROMPT_DISABLED"] == "1"


@pytest.mark.slow
class TestReading:
    def test_an_issue(self, root: Path, tmp_path: Path) -> None:
        path = install(tmp_path / "bin")
        seed(tmp_path / "github.json", i12={"title": "Lost", "body": "Why?"})
        around = {
            "PATH": f"{path.parent}{os.pathsep}{os.environ['PATH']}",
            "GH_TOKEN": "gho_0123456789",
            "FAKE_GITHUB": str(tmp_path / "github.json"),
        }
        issue = view_issue(find_gh(root, around), ISSUE)
        assert (issue.title, issue.body) == ("Lost", "Why?")
        seed(tmp_path / "github.json", i12={"is_pull": True})
        with pytest.raises(RequestMissing, match=r"#12 is a pull request \(https.*name the issue"):
            view_issue(find_gh(root, around), ISSUE)

    def test_what_it_is_asked_is_words_and_no_line(self, root: Path) -> None:
        gh = program(root, "sys.exit('asked ' + repr(sys.argv[1:]))")
        words = "['issue', 'view', '12', '--repo=ada/invoice', '--json', 'number,title,"
        with pytest.raises(RequestMissing) as raised:
            view_issue(gh, ISSUE)
        assert words in raised.value.message
        assert comment_words(gh, ISSUE) == (
            gh.program,
            "issue",
            "comment",
            "12",
            "--repo=ada/invoice",
            "--body-file=-",
        )
        assert "--repo" not in " ".join(comment_words(gh, HERE))

    def test_one_that_hangs_is_ended(self, root: Path) -> None:
        gh = program(root, "time.sleep(600)", timeout_seconds=0.5)
        with pytest.raises(RequestMissing, match=r"did not answer within 0\.5 s.*ada/invoice#12"):
            view_issue(gh, ISSUE)

    def test_one_that_cannot_be_run(self, root: Path) -> None:
        gh = program(root, "")
        Path(gh.program).unlink()
        with pytest.raises(RequestMissing, match=r"cannot be run: .*gh --version"):
            view_issue(gh, ISSUE)

    def test_one_that_prints_something_else(self, root: Path) -> None:
        gh = program(root, "print('hello')")
        with pytest.raises(RequestMissing, match=r"printed no issue.*gh issue view 12"):
            view_issue(gh, ISSUE)


@pytest.mark.parametrize(
    ("reference", "code", "said", "told"),
    [
        (ISSUE, 4, NOT_LOGGED_IN, "run: gh auth login, or set GH_TOKEN"),
        (ISSUE, 1, "HTTP 401: Bad credentials", "run: gh auth login, or set GH_TOKEN"),
        (
            ISSUE,
            1,
            "GraphQL: Could not resolve to an issue or pull request with the number of 12.",
            "no issue #12 of ada/invoice; list the issues: gh issue list --repo ada/invoice",
        ),
        (
            HERE,
            1,
            "GraphQL: Could not resolve to an Issue with the number of 12.",
            "there is no issue #12; list the issues: gh issue list",
        ),
        (
            ISSUE,
            1,
            "GraphQL: Could not resolve to a Repository with the name 'ada/invoice'. (repository)",
            "your GitHub account cannot see the repository ada/invoice",
        ),
        (HERE, 1, "no git remotes found", "name it: ralph run --issue owner/name#123"),
        (HERE, 1, NO_HOST.replace("gh auth login", "gh auth"), "no remote here"),
        (ISSUE, 1, NO_NETWORK, "gh cannot reach GitHub, so ada/invoice#12 cannot be read"),
        (ISSUE, 1, "dial tcp: lookup api.github.com: no such host", "gh cannot reach GitHub"),
        (ISSUE, 1, 'Unknown JSON field: "comments"', "this version of gh cannot read"),
        (ISSUE, 1, "unknown flag: --json", "this version of gh cannot read"),
        (
            ISSUE,
            1,
            "the 'ada/invoice' repository\nhas disabled issues",
            "repository has disabled issues; try it yourself: gh issue view 12 --repo ada/invoice",
        ),
        (
            HERE,
            9,
            "",
            "gh could not read #12: it ended with code 9; try it yourself",
        ),
        (ISSUE, 1, "x" * 5000, f"{'x' * 300}…; try it yourself"),
    ],
)
def test_a_failure_says_what_to_do(
    reference: IssueReference, code: int, said: str, told: str
) -> None:
    assert told in explain_failure(reference, code, said)
