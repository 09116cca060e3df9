"""Which files a shell script runs, by its text alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.scripts.named_files import FileUse, files_named_in

SHELL, PROGRAM = FileUse.SHELL, FileUse.PROGRAM


def named(text: str) -> list[tuple[str, ...]]:
    return [reference.paths for reference in files_named_in(text).references]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("source lib.sh", ["lib.sh"]),
        (". ./lib.sh arg", ["./lib.sh"]),
        ("bash a.sh b.sh", ["a.sh"]),
        ("/bin/sh -eu a.sh", ["a.sh"]),
        ("bash -euo pipefail +x a.sh", ["a.sh"]),
        ("bash --rcfile b -- a.sh", ["a.sh"]),
        ("bash <a.sh", ["a.sh"]),
        ("bash -c '. a.sh; ./b'", ["a.sh", "./b"]),
        ("bash -c", []),
        ("bash <<X\n. a.sh\nX", ["a.sh"]),
        ("cat <<X\n. a.sh\nX", []),
        ("bash - ", []),
        ("python3 -u -W error a.py b.py", ["a.py"]),
        ("python3 -c 'import a' b.py", []),
        ("python3 < a.py", ["a.py"]),
        ("python3", []),
        ("node --require ./x.js a.js", ["./x.js", "a.js"]),
        ("awk -f a.awk data.txt", ["a.awk"]),
        ("awk '{print}' data.txt", []),
        ("deno run --allow-read a.ts", ["--allow-read"]),
        ("bun run a.ts", ["a.ts"]),
        ("ruby a.rb", ["a.rb"]),
        ("./a b.sh", ["./a"]),
        ("sub/a", ["sub/a"]),
        ("/abs/a", ["/abs/a"]),
        ("A=1 B=2 ./a", ["./a"]),
        ("if ! ./a; then ./b; else ./c; fi", ["./a", "./b", "./c"]),
        ("while time ./a; do ./b; done", ["./a", "./b"]),
        ("timeout 5 uv run python a.py", ["a.py"]),
        ("uv run a.py", ["a.py"]),
        ("env -i A=1 ./a", ["./a"]),
        ("sudo -u me bash a.sh", ["a.sh"]),
        ("find . -exec ./a {} \\;", ["./a"]),
        ("find . -exec", []),
        ("xargs -n1 echo", []),
        ("exec", []),
        ("exec a.py", ["a.py"]),
        ("exec $X", []),
        ("make -f a.mk all", ["a.mk"]),
        ("make --file=a.mk", ["a.mk"]),
        ("make -fa.mk", ["a.mk"]),
        ("make -f", []),
        ("make all", []),
        ("eval '. a.sh' \"./$A\"", ["a.sh"]),
        ("trap './a' EXIT", ["./a"]),
        ("ls a.sh; cat b.py; pytest c.py; ruff check d.py", []),
        ('H=$(dirname "$0"); . "$H/a.sh"', ["a.sh"]),
        ('. "$(cd "$(dirname "$0")" && pwd)/a.sh"', ["a.sh"]),
        ('. "${0%/*}/../a.sh"', ["../a.sh"]),
        ("X=a.sh\n. $X", ["a.sh"]),
        ("X=b; Y=$X/c; . ./$Y.sh", ["./b/c.sh"]),
        ("local X+=a; . ./$X", ["./a"]),
        ("f() { . $X; }\nX=a.sh", ["a.sh"]),
        (". lib/*.sh", ["lib/*.sh"]),
        ("=x ./a", []),
        ("'' x", []),
        ("then", []),
        ("> x", []),
    ],
)
def test_files(text: str, paths: list[str]) -> None:
    assert [path for one in named(text) for path in one] == paths


def test_a_variable_may_have_several_values() -> None:
    assert named('for f in a.sh "$D"/b.sh c/*; do . "$f"; done') == [("a.sh", "b.sh", "c/*")]
    assert named("X=1; X=2; . $X") == [("1", "2")]
    assert named("for f in; do . $f; done; for") == []


def test_many_values_are_bounded() -> None:
    text = "A=1;A=2;A=3;A=4;A=5;A=6;A=7;A=8;A=9\n. $A$A$A"
    assert len(named(text)[0]) == 64


def test_a_variable_that_names_itself_ends() -> None:
    found = files_named_in("A=$A/x\n. $A")
    assert found.computed == []
    assert found.references


@pytest.mark.parametrize(
    ("text", "kind"),
    [(". a", SHELL), ("sh a", SHELL), ("sh <a", SHELL), ("./a", PROGRAM), ("python a", PROGRAM)],
)
def test_how_it_is_run_is_known(text: str, kind: FileUse) -> None:
    assert [reference.kind for reference in files_named_in(text).references] == [kind]


@pytest.mark.parametrize(
    "text", [". $1", 'bash "$@"', "$X", "x\n. a${Y}b", "python -m $M", "python -m"]
)
def test_what_only_a_shell_knows_is_reported(text: str) -> None:
    found = files_named_in(text)
    assert found.references == []
    assert found.computed == [text.count("\n") + 1]


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        ("npm run lint -- --fix", ["lint"]),
        ("npm test", ["test"]),
        ("npm t", ["test"]),
        ("npm run-script a", ["a"]),
        ("npm --silent run a", ["a"]),
        ("pnpm check", ["check"]),
        ("yarn build-all", ["build-all"]),
        ("yarn install", []),
        ("npm ci", []),
        ("npm check", []),
        ("npm", []),
        ("npm run", []),
        ("timeout 9 npm run a", ["a"]),
    ],
)
def test_scripts_of_a_package(text: str, scripts: list[str]) -> None:
    assert files_named_in(text).package_scripts == scripts


@pytest.mark.parametrize(
    ("text", "runners"),
    [
        ("pytest -q", {"pytest": "conftest.py"}),
        ("uv run pytest", {"pytest": "conftest.py"}),
        ("python -m pytest", {"python -m pytest": "conftest.py"}),
        ("python -m my.tool", {"python -m my.tool": "my/tool.py"}),
        ("make", {"make": "Makefile"}),
        ("bun run dev", {"bun": "package.json"}),
        ("echo pytest", {}),
    ],
)
def test_programs_that_run_the_project_are_named(text: str, runners: dict[str, str]) -> None:
    assert files_named_in(text).runners == runners


def test_folders_that_it_goes_to_are_known() -> None:
    assert files_named_in('cd sub && pushd "$H/more"; cd; cd $X').folders == ["sub", "more"]


def test_lines_are_those_of_the_script() -> None:
    found = files_named_in("true\nbash -c '. a.sh'\nsh <<X\n. b.sh\nX\n")
    assert [(one.paths, one.line) for one in found.references] == [(("a.sh",), 2), (("b.sh",), 4)]


def test_scripts_within_scripts_are_bounded() -> None:
    text = ". a.sh"
    for _ in range(3):
        text = "eval " + "'" + text.replace("'", "'\\''") + "'"
    assert named(text) == [("a.sh",)]
    deep = "bash <<A\nbash <<B\nbash <<C\nbash <<D\nbash <<E\nbash <<F\n. a.sh\nF\nE\nD\nC\nB\nA\n"
    assert named(deep) == []
    for _ in range(6):
        text = "eval " + "'" + text.replace("'", "'\\''") + "'"
    assert named(text) == []
    assert named("exec " * 40 + "./a") == [("./a",)]


@given(st.text(alphabet="ab. '\"\\$`(){}<>|&;#\n-=/sh", max_size=80))
def test_any_text_is_read(text: str) -> None:
    files_named_in(f"bash {text}")
    files_named_in(f"source {text}")
