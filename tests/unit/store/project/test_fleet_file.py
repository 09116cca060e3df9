"""The file of a fleet: what it may say, and what is wrong with it by line and key."""

from __future__ import annotations

from datetime import time
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import ConfigError, UsageError
from ralph_ls.store.project.fleet_file import add_repository, approve, fleet_path, load_fleet

API = '[repositories.api]\npath = "/src/api"\n'


def test_every_key_is_read(tmp_path: Path) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text(
        'timezone = "Europe/Berlin"\nmax_cost_usd = 40\n\n'
        '[repositories.web]\nurl = "git@example.com:web.git"\npush = true\nhours = "22:00-06:30"\n'
        'max_duration = "2h"\nlabels = ["gpu"]\nagent_command = "./agent --fast"\n'
    )

    web = load_fleet(path).repositories["web"]

    assert web.opening_hours == (time(22), time(6, 30))
    assert web.max_duration == 7200
    assert (web.onto, web.lanes, web.max_failures) == ("ralph/fleet", 1, 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lanes = ", "fleet.toml:1: "),
        ("lanes = 0\n", "fleet.toml:1: lanes: input should be greater than or equal to 1"),
        ("lane = 2\n", "fleet.toml:1: unknown setting lane; did you mean lanes"),
        ('timezone = "Mars"\n', "timezone: write a zone's name, such as Europe/Berlin"),
        (f"{API}laness = 2\n", "fleet.toml:3: unknown setting repositories.api.laness; did you"),
        (f'{API}hours = "late"\n', "repositories.api.hours: write the hours as 22:00-06:00"),
        (f'{API}agent_command = " "\n', "repositories.api.agent_command: name a program"),
        (f'{API}url = "x"\n', "fleet.toml:1: repositories.api: name either its path or its url"),
        ('[repositories.api]\nurl = "x"\n', "allow that with push = true"),
        ('[repositories.API]\npath = "x"\n', "write lower-case letters, digits"),
        (f"{'a.' * 60}b = 1\n", "more than 50 parts"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text(text)

    with pytest.raises(ConfigError) as raised:
        load_fleet(path)

    assert expected in raised.value.message


def test_a_missing_or_unreadable_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ralph fleet add PATH"):
        load_fleet(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe4\n")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        load_fleet(tmp_path / "latin.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(ConfigError):
        load_fleet(tmp_path / "folder.toml")


def test_adding_and_approving_keep_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "own" / "fleet.toml"
    add_repository(path, "api", {"path": "/src/api"})
    path.write_text(f"# Mine\n{path.read_text()}")

    add_repository(path, "web", {"url": "https://example.com/web", "push": True})
    fleet = approve(path, "web", {".ralph/validate.sh": "0" * 64})

    assert path.read_text().startswith("# Mine\n[repositories.api]")
    assert fleet.repositories["web"].approved == {".ralph/validate.sh": "0" * 64}
    with pytest.raises(UsageError, match="has a repository api already"):
        add_repository(path, "api", {"path": "/other"})


@pytest.mark.parametrize(
    ("given", "environment", "expected"),
    [
        ("/a/f.toml", {"RALPH_FLEET_FILE": "/b.toml"}, "/a/f.toml"),
        (None, {"RALPH_FLEET_FILE": "/b.toml"}, "/b.toml"),
        (None, {"HOME": "/home/ada"}, "/home/ada/.config/ralph/fleet.toml"),
    ],
)
def test_the_file_is_the_users(
    given: str | None, environment: dict[str, str], expected: str
) -> None:
    assert fleet_path(environment, given) == Path(expected)


def test_without_a_home_the_file_has_to_be_named() -> None:
    with pytest.raises(UsageError, match="--file"):
        fleet_path({})
