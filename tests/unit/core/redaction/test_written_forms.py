"""Written forms of a secret, and tokens by their shape: what is found, and what stays."""

from __future__ import annotations

import base64
import json
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.redaction import redactor as redaction_filter
from ralph_ls.core.redaction.known_secrets import LONGEST_FORM, written_forms
from ralph_ls.core.redaction.redactor import Redactor, StreamRedactor, make_secret_filter
from ralph_ls.core.redaction.token_rules import PREFIXES, SHAPES, TOKEN_RULES

SECRET = "wJalrXUtn FEMI/K7+MD=ENG"
DATA = SECRET.encode()
LABEL = b"[redacted A_KEY]"


FORMS = {
    "raw": DATA,
    "json": json.dumps({"a": [SECRET]}).encode(),
    "json in json": json.dumps(json.dumps(SECRET)).encode(),
    "hex": DATA.hex().encode(),
    "upper hex": DATA.hex().upper().encode(),
    "quoted": quote(SECRET, safe="").encode(),
    "quoted plus": quote_plus(SECRET).encode(),
    "quoted lower": re.sub("%..", lambda m: m[0].lower(), quote(SECRET, safe="")).encode(),
    **{f"base64 {n}": base64.b64encode(b"abc"[:n] + DATA + b"zz") for n in range(3)},
    **{f"url base64 {n}": base64.urlsafe_b64encode(b"abc"[:n] + DATA) for n in range(3)},
    "base64 with wraps": base64.encodebytes(b"y" * 41 + DATA + b"y" * 50),
    "php": base64.b64encode(b"\xff\xff" + DATA).replace(b"/", rb"\/"),
    "wrapped": DATA[:15] + b"\n    " + DATA[15:],
    "wrapped at a space": DATA.replace(b" ", b"\r\n"),
    "wrapped in json": json.dumps(SECRET[:15] + "\r\n  " + SECRET[15:]).encode(),
    "coloured": b"".join(b"\x1b[38;5;%dm%c" % each for each in enumerate(DATA)),
    "coloured in json": json.dumps(SECRET[:9] + "\x1b[0;1m" + SECRET[9:]).encode(),
    "hex in lines": b"\n".join(DATA.hex().encode()[at : at + 30] for at in range(0, 48, 30)),
}
"""Each with the secret in it."""


def streamed(redactor: Redactor, data: bytes, step: int) -> bytes:
    stream = StreamRedactor(redactor)
    pieces = [stream.feed(data[at : at + step]) for at in range(0, len(data), step)]
    return b"".join(pieces) + stream.finish()


@pytest.mark.parametrize("name", sorted(FORMS))
def test_every_form_is_found_however_it_comes(name: str) -> None:
    redactor = Redactor({"A_KEY": SECRET})
    data = b"before " + FORMS[name] + b" after"
    whole = redactor.redact_bytes(data)
    assert whole.count(LABEL) == 1, whole
    assert len(whole) - len(LABEL) <= len(data) - len(DATA)
    for step in (1, 2, 7, 16, 1000):
        assert streamed(redactor, data, step) == whole


LONG_SECRET = "".join(f"{number:04d}" for number in range(LONGEST_FORM))


def test_a_long_secret_is_searched_piece_by_piece() -> None:
    assert all(len(form) <= LONGEST_FORM for form in written_forms(LONG_SECRET))


@pytest.mark.slow
def test_a_long_secret_is_redacted_in_each_form() -> None:
    redactor = Redactor({"A_KEY": LONG_SECRET})
    for form in (LONG_SECRET.encode(), LONG_SECRET.encode().hex().encode()):
        assert redactor.redact_bytes(form).replace(LABEL, b"") == b""


def test_a_secret_of_several_lines_is_found_as_json_too() -> None:
    secret = "first line of it\nsecond line of it\n"
    redactor = Redactor({"A_KEY": secret.strip()})
    assert redactor.redact(f"<{secret.strip()}>") == "<[redacted A_KEY]>"
    assert redactor.redact(json.dumps({"a": secret})) == '{"a": "[redacted A_KEY]\\n"}'


def test_what_is_scattered_too_far_is_no_secret() -> None:
    redactor = Redactor({"A_KEY": "abcdefgh"})
    scattered = b"abcd" + b"efgh"[:3] + (b" " * 16 + b"\n" + b" " * 16) + b"h"
    assert redactor.redact_bytes(scattered) == LABEL
    colours = b"\x1b[38;5;111;48;5;222;1;2;3m" * 2
    near = colours.join(bytes([byte]) for byte in b"abcdefgh")
    assert redactor.redact_bytes(near) == LABEL
    first, second = near[: near.index(b"d")], near[near.index(b"d") :]
    far = first + second.replace(colours, colours + b"\n" + colours)
    assert redactor.redact_bytes(far) == far
    assert redactor.redact_bytes(far + b" abcdefgh") == far + b" " + LABEL


@pytest.mark.exhaustive
@pytest.mark.parametrize("rule", TOKEN_RULES, ids=lambda rule: str(rule[0]))
def test_a_token_of_every_rule_is_found(rule: tuple[str, bytes, int]) -> None:
    prefix, body, least = rule
    filling = next(c for c in (b"A", b"a", b"0") if re.fullmatch(body, c))
    token = prefix.encode() + filling * least
    redactor = Redactor({})
    for data, rest in ((b"x=" + token, b"x="), (b'{"a":"' + token + b'"}', b'{"a":""}')):
        redacted = redactor.redact_bytes(data)
        assert redacted.replace(b"[redacted %b]" % prefix.encode().rstrip(b"-_./~"), b"") == rest
        for step in (1, 5, 64):
            assert streamed(redactor, data, step) == redacted
    short = b"x=" + token[:-1] + b" "
    assert redactor.redact_bytes(short) == short


def test_the_rules_are_sorted_and_each_there_once() -> None:
    prefixes = [prefix for prefix, _, _ in TOKEN_RULES]
    assert len(set(prefixes)) == len(prefixes)
    assert len(PREFIXES) == len(prefixes)
    assert all(rule.landmark for rule in (*PREFIXES, *SHAPES))


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
PEM = """\
-----BEGIN RSA PRIVATE KEY-----
MIIEpAIBAAKCAQEA75iCxyz
abcdEFGH1234567890+/==
-----END RSA PRIVATE KEY-----
"""
ENCRYPTED = """\
-----BEGIN RSA PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,0123456789ABCDEF

MIIEpAIBAAKCAQEA75iCxyz
-----END RSA PRIVATE KEY-----
"""


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        (f"jwt {JWT} next", "jwt [redacted JWT] next"),
        (f'{{"t":"{JWT}"}}', '{"t":"[redacted JWT]"}'),
        (PEM, "[redacted private key]-----END RSA PRIVATE KEY-----\n"),
        (json.dumps(PEM), '"[redacted private key]-----END RSA PRIVATE KEY-----\\n"'),
        (
            json.dumps({"k": PEM[:60], "b": '"q"'}),
            '{"k": "[redacted private key]", "b": "\\"q\\""}',
        ),
        (
            ENCRYPTED,
            ENCRYPTED.split("DEK", maxsplit=1)[0]
            + "[redacted private key]-----END RSA PRIVATE KEY-----\n",
        ),
        ("psql postgres://u:hunter22@db/x", "psql postgres://u:[redacted password]@db/x"),
        ("redis://:hunter22@h", "redis://:[redacted password]@h"),
        (
            "Authorization: Bearer abcdefghij0123456789._-",
            "Authorization: Bearer [redacted bearer token]",
        ),
    ],
)
def test_shapes_are_found_and_what_is_around_them_stays(text: str, redacted: str) -> None:
    redactor = Redactor({})
    assert redactor.redact(text) == redacted
    for step in (1, 3, 50):
        assert streamed(redactor, text.encode(), step).decode() == redacted


def test_a_known_password_in_a_url_is_called_by_its_name() -> None:
    redactor = Redactor({"DATABASE_URL password": "hunter2222"})
    assert redactor.redact("pg://u:hunter2222@h") == "pg://u:[redacted DATABASE_URL password]@h"


@pytest.mark.parametrize(
    "text",
    [
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "uuid 550e8400-e29b-41d4-a716-446655440000 550E8400-E29B-41D4-A716-446655440000",
        "sha512-RDcHnd8o3nWkEd4N0pJ/6Aq0J0Ymq0oWl0Z5Xh4D0jGqJr6xHfX7bDqfRkqYb2Z0nXkO2Qn0L+Q==",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDw",
        "class=sk-folding-cube sk-cube-grid task-list-of-all-things-to-do disk-usage-of-everything",
        "npm_config_user_agent npm_package_dependencies_something hf_tokenizer_config_name",
        "http://localhost:3000/@scope/name https://example.com:8080/a?b=c@d ssh://git@host:22/x",
        "postgres://user:${PASSWORD}@h postgres://user:<password>@h https://u:***@h",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
        'if line == "-----BEGIN PRIVATE KEY-----": return',
        "Bearer authentication needs a token; Bearer ${TOKEN}",
        "var a=function(b){return b.c?d:e};!function(n,r){n.AKIA=r}(window,eyJ)",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    redactor = Redactor({"A_KEY": SECRET})
    assert redactor.redact(text) == text
    assert streamed(redactor, text.encode(), 3).decode() == text


def test_a_filter_of_more_forms_than_one_search_holds_finds_the_last() -> None:
    may_hold = make_secret_filter([b"form-%03d" % number for number in range(200)])
    assert may_hold(b"a form-199 here")
    assert not may_hold(b"a form-200 here")


@pytest.mark.slow
def test_so_many_secrets_that_one_search_cannot_hold_them() -> None:
    secrets = {f"KEY_{n}": f"value-number-{n:04d}-é" for n in range(60)}
    redactor = Redactor(secrets)
    for name, value in secrets.items():
        assert redactor.redact(f"<{value}>") == f"<[redacted {name}]>"
        assert redactor.redact(value.encode().hex()) == f"[redacted {name}]"


def test_a_filter_that_cannot_be_made_lets_everything_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redaction_filter, "_LENGTHS", ())
    assert make_secret_filter([b"abcdefgh"])(b"anything")


@given(st.binary(), st.binary(min_size=1))
def test_the_filter_never_misses_a_form(around: bytes, form: bytes) -> None:
    may_hold = make_secret_filter([form])
    assert may_hold(around + form + around)
    assert may_hold(around + b"\x1b[1m".join(bytes([byte]) for byte in form))


def test_a_pattern_that_is_too_large_lets_everything_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redaction_filter, "_WRAP", "(")
    assert make_secret_filter([b"abcdefgh"])(b"anything")


@pytest.mark.parametrize(
    ("secret", "data"),
    [
        ("nrnr-secret-1", b"n nrnr-secret-1 nrn"),
        ("nrnr-secret-1", b"an\nrn\\nrnr-s\n  ecret-1\\n"),
        ("nrnr-secret-1", b"\x1b[31mn\x1b[32mr\x1b[0mnr-secret-1\x1b[0m"),
        ("\\path\\to-secret", rb"see \path\to-secret and \\path\\to-secret \\u001b[3"),
        ("abcd-secret-1", b"abc\nd-secret-1 abcd\n-secret-1 abcd-sec\x1b[3"),
        ("abcd-secret-1", b"abcd\x1b[31m\x1b[32m\n  \x1b[0m-secret-1 ab\x1b[1mcd"),
        ("abcd-secret-1", b"\x1b[31mabcd\x1b[1m-secret\\u001b[0m-1 \\u00"),
        ("s3cr3t pass phrase", b"s3cr3t\n pass phrase s3cr3t pass\r\nphrase s3cr3tpassphrase"),
    ],
)
def test_a_stream_finds_what_the_whole_holds(secret: str, data: bytes) -> None:
    redactor = Redactor({"A_KEY": secret})
    whole = redactor.redact_bytes(data)
    assert LABEL in whole
    for step in range(1, 12):
        assert streamed(redactor, data, step) == whole


@pytest.mark.parametrize("between", [b"\x1b[31m", b"\x1b[1m\x1b[31m", b"\n", b" \n ", rb"\r\n"])
def test_beginnings_of_a_secret_take_no_longer_than_other_text(between: bytes) -> None:
    secret = "wJalrXUtnFEMI7MDENGbPxRfiCYEXAMPLEKEYabc"
    redactor = Redactor({"A_KEY": secret})
    # Each way to split what is between two characters would double the time: 2**39 of them.
    almost = between.join(bytes([byte]) for byte in secret[:-1].encode()) + b"! "
    assert redactor.redact_bytes(almost * 20 + secret.encode()) == almost * 20 + LABEL
