"""What ``ralph doctor`` says of the agents that are known by name."""

from __future__ import annotations

from ralph_ls.core.views.report.doctor_checks import check_agents, has_no_problem
from ralph_ls.protocol.json_output import AgentSeen


def seen(name: str, program: str | None = None, **more: str) -> AgentSeen:
    return AgentSeen(
        name=name, program=program, install=f"get {name}", login=f"{name} login", **more
    )


def test_each_that_is_here_has_a_line_and_all_others_share_one() -> None:
    results = check_agents(
        [
            seen("claude", "/bin/claude", version="2.1", account="A_KEY is set"),
            seen("codex"),
            seen("qwen", "/bin/qwen"),
            seen("cline"),
        ]
    )
    assert [one.message for one in results] == [
        "claude 2.1 (/bin/claude), logged in, as far as ralph can see: A_KEY is set",
        ("qwen (unknown version) (/bin/qwen), no login found; log in with: qwen login"),
        "not installed: codex (get codex), cline (get cline)",
    ]
    assert {one.code for one in results} == {"agents"}
    assert has_no_problem(results)


def test_nothing_is_reported_of_missing_ones_where_all_are_here() -> None:
    assert len(check_agents([seen("claude", "/bin/claude")])) == 1
    assert check_agents([]) == []
