"""Names of sections, labels, columns and placeholders: each kind is known in every language."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from ralph_ls.core.plan.parse.headings import (
    HeadingClass,
    HeadingSection,
    SectionKind,
    is_legend,
    names_criteria,
    open_document,
    open_section,
)
from ralph_ls.core.plan.parse.items import CRITERIA_FIELD, describes_task, field_label, read_field
from ralph_ls.core.plan.parse.table_rows import read_columns
from ralph_ls.core.plan.parse.titles import is_placeholder
from ralph_ls.core.plan.parse.words.section_words import WORK
from ralph_ls.core.plan.parse.words.state_tables import STATE_WORDS
from ralph_ls.protocol.task_words import Priority

_LANGUAGES = (
    "English", "Chinese", "Japanese", "Korean", "German", "French", "Spanish", "Portuguese",
    "Russian", "Polish", "Dutch", "Italian", "Indonesian", "Turkish", "Vietnamese", "Ukrainian",
)  # fmt: skip
"""The languages of the columns below."""


def _section(title: str) -> HeadingSection:
    optional = ("Optional", "Future", "Later")
    return open_section(title, 2, parent=open_document(), optional_sections=optional)


def _is_of(kind: SectionKind) -> Callable[[str], bool]:
    return lambda title: _section(title).kind is kind


def _is_column(head: str, attribute: str) -> bool:
    columns = read_columns(f"| {head} | x |", "|---|---|")
    return columns is not None and getattr(columns, attribute) == 0


def _field(text: str) -> str:
    found = read_field(f"**{text}**: x")
    return "" if found is None else found.name


_KINDS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "tasks": (
        _is_of(SectionKind.TASKS),
        (
            "Tasks|任务|タスク|작업|Aufgaben|Tâches|Tareas|Tarefas|Задачи|Zadania|Taken|Attività|Tugas"
            "|Görevler|Nhiệm vụ|Завдання"
        ),
    ),
    "to do": (
        _is_of(SectionKind.TASKS),
        (
            "To do|待办|やること|할 일|Zu erledigen|À faire|Por hacer|A fazer|К выполнению|Do zrobienia"  # noqa: E501, RUF001
            "|Te doen|Da fare|Belum selesai|Yapılacaklar|Cần làm|До виконання"  # noqa: RUF001
        ),
    ),
    "next steps": (
        _is_of(SectionKind.TASKS),
        (
            "Next steps|下一步|次のステップ|다음 단계|Nächste Schritte|Prochaines étapes|Próximos pasos"  # noqa: E501
            "|Próximos passos|Следующие шаги|Następne kroki|Volgende stappen|Prossimi passi"
            "|Langkah selanjutnya|Sonraki adımlar|Các bước tiếp theo|Наступні кроки"  # noqa: RUF001
        ),
    ),
    "in progress": (
        lambda title: _section(title).is_begun,
        (
            "In progress|进行中|進行中|진행 중|In Arbeit|En cours|En progreso|Em andamento|В работе"  # noqa: RUF001
            "|W trakcie|In uitvoering|In corso|Sedang dikerjakan|Devam edenler|Đang làm|В роботі"  # noqa: RUF001
        ),
    ),
    "done": (
        _is_of(SectionKind.DONE),
        (
            "Done|已完成|完了|완료|Erledigt|Terminé|Hecho|Concluído|Выполнено|Zrobione|Gedaan|Fatto"
            "|Selesai|Tamamlandı|Đã xong|Виконано"  # noqa: RUF001
        ),
    ),
    "notes": (
        _is_of(SectionKind.NOTES),
        (
            "Notes|备注|メモ|메모|Notizen|Remarques|Notas|Anotações|Заметки|Notatki|Notities|Appunti"
            "|Catatan|Notlar|Ghi chú|Нотатки"
        ),
    ),
    "legend": (
        lambda title: is_legend(_section(title)),
        (
            "Legend|图例|凡例|범례|Legende|Légende|Leyenda|Legenda|Легенда|Legenda|Legenda|Legenda"
            "|Keterangan|Açıklama|Chú giải|Умовні позначення"  # noqa: RUF001
        ),
    ),
    "prose": (
        _is_of(SectionKind.PROSE),
        (
            "Overview|概述|概要|개요|Übersicht|Aperçu|Resumen|Visão geral|Обзор|Przegląd|Overzicht"
            "|Panoramica|Ikhtisar|Genel bakış|Tổng quan|Огляд"  # noqa: RUF001
        ),
    ),
    "risks": (
        _is_of(SectionKind.PROSE),
        (
            "Risks|风险|リスク|위험|Risiken|Risques|Riesgos|Riscos|Риски|Ryzyka|Risico's|Rischi|Risiko"
            "|Riskler|Rủi ro|Ризики"
        ),
    ),
    "goals": (
        _is_of(SectionKind.PROSE),
        (
            "Goals|目标|目的|목표|Ziele|Objectifs|Objetivos|Metas|Цели|Cele|Doelen|Obiettivi|Tujuan"
            "|Hedefler|Mục tiêu|Цілі"
        ),
    ),
    "rules": (
        _is_of(SectionKind.PROSE),
        (
            "Rules|规则|ルール|규칙|Regeln|Règles|Reglas|Regras|Правила|Zasady|Afspraken|Regole|Aturan"
            "|Kurallar|Quy tắc|Конвенції"
        ),
    ),
    "criteria": (
        lambda title: _section(title).has_criteria,
        (
            "Acceptance criteria|验收标准|受け入れ基準|완료 기준|Akzeptanzkriterien"
            "|Critères d'acceptation|Criterios de aceptación|Critérios de aceitação|Критерии приёмки"  # noqa: E501
            "|Kryteria akceptacji|Acceptatiecriteria|Criteri di accettazione|Kriteria penerimaan"
            "|Kabul kriterleri|Tiêu chí chấp nhận|Критерії приймання"
        ),
    ),
    "blocked": (
        lambda title: _section(title).is_waiting,
        (
            "Blocked|已阻塞|ブロック中|차단됨|Blockiert|Bloqué|Bloqueado|Bloqueada|Заблокировано"
            "|Zablokowane|Geblokkeerd|Bloccato|Diblokir|Engellendi|Bị chặn|Заблоковано"
        ),
    ),
    "check list": (
        lambda title: _section(title).has_criteria,
        (
            "Test checklist|测试清单|テスト項目|테스트 체크리스트|Testcheckliste|Liste de tests"
            "|Lista de pruebas|Lista de testes|Чек-лист тестирования|Lista testów|Testchecklijst"
            "|Lista di test|Daftar uji|Test listesi|Danh sách kiểm thử|Чек-лист тестування"
        ),
    ),
    "checks": (
        names_criteria,
        (
            "Verification|验证|検証|검증|Prüfung|Vérification|Verificación|Verificação|Проверка"
            "|Weryfikacja|Verificatie|Verifica|Verifikasi|Doğrulama|Kiểm tra|Перевірка"
        ),
    ),
    "criteria label": (
        lambda label: _field(label) == CRITERIA_FIELD,
        (
            "Acceptance criteria|验收标准|受け入れ基準|완료 기준|Akzeptanzkriterien"
            "|Critères d'acceptation|Criterios de aceptación|Critérios de aceitação|Критерии приёмки"  # noqa: E501
            "|Kryteria akceptacji|Acceptatiecriteria|Criteri di accettazione|Kriteria penerimaan"
            "|Kabul kriterleri|Tiêu chí chấp nhận|Критерії приймання"
        ),
    ),
    "status label": (
        lambda label: _field(label) == "status",
        (
            "Status|状态|状態|상태|Status|Statut|Estado|Situação|Статус|Stan|Toestand|Stato|Status"
            "|Durum|Trạng thái|Стан"
        ),
    ),
    "task column": (
        lambda head: _is_column(head, "title"),
        (
            "Task|任务|タスク|작업|Aufgabe|Tâche|Tarea|Tarefa|Задача|Zadanie|Taak|Attività|Tugas|Görev"
            "|Nhiệm vụ|Завдання"
        ),
    ),
    "part column": (
        lambda head: _is_column(head, "part"),
        (
            "Phase|阶段|フェーズ|단계|Meilenstein|Étape|Fase|Etapa|Этап|Etap|Fase|Fase|Tahap|Aşama"
            "|Giai đoạn|Етап"
        ),
    ),
    "state column": (
        lambda head: _is_column(head, "state"),
        (
            "Status|状态|状態|상태|Zustand|Statut|Estado|Situação|Статус|Stan|Toestand|Stato|Keadaan"
            "|Durum|Trạng thái|Стан"
        ),
    ),
    "priority column": (
        lambda head: _is_column(head, "priority"),
        (
            "Priority|优先级|優先度|우선순위|Priorität|Priorité|Prioridad|Prioridade|Приоритет|Priorytet"
            "|Prioriteit|Priorità|Prioritas|Öncelik|Ưu tiên|Пріоритет"
        ),
    ),
    "high": (
        lambda title: _section(title).priority is Priority.P0,
        (
            "High priority|高优先级|優先度高|높은 우선순위|Hohe Priorität|Haute priorité|Alta prioridad"  # noqa: E501
            "|Alta prioridade|Высокий приоритет|Wysoki priorytet|Hoge prioriteit|Alta priorità"
            "|Prioritas tinggi|Yüksek öncelik|Ưu tiên cao|Високий пріоритет"
        ),
    ),
    "medium": (
        lambda title: _section(title).priority is Priority.P1,
        (
            "Medium priority|中优先级|優先度中|중간 우선순위|Mittlere Priorität|Priorité moyenne"
            "|Prioridad media|Prioridade média|Средний приоритет|Średni priorytet|Gemiddelde prioriteit"  # noqa: E501
            "|Media priorità|Prioritas sedang|Orta öncelik|Ưu tiên trung bình|Середній пріоритет"
        ),
    ),
    "low": (
        lambda title: _section(title).priority is Priority.P2,
        (
            "Low priority|低优先级|優先度低|낮은 우선순위|Niedrige Priorität|Basse priorité"
            "|Baja prioridad|Baixa prioridade|Низкий приоритет|Niski priorytet|Lage prioriteit"
            "|Bassa priorità|Prioritas rendah|Düşük öncelik|Ưu tiên thấp|Низький пріоритет"
        ),
    ),
    "step": (
        lambda title: _section(f"{title}: x").name is HeadingClass.STEP,
        (
            "Phase 1|阶段1|フェーズ1|1단계|Schritt 1|Étape 1|Paso 1|Passo 1|Этап 1|Etap 1|Stap 1|Fase 1"  # noqa: E501
            "|Tahap 1|Aşama 1|Bước 1|Етап 1"
        ),
    ),
    "task name": (
        lambda title: _section(f"{title}: x").name is HeadingClass.TASK,
        (
            "Task 1|任务1|タスク1|작업 1|Aufgabe 1|Tâche 1|Tarea 1|Tarefa 1|Задача 1|Zadanie 1|Taak 1"  # noqa: E501
            "|Attività 1|Tugas 1|Görev 1|Nhiệm vụ 1|Завдання 1"
        ),
    ),
    "steps": (
        lambda title: _section(title).lists_steps,
        (
            "Implementation plan|实施计划|実装計画|구현 계획|Umsetzungsplan|Plan d'action"
            "|Plan de implementación|Plano de implementação|План реализации|Plan wdrożenia"
            "|Implementatieplan|Piano di implementazione|Rencana implementasi|Uygulama planı"  # noqa: RUF001
            "|Kế hoạch triển khai|План реалізації"
        ),
    ),
    "order": (
        lambda title: _section(title).is_order,
        (
            "Implementation order|实施顺序|実装順序|구현 순서|Umsetzungsreihenfolge|Ordre d'exécution"  # noqa: E501
            "|Orden de ejecución|Ordem de execução|Порядок выполнения|Kolejność prac|Werkvolgorde"
            "|Ordine di esecuzione|Urutan pengerjaan|Uygulama sırası|Thứ tự thực hiện|Порядок виконання"  # noqa: E501, RUF001
        ),
    ),
    "optional": (
        lambda title: _section(title).optional,
        (
            "Optional|可选|任意|선택|Wahlfrei|Optionnel|Opcional|Opcional|Опционально|Opcjonalne"
            "|Optioneel|Opzionale|Opsional|İsteğe bağlı|Tùy chọn|Необов'язково"  # noqa: RUF001
        ),
    ),
    "future": (
        lambda title: _section(title).optional,
        (
            "Future|未来|将来|향후|Zukunft|Futur|Futuro|Futuro|В будущем|Na przyszłość|Toekomst|Futuro"  # noqa: E501, RUF001
            "|Masa depan|Gelecek|Tương lai|На майбутнє"  # noqa: RUF001
        ),
    ),
    "later": (
        lambda title: _section(title).optional,
        (
            "Later|以后|後で|나중에|Später|Plus tard|Más tarde|Mais tarde|Позже|Później|Later"
            "|Più tardi|Nanti|Sonra|Sau này|Пізніше"
        ),
    ),
    "out of scope": (
        lambda title: _section(title).optional,
        (
            "Out of scope|范围外|対象外|범위 외|Außerhalb des Umfangs|Hors périmètre|Fuera de alcance"  # noqa: E501
            "|Fora do escopo|Вне рамок|Poza zakresem|Buiten scope|Fuori ambito|Di luar lingkup"
            "|Kapsam dışı|Ngoài phạm vi|Поза межами"  # noqa: RUF001
        ),
    ),
    "work": (
        lambda title: WORK.search(title) is not None,
        (
            "remaining work|剩余工作|残作業|남은 작업|restliche Aufgaben|tâches restantes"
            "|tareas restantes|tarefas restantes|осталось сделать|pozostałe zadania|resterende taken"  # noqa: E501
            "|attività rimanenti|tugas tersisa|kalan görevler|việc còn lại|залишилось зробити"
        ),
    ),
    "file": (
        lambda label: field_label(f"**{label}**: x") is not None,
        (
            "File|文件|ファイル|파일|Datei|Fichier|Archivo|Arquivo|Файл|Plik|Bestand|Problema"
            "|Berkas|Dosya|Tệp|Файли"
        ),
    ),
    "priority label": (
        lambda label: describes_task(f"**{label}**: x"),
        (
            "Priority|优先级|優先度|우선순위|Priorität|Priorité|Prioridad|Prioridade|Приоритет|Priorytet"
            "|Prioriteit|Priorità|Prioritas|Öncelik|Ưu tiên|Пріоритет"
        ),
    ),
    "placeholder": (
        is_placeholder,
        (
            "None yet|暂无|なし|없음|Keine|Aucune|Ninguna|Nenhuma|Нет|Brak|Geen|Nessuna|Tidak ada"
            "|Yok|Không có|Немає"
        ),
    ),
}


def _in_capitals(name: str) -> str:
    """The name in capitals, where these have the same small letters: not with a Turkish i."""
    return name.upper() if name.upper().lower() == name.lower() else name


def test_the_languages_are_those_with_words_for_states() -> None:
    assert sorted(_LANGUAGES) == sorted(STATE_WORDS)
    assert {len(names.split("|")) for _, names in _KINDS.values()} == {len(_LANGUAGES)}


@pytest.mark.parametrize("kind", _KINDS)
def test_each_language_has_names_of_each_kind(kind: str) -> None:
    is_known, names = _KINDS[kind]
    unknown = [
        (language, name)
        for language, name in zip(_LANGUAGES, names.split("|"), strict=True)
        if not (is_known(name) and is_known(_in_capitals(name)))
    ]
    assert unknown == []
