from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.errors import StateUnusable, UsageError
from ralph_ls.protocol.run.values import Origin
from ralph_ls.store.project import detection
from ralph_ls.store.project.config_file import PreviousChoice, load_settings, require_one_profile
from ralph_ls.store.project.detection import (
    detect_formats,
    detect_plans,
    detect_profiles,
    how_to_begin,
    is_of_tool,
    likely_plans,
    name_likely_plans,
)
from ralph_ls.store.project.plan_choice import progress_of

NOTES = "scripts/ralph/progress.txt"
FIXPLAN, SPEC = ProfileName.FIXPLAN, ProfileName.SPEC


def put(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("", encoding="utf-8")
    return root


STORY = "# Story 1.1: Pay\n\n## Tasks / Subtasks\n- [{mark}] Card\n"
EPIC = "# Epic 4.2: Map\n\n## User Story\nAs a nurse\n\n- [ ] Map it\n"


def write_story(root: Path, name: str, text: str) -> None:
    put(root, f"docs/stories/{name}")
    (root / "docs/stories" / name).write_text(text, encoding="utf-8")


class TestStoriesOfBmad:
    def found(self, root: Path) -> list[str]:
        return [one.name for one in detect_plans(root)]

    def test_they_are_known_by_their_text_without_a_sign(self, tmp_path: Path) -> None:
        write_story(tmp_path, "epic-4.2-map.md", EPIC)
        write_story(tmp_path, "README.md", STORY.format(mark=" "))
        assert self.found(tmp_path) == []
        assert detect_formats(tmp_path) == ()
        assert not is_of_tool(tmp_path, "docs/stories/epic-4.2-map.md")
        write_story(tmp_path, "story-pay.md", STORY.format(mark=" "))
        assert self.found(tmp_path) == ["epic-4.2-map.md", "story-pay.md"]
        assert is_of_tool(tmp_path, "docs/stories/epic-4.2-map.md")
        assert not is_of_tool(tmp_path, "docs/stories/README.md")

    def test_with_a_sign_other_documents_are_left_out_by_their_text(self, tmp_path: Path) -> None:
        put(tmp_path, ".bmad-core/", "docs/stories/1.2.story.md", "docs/stories/empty.md")
        write_story(tmp_path, "notes.md", "# Notes\n- [ ] Ask Ada\n")
        write_story(tmp_path, "epic-4.2-map.md", EPIC)
        assert self.found(tmp_path) == ["1.2.story.md", "epic-4.2-map.md"]
        assert not is_of_tool(tmp_path, "docs/stories/notes.md")

    def test_the_only_one_with_open_tasks_is_worked_on(self, tmp_path: Path) -> None:
        put(tmp_path, ".bmad-core/")
        for name in ("1.1.story.md", "1.2.story.md"):
            write_story(tmp_path, name, STORY.format(mark="x"))
        settings = load_settings(tmp_path, {}, {})
        with pytest.raises(UsageError, match=r"all plans here are done: 1.1.story.md \(BMAD story"):
            require_one_profile(settings)
        write_story(tmp_path, "epic-4.2-map.md", EPIC)
        plan = load_settings(tmp_path, {}, {}).config.paths.plan
        assert plan == "docs/stories/epic-4.2-map.md"


class TestWhatFits:
    @pytest.mark.parametrize(
        ("names", "fits"),
        [
            ((), []),
            (("README.md", "tasks.json"), []),
            (("@fix_plan.md",), ["fixplan"]),
            ((".ralph/fix_plan.md", ".ralphrc"), ["fixplan"]),
            (("fix_plan.md", "specs/a.md"), ["fixplan"]),
            (("IMPLEMENTATION_PLAN.md",), ["spec"]),
            (("specs/a.md",), ["spec"]),
            (("scripts/ralph/prd.json",), ["stories"]),
            ((".ralph/prd.json",), ["stories"]),
            (("plans/prd.json", "feature_list.json"), ["stories"]),
            (("ralph/tasks.json", "ralph/prd.json"), ["stories"]),
            ((".beads/",), ["beads"]),
            (("IMPLEMENTATION_PLAN.md", "prd.json", ".beads/"), ["spec", "stories", "beads"]),
            # The folder is another tool's.
            (("specs/a.md", ".specify/"), []),
            (("specs/001-login/spec.md",), []),
            (("specs/a.md", "openspec/changes/"), []),
        ],
    )
    def test_a_profile_is_known_by_what_is_there(
        self, tmp_path: Path, names: tuple[str, ...], fits: list[str]
    ) -> None:
        found = detect_profiles(put(tmp_path, *names))
        assert [one.profile.value for one in found] == fits
        assert all(one.sign.rstrip("/") in "/ ".join(names) for one in found)

    def test_a_link_in_a_circle_is_no_sign(self, tmp_path: Path) -> None:
        (tmp_path / "specs").symlink_to("specs")
        assert detect_profiles(tmp_path) == ()


class TestLikelyPlans:
    def test_lists_are_known_by_their_names(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            "TODO.md",
            "todolist.md",
            "plant.md",
            "tasks.md/",
            "docs/Implementation-Plan.md",
        )
        put(tmp_path, "doc/ROADMAP.md", "src/TODO.md", "planning.txt")
        assert likely_plans(tmp_path) == (
            "TODO.md",
            "docs/Implementation-Plan.md",
            "doc/ROADMAP.md",
        )

    def test_without_one_in_the_root_those_one_folder_below_it(self, tmp_path: Path) -> None:
        put(
            tmp_path, "server/IMPLEMENTATION_PLAN.md", ".claude/plan.md", "frontend/src/TODO.md",
            "plans/login.md", "plans/README.md", "plans/a.txt", "backend/notes.md",
            "node_modules/TODO.md", ".git/TODO.md", "Vendor/TODO.md", "a\x1bb/TODO.md",
        )  # fmt: skip
        (tmp_path / "linked").symlink_to("server")
        assert likely_plans(tmp_path) == (
            ".claude/plan.md",
            "plans/login.md",
            "server/IMPLEMENTATION_PLAN.md",
        )
        put(tmp_path, "docs/TODO.md")
        assert likely_plans(tmp_path) == ("docs/TODO.md",)
        assert likely_plans(tmp_path / "gone") == ()

    def test_the_look_at_other_folders_is_bounded(self, tmp_path: Path) -> None:
        put(tmp_path, *(f"{number:03}/TODO.md" for number in range(130)))
        assert len(likely_plans(tmp_path)) == 100

    def test_a_message_names_why_a_file_is_no_plan(self, tmp_path: Path) -> None:
        write(tmp_path, "Todo.txt", "(A) a\n- b\n")
        write(tmp_path, "tasks/tasks.json", "[]")
        assert name_likely_plans(tmp_path) == (
            "; Todo.txt is no plan: it has lines in Markdown, and a todo.txt has one task a line; "
            "write all of its tasks in one of the two forms"
        )
        put(tmp_path, "my plans/", "my plans/TODO.md")
        assert name_likely_plans(tmp_path).startswith(
            "; my plans/TODO.md may be one: check it with ralph plan 'my plans/TODO.md', then"
        )

    def test_an_outline_of_notes_is_named_and_not_taken(self, tmp_path: Path) -> None:
        write(tmp_path, "TODO.org", "* Notes\n")
        assert likely_plans(tmp_path) == ("TODO.org",)
        assert name_likely_plans(tmp_path).startswith("; TODO.org may be one: check it with ralph")
        assert [one.path for one in detect_plans(tmp_path)] == []
        write(tmp_path, "TODO.org", "* TODO Pay\n")
        write(tmp_path, "todo.org", "* TODO Pay\n")
        # One file where the file system ignores case.
        names = sorted(path.name for path in tmp_path.iterdir())
        assert [one.path for one in detect_plans(tmp_path)] == names

    def test_names_in_capitals_in_a_folder_that_cannot_be_listed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> list[str]:
            raise StateUnusable("too many")

        monkeypatch.setattr(detection, "names_in", refuse)
        write(tmp_path, "tasks.org", "* TODO Pay\n")
        assert [one.path for one in detect_plans(tmp_path)] == ["tasks.org"]

    def test_a_message_names_some_and_what_to_do(self, tmp_path: Path) -> None:
        assert how_to_begin(put(tmp_path, "NOTES.md"), "ask") == "; ask"
        put(tmp_path, "PLAN.md", "TODO.md", "docs/PLAN.md", "docs/tasks.md")
        assert how_to_begin(tmp_path, "ask") == (
            "; ask; PLAN.md, TODO.md, docs/PLAN.md and 1 more may be one: check it with ralph plan "
            "PLAN.md, then work on it with ralph run --plan PLAN.md"
        )

    def test_where_another_tool_writes_the_plan_a_message_says_how(self, tmp_path: Path) -> None:
        put(tmp_path, "specs/001-a/spec.md")
        assert how_to_begin(tmp_path, "ask") == (
            "; this is a project of spec-kit without a plan yet; write its tasks with "
            "/speckit.tasks"
        )
        put(tmp_path, "specs/002-b/tasks.md", "openspec/changes/c/")
        seen = "this is a project of spec-kit; see its plans with: ralph plan --all"
        assert how_to_begin(tmp_path, "ask") == f"; {seen}"

    def test_tasks_of_a_feature_that_may_be_another_program_s(self, tmp_path: Path) -> None:
        put(tmp_path, ".specify/", "specs/notes/")
        (tmp_path / "specs/notes/tasks.md").write_text("- [ ] Ask Ada\n", encoding="utf-8")
        assert how_to_begin(tmp_path, "ask").endswith(
            "/speckit.tasks; specs/notes/tasks.md may be one: check it with ralph plan "
            "specs/notes/tasks.md, then work on it with ralph run --plan specs/notes/tasks.md"
        )


class TestFeaturesWithoutANumber:
    @pytest.mark.parametrize(
        "place", ["specs/main", "specs/pay-by-card", "specs/features/pay", "specs/shop/web/pay"]
    )
    @pytest.mark.parametrize(
        ("text", "is_plan"),
        [
            ("# Tasks: Pay\n- [ ] Ask the bank\n", True),
            ("- [ ] T001 [P] Ask the bank\n", True),
            ("## Story 1\n- [x] [US1] Ask the bank\n", True),
            ("# To do\n- [ ] Ask the bank\n", False),
            ("", False),
        ],
    )
    def test_their_text_says_whose_they_are(
        self, tmp_path: Path, place: str, text: str, is_plan: bool
    ) -> None:
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "tasks.md").write_text(text, encoding="utf-8")
        (tmp_path / "apps" / place).mkdir(parents=True)
        (tmp_path / "apps" / place / "tasks.md").write_text(text, encoding="utf-8")
        name = place.rpartition("/")[2]
        expected = [(PlanKind.SPEC_KIT, f"{place}/tasks.md", name)] if is_plan else []
        found = [(one.kind, one.path, one.name) for one in detect_plans(tmp_path)]
        assert found == expected


class TestSettings:
    def test_what_fits_brings_its_settings(self, tmp_path: Path) -> None:
        settings = load_settings(put(tmp_path, "IMPLEMENTATION_PLAN.md"), {}, {})
        assert (settings.config.profile, settings.config.gate.rule) == (SPEC, "marker")
        assert not settings.names_profile

    @pytest.mark.parametrize(
        ("environment", "overrides"),
        [({"RALPH_PROFILE": "fixplan"}, {}), ({}, {"profile": "fixplan"})],
    )
    def test_a_profile_that_was_chosen_holds(
        self, tmp_path: Path, environment: dict[str, str], overrides: dict[str, str]
    ) -> None:
        put(tmp_path, "IMPLEMENTATION_PLAN.md", "prd.json")
        settings = load_settings(tmp_path, environment, overrides)
        assert settings.config.profile is FIXPLAN
        require_one_profile(settings)

    @pytest.mark.parametrize(
        ("there", "overrides", "progress"),
        [
            (("scripts/ralph/prd.json",), {}, "ralph/progress.txt"),
            (("scripts/ralph/prd.json", NOTES), {}, NOTES),
            (("prd.json", "progress.txt", NOTES), {}, "progress.txt"),
            (("prd.json", NOTES), {}, "ralph/progress.txt"),
            (("scripts/ralph/prd.json", NOTES, "ralph/progress.txt"), {}, "ralph/progress.txt"),
            (("scripts/ralph/prd.json", NOTES), {"paths.progress": "mine.md"}, "mine.md"),
            (("ralph/x.json", "ralph/progress.txt"), {"profile": "stories"}, "ralph/progress.txt"),
        ],
    )
    def test_notes_of_another_loop_of_stories_are_used_where_they_are(
        self, tmp_path: Path, there: tuple[str, ...], overrides: dict[str, str], progress: str
    ) -> None:
        config = load_settings(put(tmp_path, *there), {}, overrides).config
        assert config.profile is ProfileName.STORIES
        assert config.paths.progress == progress

    def test_a_run_that_continues_keeps_its_own(self, tmp_path: Path) -> None:
        put(tmp_path, "IMPLEMENTATION_PLAN.md", "prd.json")
        for by in (Origin.GIVEN, Origin.FOUND):
            earlier = PreviousChoice(profile=FIXPLAN, profile_by=by, sign="todo.md", agent="codex")
            settings = load_settings(tmp_path, {}, {}, earlier=earlier)
            assert settings.config.profile is FIXPLAN
            assert (settings.profile_by, settings.sign) == (by, "todo.md")
            require_one_profile(settings)

    @pytest.mark.parametrize(
        ("plan", "profile"),
        [("IMPLEMENTATION_PLAN.md", SPEC), ("fix_plan.md", FIXPLAN), ("todo.md", FIXPLAN)],
    )
    def test_a_plan_that_was_named_selects_its_profile(
        self, tmp_path: Path, plan: str, profile: ProfileName
    ) -> None:
        put(tmp_path, "@fix_plan.md", "IMPLEMENTATION_PLAN.md")
        settings = load_settings(tmp_path, {}, {"paths.plan": plan})
        assert settings.config.profile is profile
        require_one_profile(settings)

    def test_of_several_a_start_takes_none(self, tmp_path: Path) -> None:
        settings = load_settings(put(tmp_path, "@fix_plan.md", "prd.json"), {}, {})
        with pytest.raises(UsageError) as caught:
            require_one_profile(settings)
        assert caught.value.message == (
            "there are several plans: @fix_plan.md (fixplan), prd.json (stories); choose one, "
            'such as --profile fixplan, or profile = "…" in .ralph/config.toml'
        )


class TestAProfileThatNobodyChose:
    def test_it_does_not_push_and_its_run_is_bounded(self, tmp_path: Path) -> None:
        put(tmp_path, "specs")
        settings = load_settings(tmp_path, {}, {})
        assert (settings.profile_by, settings.sign) == (Origin.FOUND, "specs")
        config = settings.config
        assert (config.profile, config.push, config.max_iterations) == (SPEC, False, 20)
        assert config.commits.value == "loop"

    def test_neither_does_the_default_or_one_that_an_earlier_run_found(
        self, tmp_path: Path
    ) -> None:
        default = load_settings(tmp_path, {}, {})
        assert (default.profile_by, default.config.max_iterations) == (Origin.DEFAULT, 20)
        found = PreviousChoice(profile=SPEC, profile_by=Origin.FOUND, sign=None, agent="cline")
        config = load_settings(tmp_path, {}, {}, earlier=found).config
        assert (config.push, config.max_iterations) == (False, 20)

    @pytest.mark.parametrize(
        ("environment", "overrides", "by"),
        [
            ({"RALPH_PROFILE": "spec"}, {}, Origin.ENVIRONMENT),
            ({}, {"profile": "spec"}, Origin.GIVEN),
            ({"RALPH_PROFILE": "fixplan"}, {"profile": "spec"}, Origin.GIVEN),
        ],
    )
    def test_a_chosen_one_keeps_its_own(
        self, tmp_path: Path, environment: dict[str, str], overrides: dict[str, str], by: Origin
    ) -> None:
        put(tmp_path, "specs")
        settings = load_settings(tmp_path, environment, overrides)
        assert (settings.profile_by, settings.sign) == (by, None)
        assert (settings.config.push, settings.config.max_iterations) == (True, None)

    def test_one_in_the_settings_keeps_its_own(self, tmp_path: Path) -> None:
        put(tmp_path, ".ralph/")
        (tmp_path / ".ralph" / "config.toml").write_text('profile = "spec"\n', encoding="utf-8")
        settings = load_settings(tmp_path, {}, {})
        assert (settings.profile_by, settings.config.push) == (Origin.FILE, True)

    @pytest.mark.parametrize(
        ("environment", "overrides"),
        [
            ({}, {"push": True, "max_iterations": 40}),
            ({"RALPH_PUSH": "true", "RALPH_MAX_ITERATIONS": "40"}, {}),
        ],
    )
    def test_what_the_user_says_holds_all_the_same(
        self, tmp_path: Path, environment: dict[str, str], overrides: dict[str, object]
    ) -> None:
        put(tmp_path, "IMPLEMENTATION_PLAN.md")
        config = load_settings(tmp_path, environment, overrides).config
        assert (config.push, config.max_iterations) == (True, 40)


A, B = "specs/001-a/tasks.md", "specs/002-b/tasks.md"


def write(root: Path, path: str, text: str = "- [ ] a\n") -> None:
    put(root, path)
    (root / path).write_text(text, encoding="utf-8")


class TestPlansOfOtherTools:
    def test_one_that_is_done_but_for_a_group_of_done_parts_has_no_open_tasks(
        self, tmp_path: Path
    ) -> None:
        finished, begun = ".kiro/specs/pay/tasks.md", ".kiro/specs/ship/tasks.md"
        write(tmp_path, finished, "- [x] 1. a\n- [ ] 2. b\n  - [x] 2.1 c\n- [-] 3. d\n")
        write(tmp_path, begun, "- [x] 1. a\n- [ ] 2. b\n")
        found = {one.path: progress_of(tmp_path, one) for one in detect_plans(tmp_path)}
        assert found == {finished: (3, 3), begun: (1, 2)}
        assert load_settings(tmp_path, {}, {}).config.paths.plan == begun

    def test_they_are_found_by_their_places(self, tmp_path: Path) -> None:
        put(
            tmp_path, "openspec/changes/archive/old/tasks.md", "openspec/changes/x/tasks.md", A,
            ".kiro/specs/login/tasks.md", "specs/003/spec.md", "openspec/changes/archive/tasks.md",
        )  # fmt: skip
        assert [(one.kind.value, one.name) for one in detect_plans(tmp_path)] == [
            ("spec-kit", "001-a"),
            ("kiro", "login"),
            ("openspec", "x"),
        ]

    @pytest.mark.parametrize(
        ("path", "text", "is_plan"),
        [
            ("todo.txt", "Buy milk\n", True),
            ("todo.txt", "(A) Call the bank\n", True),
            ("todo.txt", "Notes:\nNo pricing. No fluff.\n", False),
            ("todo.txt", "- Buy milk\n", True),
            ("todo.txt", "# Shop\n\nNothing is left to do.\n", False),
            ("TODO.txt", "(A) Call the bank\n", True),
            ("Todo.txt", "Notes:\nNo pricing. No fluff.\n", False),
            ("TODO.org", "* TODO Pay\n", True),
            ("PLAN.org", "* TODO Pay\n", True),
            ("plan.org", "* Notes\n- No pricing.\n", False),
            ("tasks/tasks.json", '[{"id": 1, "title": "a", "status": "todo"}]', True),
            ("tasks/tasks.json", '{"tasks": [{"title": "a", "status": "done"', True),
            ("tasks/tasks.json", '{"tasks": [{"id": "T1", "name": "Case"}]}', False),
            ("tasks/tasks.json", '[{"id": 1, "title": "a"}]', False),
            ("tasks/tasks.json", "", False),
            (".taskmaster/tasks/tasks.json", '[{"id": 1, "title": "a"}]', True),
        ],
    )
    def test_where_other_programs_have_files_the_text_decides(
        self, tmp_path: Path, path: str, text: str, *, is_plan: bool
    ) -> None:
        write(tmp_path, path, text)
        assert [one.path for one in detect_plans(tmp_path)] == [path] * is_plan
        assert load_settings(tmp_path, {}, {}).config.paths.plan == (path if is_plan else None)
        assert is_of_tool(tmp_path, path) is is_plan
        names = {known.name.value for known in detect_formats(tmp_path)}
        assert bool(names) is is_plan
        put(tmp_path, "specs/a.md")
        assert [one.profile for one in detect_profiles(tmp_path)] == ([] if is_plan else [SPEC])

    def test_a_file_that_cannot_be_read_is_reported_by_its_reader(self, tmp_path: Path) -> None:
        put(tmp_path, "todo.txt/")
        assert [one.path for one in detect_plans(tmp_path)] == ["todo.txt"]
        assert not is_of_tool(tmp_path, "src/main.py")

    def test_the_only_one_is_worked_on_with_cautious_settings(self, tmp_path: Path) -> None:
        write(tmp_path, A)
        settings = load_settings(tmp_path, {}, {})
        config = settings.config
        assert (config.profile, config.paths.plan, config.push) == (FIXPLAN, A, False)
        assert (settings.profile_by, settings.sign) == (Origin.FOUND, A)
        require_one_profile(settings)

    def test_a_plan_of_the_profile_comes_first(self, tmp_path: Path) -> None:
        write(tmp_path, A)
        put(tmp_path, "fix_plan.md")
        assert load_settings(tmp_path, {}, {}).config.paths.plan is None
        assert load_settings(tmp_path, {}, {"profile": "spec"}).config.paths.plan is None
        assert load_settings(tmp_path, {}, {"profile": "beads"}).config.paths.plan is None

    def test_of_several_the_only_one_with_open_tasks(self, tmp_path: Path) -> None:
        write(tmp_path, A, "- [x] a\n- [-] b\n")
        write(tmp_path, B)
        assert load_settings(tmp_path, {}, {}).config.paths.plan == B

    @pytest.mark.parametrize(
        ("environment", "head", "feature", "plan"),
        [
            ({"SPECIFY_FEATURE": "001-a"}, "ref: refs/heads/002-b\n", "", A),
            ({}, "ref: refs/heads/002-b\n", "001-a", B),
            ({}, "ref: refs/heads/002-other\n", "", B),
            ({}, "ref: refs/heads/feature/001-a\n", "", A),
            ({}, "ref: refs/heads/main\n", "specs/001-a", A),
            ({}, "0" * 40, "specs/002-b/", B),
            ({}, "", "", None),
            ({"SPECIFY_FEATURE": "009-z"}, "ref: refs/heads/main\n", "", None),
        ],
    )
    def test_of_several_open_ones_the_active_feature(
        self, tmp_path: Path, environment: dict[str, str], head: str, feature: str, plan: str | None
    ) -> None:
        write(tmp_path, A)
        write(tmp_path, B)
        write(tmp_path, ".git/HEAD", head)
        write(tmp_path, ".specify/feature.json", f'{{"feature_directory": "{feature}"}}')
        settings = load_settings(tmp_path, environment, {})
        assert settings.config.paths.plan == plan
        assert [one.path for one in settings.plans] == ([A, B] if plan is None else [plan])

    def test_the_branch_of_a_linked_work_tree(self, tmp_path: Path) -> None:
        write(tmp_path, ".git", "gitdir: elsewhere\n")
        write(tmp_path, "elsewhere/HEAD", "ref: refs/heads/001-a\n")
        write(tmp_path, ".specify/feature.json", "[" * 10)
        write(tmp_path, A)
        write(tmp_path, B)
        assert load_settings(tmp_path, {}, {}).config.paths.plan == A

    def test_nobody_knows_which_of_several_is_meant(self, tmp_path: Path) -> None:
        names = [f"specs/{number:03}-x/tasks.md" for number in range(12)]
        for name in names:
            write(tmp_path, name)
        with pytest.raises(UsageError) as caught:
            require_one_profile(load_settings(tmp_path, {}, {}))
        assert caught.value.message.startswith("several plans are here: 000-x (spec-kit), 001-x (")
        assert caught.value.message.endswith(
            "and 2 more; choose one: ralph run --plan 000-x, or for every run: "
            "ralph config set paths.plan specs/000-x/tasks.md"
        )

    @pytest.mark.parametrize("name", ["002-b", B, "specs/002-b", "./specs/002-b/"])
    def test_one_is_named_by_its_feature_or_its_path(self, tmp_path: Path, name: str) -> None:
        write(tmp_path, A)
        write(tmp_path, B)
        settings = load_settings(tmp_path, {}, {"paths.plan": name})
        assert settings.config.paths.plan == B
        require_one_profile(settings)
        assert load_settings(tmp_path, {}, {"paths.plan": "z"}).config.paths.plan == "z"

    def test_a_run_that_continues_keeps_its_plan(self, tmp_path: Path) -> None:
        write(tmp_path, A, "- [x] a\n")
        write(tmp_path, B)
        earlier = PreviousChoice(
            profile=FIXPLAN, profile_by=Origin.FOUND, sign=A, agent="codex", plan=A
        )
        assert load_settings(tmp_path, {}, {}, earlier=earlier).config.paths.plan == A

    def test_a_plan_that_cannot_be_read_is_not_open(self, tmp_path: Path) -> None:
        put(tmp_path, f"{A}/")
        write(tmp_path, B)
        assert load_settings(tmp_path, {}, {}).config.paths.plan == B

    def test_a_json_file_that_is_named_is_one_of_stories(self, tmp_path: Path) -> None:
        settings = load_settings(tmp_path, {}, {"paths.plan": "work.json"})
        assert settings.config.profile is ProfileName.STORIES
