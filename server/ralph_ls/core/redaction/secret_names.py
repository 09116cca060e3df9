"""Secrets among environment variables, by the words of a name and the form of a value.

A name may say that its value is a secret, but the value may still be a path, a host or a common
word, whose redaction would make logs unreadable. A password in a URL is a secret whatever the
variable's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

MINIMAL_LENGTH = 8
"""A shorter value would match ordinary words."""

LONGEST_OPEN_PATH = 24
"""Characters of a URL's path; a longer one may grant access, such as a webhook's."""

_SECRET_WORDS = frozenset(
    [
        "KEY",
        "KEYS",
        "TOKEN",
        "TOKENS",
        "SECRET",
        "SECRETS",
        "PASSWORD",
        "PASSWORDS",
        "PASSWD",
        "PASS",
        "PWD",
        "PASSPHRASE",
        "AUTH",
        "AUTHORIZATION",
        "CREDENTIAL",
        "CREDENTIALS",
        "CREDS",
        "DSN",
        "COOKIE",
        "COOKIES",
        "PRIVATE",
        "APIKEY",
        "PAT",
        "JWT",
        "BEARER",
    ]
)
_SECRET_ENDINGS = ("PASSWORD", "PASSWD", "PASSPHRASE", "TOKEN", "SECRET", "APIKEY", "CREDENTIALS")
"""Endings of compound words such as PGPASSWORD."""
_SECRET_NAMES = frozenset({"SSHPASS"})

_OPEN_NAMES = frozenset({"PWD", "OLDPWD", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS"})
_OPEN_PREFIXES = ("GIT_AUTHOR_", "GIT_COMMITTER_")
_OPEN_LAST_WORDS = frozenset(
    [
        "SOCK",
        "SOCKET",
        "PATH",
        "FILE",
        "FILES",
        "DIR",
        "DIRECTORY",
        "FOLDER",
        "HOST",
        "HOSTNAME",
        "PORT",
        "USER",
        "USERNAME",
        "NAME",
        "EMAIL",
        "TTL",
        "TIMEOUT",
        "LIFETIME",
        "EXPIRY",
        "LIMIT",
        "COUNT",
        "MODE",
        "TYPE",
        "METHOD",
        "ALGORITHM",
        "VERSION",
        "REGION",
        "ENABLED",
        "DISABLED",
        "REQUIRED",
        "LENGTH",
        "SIZE",
    ]
)
"""Last words of names that describe where a secret is, or how it is used."""

_COMMON = frozenset(
    [
        "password",
        "passw0rd",
        "password1",
        "password123",
        "postgres",
        "postgresql",
        "changeme",
        "changeit",
        "changeme123",
        "localhost",
        "anonymous",
        "username",
        "disabled",
        "required",
        "optional",
        "standard",
        "default",
        "development",
        "production",
        "staging",
        "testing",
        "internal",
        "external",
        "automatic",
        "keychain",
        "keyring",
        "manager-core",
        "store-only",
        "cloudflare",
        "anthropic",
        "openai-api",
        "example",
        "example123",
        "placeholder",
        "dummy-key",
        "dummykey",
        "test-key",
        "test1234",
        "testtest",
        "letmein1",
        "qwertyui",
        "sunshine",
        "iloveyou",
        "12345678",
        "undefined",
        "redacted",
        "hidden-value",
        "none-needed",
        "not-needed",
        "no-key-needed",
        "your-api-key",
        "your_api_key",
    ]
)
_TOP_FOLDERS = (
    "home Users root etc var usr opt tmp run mnt srv proc dev private Library Applications nix "
    "workspaces app data"
)
_ROOTS = (*(f"/{name}/" for name in _TOP_FOLDERS.split()), "/workspace", "./", "../", "~/")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^\s/@:]*(?::([^\s/@]*))?@)?([^\s/?#]*)([^\s]*)")
_HOST = re.compile(
    r"(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]|(?:[a-z0-9-]+\.)+"
    r"(?:com|net|org|io|dev|app|ai|cloud|internal|local|localdomain|example|test|co|eu|us|de|uk))"
    r"(?::\d+)?/?"
)
_NUMBER = re.compile(r"[+-]?[0-9][0-9_,.]{0,19}(?:e[+-]?\d+)?")
_USER_NAMES = ("USER", "LOGNAME", "USERNAME", "HOSTNAME", "HOST", "COMPUTERNAME", "LANG", "TERM")


def secrets_of(environment: Mapping[str, str]) -> dict[str, str]:
    """The secrets among environment variables, by displayed name.

    White space around a value is not part of it: a key read from a file often ends in a line feed.
    """
    everyday = {environment.get(name, "") for name in _USER_NAMES}
    found: dict[str, str] = {}
    for name in sorted(environment):
        value = environment[name].strip()
        if is_secret_name(name) and _is_secret_value(value) and value not in everyday:
            found[name] = value
        for number, password in enumerate(_passwords_in(value), start=1):
            if password != value and password not in everyday:
                found[f"{name} password" if number == 1 else f"{name} password {number}"] = password
    return found


SHORTEST_PART = 16
"""Characters of a part of an address that may grant access, such as a token or a topic."""


def secrets_of_addresses(addresses: Iterable[str]) -> dict[str, str]:
    """Addresses of notifications and the parts that may grant access, by displayed name."""
    values: dict[str, None] = {}
    for text in addresses:
        address = re.sub(r"^[\w-]+=(?=[A-Za-z])", "", text)
        _, _, behind = address.partition("://")
        host = behind.rpartition("@")[2].partition("/")[0]
        parts = (part for part in re.split(r"[/:@?&=,;+]+", behind) if part not in host)
        passwords = (unquote(part) for part in _passwords_in(address))
        long = (part for part in parts if len(part) >= SHORTEST_PART)
        values |= dict.fromkeys(
            one for one in (address, *passwords, *long) if len(one) >= MINIMAL_LENGTH
        )
    return {
        "notify.urls" if number == 1 else f"notify.urls {number}": value
        for number, value in enumerate(values, 1)
    }


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name contains a secret."""
    upper = name.upper()
    words = [word for word in re.split(r"[_.-]", upper) if word]
    if upper in _OPEN_NAMES or upper.startswith(_OPEN_PREFIXES) or not words:
        return False
    if words[-1] in _OPEN_LAST_WORDS:
        return False
    return upper in _SECRET_NAMES or any(
        word in _SECRET_WORDS or word.endswith(_SECRET_ENDINGS) for word in words
    )


def is_guessable(value: str) -> bool:
    """Whether a value is so common that a repository may well contain it for another reason.

    An unguessable value is a secret wherever it is found.
    """
    kinds = (str.islower, str.isupper, str.isdigit)
    n_kinds = sum(any(is_kind(character) for character in value) for is_kind in kinds)
    return (len(value) < 16 and n_kinds <= 1) or (len(value) < 12 and n_kinds <= 2)


def _is_secret_value(value: str) -> bool:
    if len(value) < MINIMAL_LENGTH or value.lower() in _COMMON:
        return False
    if value.startswith(_ROOTS) or _DRIVE.match(value):
        return False
    if _NUMBER.fullmatch(value) or _HOST.fullmatch(value):
        return False
    url = _URL.fullmatch(value)
    # A URL is secret by its user, its password, its query, or a long path.
    return url is None or "@" in value or "?" in value or len(url[3]) > LONGEST_OPEN_PATH


def _passwords_in(value: str) -> list[str]:
    """The passwords in the URLs of a value, also unquoted."""
    found: list[str] = []
    for url in _URL.finditer(value):
        written = url[1] or ""
        found += [
            password
            for password in dict.fromkeys((written, unquote(written)))
            if len(password) >= MINIMAL_LENGTH and password.lower() not in _COMMON
        ]
    return found
