from __future__ import annotations

import pytest

from ralph_ls.core.redaction.redactor import secrets_of
from ralph_ls.core.redaction.secret_names import is_guessable, is_secret_name, secrets_of_addresses

VALUE = "s3cr3t-Value-1"


@pytest.mark.parametrize(
    "name",
    [
        *("API_KEY", "MY_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "PASSWD", "DB_PASS"),
        *("LDAP_PWD", "BASIC_AUTH", "GOOGLE_CREDENTIALS", "SENTRY_DSN", "SESSION_COOKIE"),
        *("PRIVATE_KEY", "PGPASSWORD", "SSHPASS", "APIKEY", "GITHUBTOKEN", "deploy_Token", "pat"),
        *("spring.datasource.password", "HTTP-AUTHORIZATION", "SIGNING_PASSPHRASE"),
    ],
)
def test_a_name_says_by_its_words_that_it_is_a_secret(name: str) -> None:
    assert is_secret_name(name)
    assert secrets_of({name: VALUE}) == {name: VALUE}


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "PWD", "OLDPWD", "HOME", "XAUTHORITY", "SSH_AUTH_SOCK", "GIT_AUTHOR_NAME"),
        *("GIT_AUTHOR_TOKEN", "GIT_COMMITTER_EMAIL", "KEYBOARD_LAYOUT", "MONKEY", "COMPASS"),
        *("TOKENIZERS_PARALLELISM", "AUTHOR", "KEY_PATH", "TOKEN_FILE", "SECRETS_DIR", "AUTH_HOST"),
        *("AUTH_USERNAME", "TOKEN_TTL", "PASSWORD_REQUIRED", "_", "BYPASS", "PUBLIC_URL"),
    ],
)
def test_other_names_are_none(name: str) -> None:
    assert not is_secret_name(name)
    assert secrets_of({name: VALUE}) == {}


@pytest.mark.parametrize(
    "value",
    [
        *("short", "        ", "password", "Postgres", "changeme", "disabled", "/home/ada/.key"),
        *(
            "./secrets/key.pem",
            "~/.ssh/id",
            "C:\\keys\\a.pem",
            "12345678",
            "+1.5e3456",
            "12_000_000",
        ),
        *("localhost:5432", "db.example.com", "10.0.0.1:8080", "auth.internal", "[::1]:80000"),
        *("https://example.com", "https://auth.example.com/login", "lovelace-ada"),
    ],
)
def test_a_value_that_says_nothing_is_none(value: str) -> None:
    assert secrets_of({"A_TOKEN": value, "USER": "lovelace-ada"}) == {}


@pytest.mark.parametrize(
    ("name", "value", "secrets"),
    [
        (
            "DATABASE_URL",
            "postgres://u:s3cr3t-pass@h:5/d",
            {"DATABASE_URL password": "s3cr3t-pass"},
        ),
        (
            "URLS",
            "redis://:first-pass1@h, redis://:second%21pass@h",
            {
                "URLS password": "first-pass1",
                "URLS password 2": "second%21pass",
                "URLS password 3": "second!pass",
            },
        ),
        ("DATABASE_URL", "postgres://postgres:postgres@h/d", {}),
        ("DATABASE_URL", "postgres://u:short@h/d", {}),
        ("DATABASE_URL", "postgres://u@h/d", {}),
        ("DATABASE_URL", "postgres://u:lovelace-ada@h/d", {}),
        ("A_DSN", "https://abcdef@sentry.io/12", {"A_DSN": "https://abcdef@sentry.io/12"}),
        ("A_TOKEN", "https://h/?key=abcdef", {"A_TOKEN": "https://h/?key=abcdef"}),
        (
            "A_SECRET",
            "https://hooks.example.com/services/T000/B000/XXXXXXXXXXXX",
            {"A_SECRET": "https://hooks.example.com/services/T000/B000/XXXXXXXXXXXX"},
        ),
    ],
)
def test_a_url_reports_its_password(name: str, value: str, secrets: dict[str, str]) -> None:
    assert secrets_of({name: value, "USER": "lovelace-ada"}) == secrets


@pytest.mark.parametrize(
    ("value", "guessable"),
    [
        *(("postgres", True), ("supersecretword", True), ("demo1234", True), ("20260131", True)),
        *(("supersecretpassword", False), ("demo12345678", False), ("Demo1234", False)),
    ],
)
def test_only_a_plain_value_is_guessable(value: str, guessable: bool) -> None:
    assert is_guessable(value) is guessable


@pytest.mark.parametrize(
    ("address", "secrets"),
    [
        ("phone=ntfys://ntfy.sh/topic", ("ntfys://ntfy.sh/topic",)),
        (
            "https://hooks.slack.com/services/T0000/B0000/0123456789abcdefgh",
            (
                "https://hooks.slack.com/services/T0000/B0000/0123456789abcdefgh",
                "0123456789abcdefgh",
            ),
        ),
        (
            "mailto://ada:pass%20word1@a-very-long-host.example.com",
            (
                "mailto://ada:pass%20word1@a-very-long-host.example.com",
                "pass word1",
            ),
        ),
        ("x://y", ()),
    ],
)
def test_an_address_and_its_parts_are_secrets(address: str, secrets: tuple[str, ...]) -> None:
    found = secrets_of_addresses([address])
    assert set(found.values()) == set(secrets)
    assert [*found][:2] == ["notify.urls", "notify.urls 2"][: len(secrets)]
