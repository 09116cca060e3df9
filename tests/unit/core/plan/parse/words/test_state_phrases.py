"""What people write for a state, in ``Status:`` lines, columns and remarks, in all languages."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.edit.task_edits import tick_task, untick_task
from ralph_ls.core.plan.parse.words.state_words import is_done_word
from ralph_ls.core.plan.parse.words.status_values import read_status
from ralph_ls.core.plan.parse.words.title_states import closing_remark, opening_remark
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.plan_assertions import plan_of, shown

_PHRASES = {
    TaskState.DONE: (
        "Done", "done.", "DONE: commit abc123", "Done ✓ (PR #4)", "✅ Done", "All done",
        "implemented in v0.2.4", "done v0.2.4, as of 2026-08-31", "Completed (2026-01-31)",
        "completed on 2026-01-31 by X", "completed by Anna Meier", "done by @anna on 3 May 2026",
        "Done on May 3, 2026", "shipped in 1.4", "Released v2.0.0-rc.1", "merged #12",
        "merged (PR 4)",
        "landed in 1a2b3c4d", "Fixed in 0.3", "delivered 2026-02-01",
        "realised", "Realized in Q3 2026",
        "resolved", "closed", "deployed to production", "Live",
        "live since 2026-03", "in production",
        "fully implemented", "already done", "successfully completed", "done, merged in #4",
        "Complete (5/5)", "complete 5 of 5 tasks", "done 100%", "100% complete", "100 %",
        "done in phase 2", "done in commit 9f8e7d6", "Done https://example.org/pull/4",
        "Implemented \u2014 see ADR-12", "**Done**", "`done`", "done today", "passed",
        "realisiert v0.2.4, Stand 31.08.2026", "Erledigt am 31.08.2026", "bereits umgesetzt",
        "fertig seit v1.2", "ausgeliefert", "veröffentlicht", "erledigt von Anna",
        "réalisé", "terminé le 3 mai 2026", "déjà fait", "déployé", "corrigé en v2.1", "livré",
        "hecho", "completado el 3 de mayo de 2026", "entregado", "desplegado", "ya implementado",
        "concluído em 2026-01-31", "já feito", "lançado", "resolvido",
        "已完成 2026-01-31", "已发布 v0.2", "已合并 #12", "已交付", "完成度100%",
        "完了", "実装済み 2026-01-31", "リリース済み", "완료 (2026-01-31)", "배포됨", "수정됨",
        "выполнено 31.01.2026", "внедрено в v0.2", "уже сделано", "исправлено", "опубликовано",
        "zrobione 2026-01-31", "już gotowe", "wdrożono w v0.2", "gerealiseerd", "opgeleverd",
        "al gedaan", "rilasciato in v2.1", "già fatto", "terminato",
        "selesai 2026-01-31", "rampung",
        "tamam", "yayınlandı", "hoàn tất", "đã phát hành v1.2", "Готово", "виконано 31.01.2026",  # noqa: RUF001
        "Реалізовано (03.05.2026)", "вже зроблено", "впроваджено",
    ),
    TaskState.IN_PROGRESS: (
        "almost done", "nearly complete", "partially done", "partly done", "WIP", "wip (PR #4)",
        "ongoing", "started 2026-01-31", "in progress since v0.2", "In Progress (80%)", "80% done",
        "80 %", "75%+", "done 80%", "done except docs", "done, partially", "Complete, but not tested",  # noqa: E501
        "done?", "complete (pending review)", "half done", "being implemented", "in testing",
        "⚠️", "🏗️", "▶️", "fast fertig", "in Umsetzung",
        "teilweise erledigt", "erledigt außer Tests",
        "presque terminé", "démarré", "fait sauf la doc", "casi listo", "parcialmente hecho",
        "en revisión", "quase pronto", "基本完成", "部分完成", "完成一半", "测试中", "ほぼ完了",
        "一部完了", "거의 완료", "부분 완료", "진행", "почти готово", "готово частично", "на проверке",  # noqa: E501
        "prawie gotowe", "częściowo", "bijna klaar", "deels", "quasi pronto", "in sviluppo",
        "hampir selesai", "sedang dikerjakan", "neredeyse bitti", "kısmen", "gần xong",  # noqa: RUF001
        "hoàn thành một phần", "В процесі", "в роботі", "майже готово", "частково виконано",  # noqa: RUF001
    ),
    TaskState.TODO: (
        "not done", "to be done", "done when tests pass", "done by Friday", "done by 2026-08-31",
        "done by the end of May", "done once merged", "done if green", "complete in 2 weeks",
        "completed by tomorrow", "Finished next week", "not yet started", "Not begun", "TBD",
        "planned", "planned for v2.0", "queued", "ready", "backlog", "next", "⏭️ NEXT (Phase 10)",
        "⏭️", "⏸️", "⏸️ Pending", "🔜", "🔜 Next", "📋", "📋 Planned", "🆕", "❓", "💤", "✗", "0%", "0% complete", "50% planned",  # noqa: E501
        "scheduled", "isn't done", "hasn't started", "unfinished", "reopened", "new", "later",
        "nicht begonnen", "noch offen", "fertig bis Freitag",
        "erledigt, sobald gemerged", "geplant",
        "pas encore fait", "terminé quand testé", "prêt", "aún no", "listo para revisar",
        "ainda não", "pronto para testar", "未测试", "待测试", "完成后", "尚未开始", "计划",
        "完了していない", "完了待ち", "これから", "완료 예정", "미진행", "ещё не начато",
        "готово к работе", "готово, когда смержим", "jeszcze nie", "gotowe do pracy", "w kolejce",
        "klaar voor review", "nog te doen", "non ancora", "da fare entro venerdì",
        "belum selesai", "selesai jika diuji", "henüz başlamadı", "bitmedi", "chưa xong",  # noqa: RUF001
        "hoàn thành khi kiểm tra xong", "Не розпочато", "ще не готово", "заплановано",  # noqa: RUF001
        "готово, якщо перевірять",
    ),
    TaskState.BLOCKED: (
        "blocked", "On hold", "paused", "stalled", "🚫", "🔒", "⏸️ on hold", "waiting for a key",
        "blockiert", "en pause", "bloqueado", "parado", "阻塞", "保留中", "보류", "приостановлено",
        "wstrzymane", "geblokkeerd", "in pausa", "menunggu", "durduruldu", "bị chặn", "заблоковано",
    ),
    TaskState.SKIPPED: (
        "won't do", "will not do", "cancelled", "obsolete", "dropped", "no longer needed",
        "not applicable", "not planned", "skip", "⏭️ Skipped", "⏭ SKIP", "⏸ deferred",
        "out of scope", "postponed to v2", "gestrichen", "nicht mehr nötig",
        "abandonné", "obsoleto",
        "ya no es necesario", "não será feito", "已废弃", "不要", "폐기", "не нужно", "nieaktualne",
        "geschrapt", "non necessario", "tidak perlu", "iptal edildi",
        "İptal", "không cần", "скасовано",
        "відкладено",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "state"), [(text, state) for state, texts in _PHRASES.items() for text in texts]
)
def test_phrases_for_states(text: str, state: TaskState) -> None:
    assert read_status(text) is state


def test_there_are_many() -> None:
    assert sum(len(set(texts)) for texts in _PHRASES.values()) >= 300


@pytest.mark.parametrize(
    "text", ["to be decided by Donna", "Donetsk", "see #4", "3 tests", "2026-01-31", "simmering"]
)
def test_other_words_are_not_done(text: str) -> None:
    assert read_status(text) is not TaskState.DONE


@pytest.mark.parametrize(
    ("title", "state"),
    [
        ("Plan (implemented in v0.2.4)", TaskState.DONE),
        ("Plan (done v0.2.4, as of 2026-08-31)", TaskState.DONE),
        ("Plan (realisiert v0.2.4, Stand 31.08.2026)", TaskState.DONE),
        ("Plan — completed on 2026-01-31 by X", TaskState.DONE),
        ("Plan — DONE: commit abc123", TaskState.DONE),
        ("Plan — Done ✓ (PR #4)", TaskState.DONE),
        ("Plan ✓ (PR #4)", TaskState.DONE),
        ("Plan (FIXED)", TaskState.DONE),
        ("Plan (Fixed in 1.2)", TaskState.DONE),
        ("Plan (fixed)", None),
        ("Plan ✓ (see below)", None),
        ("Plan (done when tests pass)", None),
        ("Plan (done by Friday)", None),
        ("Plan (almost done)", TaskState.IN_PROGRESS),
        ("Plan (to be done)", TaskState.TODO),
        ("Plan: complete phase 2", None),
        ("Plan: complete PR #4", None),
        ("Plan (live)", None),
        ("Plan (Active/Ready/Completed)", None),
        ("Plan (not started / in progress / completed)", None),
        ("Plan (done / merged)", TaskState.DONE),
        ("Plan (in-progress, started)", TaskState.IN_PROGRESS),
        ("Plan — ✅ DONE. Created `a.ts`.", TaskState.DONE),
        ("Plan — ✅ open orders are listed", None),
        ("Remove the old page (obsolete)", None),
        ("Plan (obsolete)", TaskState.SKIPPED),
        ("Plan (no longer needed)", None),
        ("Plan: TBD", None),
        ("Plan — blocked by parser", None),
        ("Plan — completed orders 2026", None),
        (f"Plan ({'done, ' * 30}done)", None),
    ],
)
def test_remarks_with_a_tail(title: str, state: TaskState | None) -> None:
    found = closing_remark(title)
    assert (None if found is None else found.state) is state


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("Done (PR #4): parse", TaskState.DONE),
        ("Complete phase 1: parse", None),
        ("Next: parse", None),
        ("完成 Phase 1: parse", None),
        ("`paused`: you paused it", None),
        ("Fixed: parse", TaskState.DONE),
        ("fixed: parse", None),
        ("[done: parse", None),
        ("Done by Friday: parse", None),
    ],
)
def test_remarks_in_front(text: str, state: TaskState | None) -> None:
    found = opening_remark(text)
    assert (None if found is None else found[0]) is state


def test_a_sign_with_two_meanings_leaves_work_unless_words_decide() -> None:
    lines = (
        "# Plan", "- ✅ a", "- ✅ b", "- ✅ c", "- ✅ d", "- ⏭️ Next: replace the bus",
        "- ⏭️ Docs", "- ⏭️ Tiles - Skipped (backend only)", "- ⏭️ **Skipped: Roof**",
        "- ⏸️ Saw", "- 🔜 Nails", "- 🔜 Doors (deferred)",
    )  # fmt: skip
    assert shown(*lines)[4:] == [
        "todo Next: replace the bus", "todo Docs", "skipped Tiles - Skipped (backend only)",
        "skipped Roof", "todo Saw", "todo Nails", "todo Doors (deferred)",
    ]  # fmt: skip


def test_a_plan_that_is_realised_is_done() -> None:
    lines = ("# Tool — Plan (realisiert v0.2.4, Stand 31.08.2026)", "### Step 1 — a", "1. b")
    assert shown(*lines) == ["done b"]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Phase 2 — Roof ⏸️", "todo Phase 2 — Roof"),
        ("Phase 2 — maybe ⏸", "todo Phase 2 — maybe"),
        ("⏸️ Phase 2: Roof", "todo Phase 2: Roof"),
        ("⏭️ Skipped: Phase 2 - Roof", "skipped Phase 2 - Roof"),
        ("⏸️ Phase 2: Roof (deferred)", "skipped Phase 2: Roof (deferred)"),
    ],
)
def test_a_heading_with_such_a_sign_is_open_unless_words_decide(title: str, expected: str) -> None:
    assert expected in shown("# Plan", "## Phase 1 — Floor ✅", f"## {title}")


def test_long_texts_are_no_words() -> None:
    assert is_done_word("done, done, #4")
    assert not is_done_word("done, " * 7 + "done")
    assert not is_done_word("done, " * 40)


@pytest.mark.parametrize(
    ("before", "after"), [("📋", "✅"), ("📋 Planned", "✅ Done"), ("⏸️", "✅")]
)
def test_such_a_sign_is_replaced_when_the_task_is_ticked(before: str, after: str) -> None:
    text = f"| Task | Status |\n|---|---|\n| a | {before} |\n| b | done |"
    task = plan_of(text).tasks[0]
    assert tick_task(text, task.id) == text.replace(before, after)


@pytest.mark.parametrize(
    "line",
    [
        "- a (implemented in v0.2.4)", "- a \u2014 completed on 2026-01-31 by X",
        "- a \u2014 DONE: commit abc123", "- a ✓ (PR #4)", "- Done (PR #4): a",
        "- a \u2014 ✅ DONE. Created it",
    ],
)  # fmt: skip
def test_a_state_with_a_tail_is_opened_again_as_a_whole(line: str) -> None:
    text = f"# Plan\n{line}\n- b (done)\n- c ✅\n"
    task = plan_of(text).tasks[0]
    assert (task.title, task.state) == ("a", TaskState.DONE)
    assert untick_task(text, task.id) == "# Plan\n- a\n- b (done)\n- c ✅\n"
