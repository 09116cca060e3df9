"""How each agent is offered the tools: beside the user's own servers, and without their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.engine.agent.mcp_offer import mcp_offer, with_tools
from ralph_ls.engine.agent.selection import choose_agent
from ralph_ls.protocol.config.agent_catalog import CATALOG
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import ConfigError

MINE = {"mine": {"command": "my-server"}}


def offered(
    folder: Path, agent: str, environment: dict[str, str] | None = None, **settings: Any
) -> tuple[list[str], dict[str, str]]:
    """The command line that is offered, and the variables that are added."""
    config = Config.model_validate({"agent": agent, **settings})
    chosen = choose_agent(config)
    offer = mcp_offer(chosen, config)
    assert offer is not None
    around = {"HOME": str(folder / "user"), **chosen.env, **(environment or {})}
    before = dict(around)
    run = folder / "run"
    run.mkdir(exist_ok=True)
    made, _ = with_tools(chosen, offer, around, run)
    added = {key: value for key, value in around.items() if before.get(key) != value}
    whole = (*made.argv, *made.tail)
    return [word for word in whole if word not in (*chosen.argv, *chosen.tail)], added


def user_file(folder: Path, name: str, text: str) -> Path:
    path = folder / "user" / name
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("agent", ["claude", "qwen", "copilot"])
def test_a_flag_adds_the_server_as_json(tmp_path: Path, agent: str) -> None:
    (flag,), added = offered(tmp_path, agent)
    servers = json.loads(flag.partition("=")[2])["mcpServers"]
    assert list(servers) == ["ralph"]
    assert servers["ralph"]["args"][-3:] == ["-m", "ralph_ls", "mcp"]
    assert added == {}


def test_codex_gets_one_flag_for_each_value(tmp_path: Path) -> None:
    words, _ = offered(tmp_path, "codex", ask_wait=30)
    assert "mcp_servers.ralph.required=true" in words
    assert "mcp_servers.ralph.tool_timeout_sec=90" in words
    assert any("RALPH_MCP_SOCKET" in word for word in words)


def test_opencodes_variable_keeps_what_the_user_has_in_it(tmp_path: Path) -> None:
    mine = {"OPENCODE_CONFIG_CONTENT": json.dumps({"theme": "dark", "mcp": MINE})}
    _, added = offered(tmp_path, "opencode", mine)
    made = json.loads(added["OPENCODE_CONFIG_CONTENT"])
    assert made["theme"] == "dark"
    assert list(made["mcp"]) == ["mine", "ralph"]
    assert made["mcp"]["ralph"]["command"][-3:] == ["-m", "ralph_ls", "mcp"]


def test_clines_file_is_merged_elsewhere(tmp_path: Path) -> None:
    path = user_file(
        tmp_path, ".cline/data/settings/cline_mcp_settings.json", json.dumps({"mcpServers": MINE})
    )
    before = path.read_bytes()
    _, added = offered(tmp_path, "cline")
    made = Path(added["CLINE_MCP_SETTINGS_PATH"])
    assert list(json.loads(made.read_bytes())["mcpServers"]) == ["mine", "ralph"]
    assert made.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes() == before


def test_a_file_that_the_user_named_is_the_one_that_is_merged(tmp_path: Path) -> None:
    named = tmp_path / "servers.json"
    named.write_text(json.dumps({"mcpServers": MINE}), encoding="utf-8")
    _, added = offered(tmp_path, "cline", {"CLINE_MCP_SETTINGS_PATH": str(named)})
    made = Path(added["CLINE_MCP_SETTINGS_PATH"])
    assert made != named
    assert list(json.loads(made.read_bytes())["mcpServers"]) == ["mine", "ralph"]


def test_a_moved_folder_is_found(tmp_path: Path) -> None:
    moved = tmp_path / "moved" / "data" / "settings" / "cline_mcp_settings.json"
    moved.parent.mkdir(parents=True)
    moved.write_text(json.dumps({"mcpServers": MINE}), encoding="utf-8")
    _, added = offered(tmp_path, "cline", {"CLINE_DIR": str(tmp_path / "moved")})
    made = Path(added["CLINE_MCP_SETTINGS_PATH"])
    assert list(json.loads(made.read_bytes())["mcpServers"]) == ["mine", "ralph"]


def test_geminis_home_has_merged_settings_and_links_to_the_rest(tmp_path: Path) -> None:
    text = (
        '{\n  // mine\n  "theme": "a // b", "mcpServers": {"mine": {"command": "my-server"},},\n}\n'
    )
    path = user_file(tmp_path, ".gemini/settings.json", text)
    (path.parent / "oauth_creds.json").write_text("{}", encoding="utf-8")
    for _ in range(2):
        _, added = offered(tmp_path, "gemini")
    inside = Path(added["GEMINI_CLI_HOME"], ".gemini")
    made = json.loads((inside / "settings.json").read_bytes())
    assert (made["theme"], list(made["mcpServers"])) == ("a // b", ["mine", "ralph"])
    assert (inside / "oauth_creds.json").readlink() == path.parent / "oauth_creds.json"
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": {"mine": }}'])
def test_settings_that_cannot_be_read_are_not_replaced(tmp_path: Path, text: str) -> None:
    user_file(tmp_path, ".gemini/settings.json", text)
    with pytest.raises(ConfigError, match=r'settings\.json .*mcp = "off"'):
        offered(tmp_path, "gemini")


@pytest.mark.parametrize(
    ("agent", "flag"), [("claude", "mcp__ralph"), ("copilot", "--allow-tool=ralph")]
)
def test_a_list_of_tools_gets_the_server(tmp_path: Path, agent: str, flag: str) -> None:
    words, _ = offered(tmp_path, agent, tools={"allow": ["Read"]})
    assert flag in words


def test_rules_get_the_server_last(tmp_path: Path) -> None:
    _, added = offered(tmp_path, "opencode", tools={"allow": ["read"]})
    rules = json.loads(added["OPENCODE_PERMISSION"])
    assert list(rules) == ["*", "read", "ralph_*"]


@pytest.mark.parametrize("agent", [f"{name}-acp" for name in CATALOG])
def test_over_acp_the_server_goes_with_the_session_or_the_agents_own_flags(
    tmp_path: Path, agent: str
) -> None:
    words, added = offered(tmp_path, agent)
    assert any("ralph_ls" in word for word in words)
    assert added == {}


@pytest.mark.parametrize(
    ("agent", "settings"),
    [
        ("claude", {"mcp": "off"}),
        ("claude", {"sandbox": "docker"}),
        ("demo", {}),
        ("mine", {"agents": {"mine": {"argv": ["./agent.sh"]}}}),
        ("codex-acp", {"tools": {"allow": ["read"]}}),
    ],
)
def test_it_is_not_offered(agent: str, settings: dict[str, Any]) -> None:
    config = Config.model_validate({"agent": agent, **settings})
    assert mcp_offer(choose_agent(config), config) is None


def test_an_agent_by_another_name_is_offered_them_too(tmp_path: Path) -> None:
    agents = {"mine": {"adapter": "claude", "argv": ["./my-claude"]}}
    words, _ = offered(tmp_path, "mine", agents=agents)
    assert any(word.startswith("--mcp-config=") for word in words)
