"""Lists that repeat tasks in an order, and check lists of tests, beside the tasks themselves."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.model import GuessCause
from ralph_ls.core.plan.parse.markdown import parse_markdown
from tests.unit.core.plan.plan_assertions import shown

ORDER = ("### Phase 1: Roof (HIGH PRIORITY)", "1. Beam", "2. Tiles")


@pytest.mark.parametrize(
    "title",
    [
        "Recommended Implementation Order",
        "Order of work",
        "推荐实施顺序",
        "推奨作業順序",
        "구현 순서",
        "Empfohlene Reihenfolge",
        "Orden de implementación",
        "Рекомендуемый порядок реализации",
        "Zalecana kolejność prac",
    ],
)
def test_an_order_of_tasks_with_boxes_is_no_task(title: str) -> None:
    lines = ("# House", "## Roof", "- [ ] Saw the beam", f"## {title}", *ORDER)
    assert shown(*lines) == ["todo Saw the beam"]
    found = {one.cause: one.lines for one in parse_markdown("\n".join(lines)).guesses}
    assert found == {GuessCause.UNREAD_LINES: (5, 6)}


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("## Implementation Order", *ORDER), id="without-boxes"),
        pytest.param(("- [ ] Saw", "## Purchase Order", *ORDER), id="another-order"),
        pytest.param(("- [ ] Saw", "## Parts", *ORDER), id="no-order"),
    ],
)
def test_other_lists_below_a_priority_are_tasks(lines: tuple[str, ...]) -> None:
    assert shown("# House", *lines)[-2:] == ["todo Beam", "todo Tiles"]


@pytest.mark.parametrize(
    "title",
    [
        "테스트 점검 목록",
        "확인 목록",
        "測試檢查清單",
        "テストチェックリスト",
        "Testcheckliste",
        "Checklist de tests",
        "Lista de pruebas",
        "Чек-лист тестирования",
        "Lista testów",
        "Test kontrol listesi",
    ],
)
def test_a_check_list_of_tests_leaves_the_headings_the_tasks(title: str) -> None:
    lines = ("## Phase 1: Repair", "### 1.1 Editors", "### 1.2 Leaks", f"## {title}", "- [ ] undo")
    assert shown(*lines)[:2] == ["todo 1.1 Editors", "todo 1.2 Leaks"]
