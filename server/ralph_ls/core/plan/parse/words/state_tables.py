"""State tables: the words and signs of states in sixteen languages, and what may be behind them.

Data and patterns only; ``state_words`` reads texts with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ralph_ls.core.plan.parse.words.chinese import in_traditional
from ralph_ls.protocol.task_words import TaskState

_DONE, _BEGUN, _TODO = TaskState.DONE, TaskState.IN_PROGRESS, TaskState.TODO
_BLOCKED, _SKIPPED = TaskState.BLOCKED, TaskState.SKIPPED

STATE_WORDS: Mapping[str, Mapping[TaskState, str]] = {
    "English": {
        _DONE: "complete|completed|done|finished|implemented|closed|merged|shipped|resolved"
        "|deployed|released|yes|realised|realized|accomplished|concluded|fixed|landed|delivered"
        "|published|ok|okay",
        _BEGUN: "in progress|active|underway|wip|started|mostly|almost|nearly|ongoing|partial"
        "|partially|doing|in development|in review|under review|begun|being done"
        "|being implemented|being worked on|in the works|work in progress|working on|half done"
        "|half finished|halfway|partly|in testing|in qa|in flight|reviewing",
        _TODO: "todo|to do|not|open|pending|planned|ready|incomplete|backlog|no|upcoming|next"
        "|to be|not yet|unstarted|on deck|unfinished|undone"
        "|unresolved|isnt|hasnt|arent|yet to be|reopened",
        _BLOCKED: "blocked|on hold|waiting|paused|stalled|stuck|on pause",
        _SKIPPED: "skipped|deferred|cancelled|canceled|obsolete|wont do|superseded|reverted"
        "|abandoned"
        "|dropped|rejected|duplicate|wont fix|wontfix|not planned|postponed|parked|wont be done"
        "|will not be done|will not do|will not fix"
        "|not applicable|not doing|descoped|de scoped"
        "|out of scope|outside this change|outside of this change|outside the scope",
    },
    "Chinese": {
        _DONE: "已完成|完成|已实现|已修复|已解决|已上线|已实施|已關閉|已关闭|全部完成|已實現|已修復|已解決|已上線|已實施|已发布|已合并|已交付|已部署|已落地"  # noqa: E501
        "|已满足|已达成|已完结|已验收|已發佈|已合併|做完了|已做完|搞定"
        "|本次完成|本次已完成|本轮完成|本轮已完成|本阶段完成|本阶段已完成",
        _BEGUN: "进行中|開發中|开发中|处理中|部分完成|实施中|正在进行|已开始|实现中|測試中|测试中|已启动|推进中|评审中|基本完成|接近完成|大部分完成|進行中|實作中"  # noqa: E501
        "|完成一半|完成一部分|完成部分|部分实现|已部分完成",
        _TODO: "未开始|未完成|待办|待开始|待处理|待开发|待实现|待完成|计划中|规划中|未实现|待定|未開始|待辦|待開始|待處理|待開發|待實現|計劃中|規劃中|未實現|未"  # noqa: E501
        "|待|尚未|还没|还未|排队中|就绪|下一步|即将开始|完成后|完成前|完成时|完成之后|完成之前|没有|不完整",
        _BLOCKED: "已阻塞|阻塞|受阻|已暂停|暂停|搁置|卡住|等待",
        _SKIPPED: "已取消|取消|已跳过|跳过|已放弃|推迟|延期|暂缓|不做|已废弃|废弃|作废|已作废|已推迟|已延期|已放棄|已跳過|跳過|已搁置",  # noqa: E501
    },
    "Japanese": {
        _DONE: "完了|完了済み|済み|済|実装済み|対応済み|解決済み|リリース済み|マージ済み|デプロイ済み|修正済み|公開済み|納品済み|完成",  # noqa: E501
        _BEGUN: "進行中|作業中|対応中|着手中|実装中|一部完了|着手済み|開始済み|開発中|レビュー中|テスト中|ほぼ完了|部分完了|部分的に完了|途中|仕掛中|作成中|実施中",  # noqa: E501
        _TODO: "未着手|未完了|未対応|未実装|予定|完了予定|実装予定|未定|計画中|未|これから|待ち|準備完了|対応予定|リリース予定|終了予定|着手予定|検討中|要対応"  # noqa: E501
        "|完了していない|完了してない|完了待ち|完了前|完了したら|完了次第|完了後|完了見込み|完了時|まだ",
        _BLOCKED: "ブロック中|ブロック|保留中|保留|停止中|中断|待機中",
        _SKIPPED: "中止|スキップ|見送り|延期|キャンセル|対象外|廃止|取りやめ|やらない",
    },
    "Korean": {
        _DONE: "완료|완료됨|완료함|구현 완료|구현완료|해결|해결됨|배포됨|배포 완료|출시됨|병합됨|머지됨|수정됨|수정 완료|구현됨|릴리스됨|해결 완료"  # noqa: E501
        "|작업 완료|개발 완료",
        _BEGUN: "진행 중|진행중|작업 중|작업중|개발 중|개발중|일부 완료|구현 중|구현중|시작됨|부분 완료|부분완료|거의 완료|대부분 완료|검토 중|검토중"  # noqa: E501
        "|테스트 중|테스트중",
        _TODO: "대기|대기 중|대기중|예정|미완료|미착수|미구현|시작 전|시작전|할 일|계획|시작 안 함|시작 안함|미시작|미진행|진행 예정|계획됨|준비됨|대기열"  # noqa: E501
        "|백로그|예정됨|미정|배포 예정|출시 예정|완료 예정|완료예정|완료 전|완료 후|완료 시|완료되지 않음|완료 안 됨|아직",  # noqa: E501
        _BLOCKED: "차단됨|차단|보류|막힘|중단|중단됨|일시 중지|일시중지",
        _SKIPPED: "취소됨|취소|건너뜀|연기|제외|폐기|폐기됨|하지 않음|안 함",
    },
    "German": {
        _DONE: "erledigt|fertig|abgeschlossen|umgesetzt|fertiggestellt|behoben|implementiert|ja"
        "|realisiert|ausgeliefert|geliefert|veröffentlicht|gelöst|geschlossen|vollendet"
        "|ausgerollt|gemergt|gemerged|erfüllt",
        _BEGUN: "in arbeit|in bearbeitung|begonnen|angefangen|laufend|läuft|teilweise|in umsetzung"
        "|in entwicklung|in prüfung|gestartet|teils|fast fertig|fast erledigt"
        "|fast abgeschlossen|beinahe fertig|halb fertig|im gange|wird umgesetzt|wird bearbeitet",
        _TODO: "offen|geplant|ausstehend|nicht|noch nicht|zu tun|unerledigt|nein|noch offen"
        "|noch zu tun|zu erledigen|bereit|vorgesehen|eingeplant|als nächstes|nächstes|anstehend"
        "|steht aus|noch zu erledigen",
        _BLOCKED: "blockiert|wartet|pausiert|angehalten|gestoppt|gesperrt|zurückgehalten",
        _SKIPPED: "übersprungen|verworfen|zurückgestellt|abgebrochen|entfällt|verschoben|gestrichen"
        "|obsolet|hinfällig|aufgeschoben|vertagt|wird nicht gemacht"
        "|wird nicht umgesetzt",
    },
    "French": {
        _DONE: "terminé|terminée|terminés|terminées|fait|faite|achevé|achevée|fini|finie|complété"
        "|complétée|livré|livrée|réalisé|réalisée|implémenté|implémentée|oui|résolu|résolue"
        "|corrigé|corrigée|fermé|fermée|déployé|déployée|fusionné|fusionnée|publié|publiée"
        "|réglé|réglée|faits|faites|réalisés|réalisées|mis en place|mise en place",
        _BEGUN: "en cours|commencé|commencée|partiel|partielle|partiellement|presque|démarré"
        "|démarrée|entamé|entamée|en développement|en revue|à moitié",
        _TODO: "à faire|a faire|non|pas|à venir|en attente|prévu|prévue|planifié|planifiée|ouvert"
        "|pas encore|à commencer|à traiter|à définir|prêt|prête|en file|prochain|prochaine"
        "|suivant|reste à faire|ouverte|à implémenter|restant",
        _BLOCKED: "bloqué|bloquée|en pause|suspendu|suspendue",
        _SKIPPED: "annulé|annulée|abandonné|abandonnée|reporté|reportée|ignoré|écarté|écartée"
        "|ignorée"
        "|obsolète|différé|différée|repoussé|repoussée|hors périmètre"
        "|ne sera pas fait",
    },
    "Spanish": {
        _DONE: "completado|completada|completo|completa|hecho|hecha|terminado|terminada|finalizado"
        "|finalizada|listo|lista|implementado|implementada|resuelto|resuelta|cerrado|sí"
        "|realizado|realizada|entregado|entregada|cerrada|publicado|publicada|desplegado"
        "|desplegada|corregido|corregida|solucionado|solucionada|arreglado|arreglada|fusionado"
        "|fusionada|lanzado|lanzada|concluido|concluida",
        _BEGUN: "en progreso|en curso|en proceso|en desarrollo|iniciado|iniciada|parcial|empezado"
        "|parcialmente|empezada|comenzado|comenzada|casi|en marcha|en revisión|en ejecución"
        "|a medias",
        _TODO: "pendiente|por hacer|sin empezar|sin iniciar|planificado|planificada|abierto|por"
        "|aún no|todavía no|próximo|próxima|siguiente|planeado|planeada|programado|programada"
        "|abierta|en cola|nuevo|nueva|pendientes",
        _BLOCKED: "bloqueado|bloqueada|en espera|en pausa|detenido|detenida|pausado|pausada",
        _SKIPPED: "omitido|omitida|cancelado|cancelada|descartado|aplazado|pospuesto|descartada"
        "|aplazada|pospuesta|obsoleto|obsoleta|diferido|diferida|no se hará"
        "|fuera de alcance",
    },
    "Portuguese": {
        _DONE: "concluído|concluída|concluido|concluida|feito|feita|pronto|pronta|entregue|sim"
        "|realizado|realizada|resolvido|resolvida|fechado|fechada|corrigido|corrigida|lançado"
        "|lançada|mesclado|mesclada|concluídos|concluídas|implantado|implantada",
        _BEGUN: "em andamento|em progresso|em curso|em desenvolvimento|iniciada|parcialmente"
        "|começado|começada|quase|em execução|em revisão|pela metade",
        _TODO: "pendente|a fazer|não|nao|por fazer|planejado|planejada|planeado|aberto|aberta"
        "|ainda não|a iniciar|na fila|previsto|prevista|próximo|próxima|a implementar|novo|nova",
        _BLOCKED: "bloqueado|bloqueada|em espera|em pausa|suspenso|suspensa|parado|parada",
        _SKIPPED: "adiado|adiada|ignorado|ignorada|descartada|omitida"
        "|não será feito|não será feita|postergado|postergada|fora do escopo"
        "|cancelado",
    },
    "Russian": {
        _DONE: "выполнено|выполнен|выполнена|выполнены|готово|готов|готова|завершено|завершён"
        "|завершен|завершена|завершены|сделано|сделана|реализовано|реализован|реализована"
        "|исправлено|закрыто|закрыт|закрыта|решено|да|сделан|сделаны|реализованы|исправлен"
        "|исправлена|исправлены|решён|решен|решена|выпущено|выпущен|выпущена|внедрено|внедрён"
        "|внедрен|внедрена|закрыты|готовы|влито|развёрнуто|развернуто|опубликовано|поставлено",
        _BEGUN: "в работе|в процессе|в разработке|выполняется|начато|начат|начата|частично|делается"
        "|делаю|почти|на проверке|на ревью|в тестировании|идёт|идет|ведётся|ведется|начаты"
        "|наполовину",
        _TODO: "не начато|не|нет|к выполнению|запланировано|запланирована|планируется|ожидает"
        "|открыто|открыт|открыта|нужно|новая|сделать|ещё не|еще не|к работе|в очереди|в планах"
        "|предстоит|далее|следующее|следующая|следующий|запланирован|запланированы|новый|новое"
        "|бэклог|осталось|не нужно пока",
        _BLOCKED: "заблокировано|заблокирован|заблокирована|приостановлено|приостановлена|на паузе"
        "|приостановлен|ждёт|ждет|остановлено",
        _SKIPPED: "отменено|отменён|отменен|отменена|отложено|отложен|отложена|пропущено|пропущена"
        "|отклонено|отклонена|отменены|отложены|не будет"
        "|неактуально|не актуально|устарело|отброшено|вне рамок",
    },
    "Polish": {
        _DONE: "zakończone|zakończony|zakończona|zrobione|gotowe|gotowy|gotowa|ukończone|ukończony"
        "|ukończona|wykonane|wykonany|wykonana|wdrożone|zrealizowane|naprawione|zamknięte|tak"
        "|zrobiony|zrobiona|zrealizowany|zrealizowana|rozwiązane|rozwiązany|rozwiązana|wydane"
        "|opublikowane|wdrożony|wdrożona|scalone|dostarczone|zamknięty|zamknięta|naprawiony"
        "|naprawiona|ukończono|zakończono|wykonano|zrealizowano|wdrożono",
        _BEGUN: "w trakcie|w toku|w realizacji|rozpoczęte|rozpoczęty|rozpoczęta|częściowo|trwa"
        "|prawie|w budowie|w przygotowaniu|zaczęte|rozpoczęto|w testach|do połowy|na ukończeniu",
        _TODO: "do zrobienia|nie|nierozpoczęte|niezrobione|zaplanowane|planowane|oczekujące"
        "|oczekuje|otwarte|otwarty|otwarta|nowe|jeszcze nie|do wykonania|następne|następny"
        "|następna|w kolejce|w planach|planowany|planowana|zaplanowany|zaplanowana|nowy|nowa",
        _BLOCKED: "zablokowane|zablokowany|zablokowana|wstrzymane|wstrzymany|czeka|wstrzymana"
        "|zatrzymane",
        _SKIPPED: "pominięte|pominięty|anulowane|anulowany|odrzucone|odrzucony|odłożone|przełożone"
        "|pominięta|anulowana|porzucone|porzucony|odłożony|odłożona|odrzucona"
        "|nieaktualne|poza zakresem|nie będzie",
    },
    "Dutch": {
        _DONE: "klaar|gedaan|voltooid|afgerond|gereed|opgelost|geïmplementeerd|gesloten"
        "|gerealiseerd|opgeleverd|geleverd|uitgebracht|samengevoegd|uitgevoerd|afgesloten"
        "|verholpen|gepubliceerd|ja",
        _BEGUN: "mee bezig|bezig|in uitvoering|in behandeling|gestart|begonnen|lopend|gedeeltelijk"
        "|deels|bijna|half klaar|onderhanden|in ontwikkeling|in bewerking|onderweg",
        _TODO: "te doen|niet|nog niet|nog te doen|gepland|openstaand|nee|nieuw|volgende"
        "|in de wachtrij|ingepland|nog te|nog open|moet nog",
        _BLOCKED: "geblokkeerd|wacht|wachtend|gepauzeerd|gestopt|stilgelegd",
        _SKIPPED: "overgeslagen|geannuleerd|uitgesteld|vervallen|afgewezen|geschrapt"
        "|verouderd|buiten scope|wordt niet gedaan",
    },
    "Italian": {
        _DONE: "completato|completata|fatto|fatta|finito|finita|implementato|implementata|risolto"
        "|terminato|terminata|concluso|conclusa|realizzato|realizzata|risolta|chiuso|chiusa"
        "|rilasciato|rilasciata|consegnato|consegnata|pubblicato|pubblicata|completati"
        "|completate",
        _BEGUN: "in corso|in lavorazione|iniziato|iniziata|parziale|parzialmente|avviato|avviata"
        "|in sviluppo|in revisione|quasi|in elaborazione|a metà|cominciato",
        _TODO: "da fare|da completare|da iniziare|pianificato|pianificata|aperto|aperta|in attesa"
        "|non ancora|ancora da fare|prossimo|prossima|previsto|prevista|in coda|programmato"
        "|programmata|da implementare",
        _BLOCKED: "bloccato|bloccata|sospeso|sospesa|in pausa|fermo|ferma",
        _SKIPPED: "saltato|annullato|annullata|rimandato|rimandata|rinviato|scartato|saltata"
        "|rinviata"
        "|scartata|obsoleto|obsoleta"
        "|fuori ambito|abbandonato|abbandonata",
    },
    "Indonesian": {
        _DONE: "selesai|sudah selesai|sudah|telah selesai|terselesaikan|rampung|beres|tuntas"
        "|dirilis|sudah dirilis|ditutup|sudah diperbaiki|terlaksana",
        _BEGUN: "sedang dikerjakan|dalam proses|berjalan|sebagian|sedang berjalan|sedang diproses"
        "|sudah dimulai|hampir|sebagian selesai|selesai sebagian|dalam pengerjaan"
        "|dalam pengembangan|dalam peninjauan|setengah",
        _TODO: "belum|belum dimulai|belum selesai|akan datang|direncanakan|akan dikerjakan"
        "|terencana|dijadwalkan|berikutnya|siap dikerjakan|siap|dalam antrian|perlu dikerjakan"
        "|tidak",
        _BLOCKED: "terblokir|terhambat|diblokir|menunggu|dijeda|tertahan",
        _SKIPPED: "dibatalkan|dilewati|ditunda|batal|tidak jadi"
        ""
        "|usang|diabaikan|di luar lingkup|tidak akan dikerjakan",
    },
    "Turkish": {
        _DONE: "bitti|tamamlandı|tamamlandi|yapıldı|yapildi|çözüldü|tamam|bitirildi"  # noqa: RUF001
        "|gerçekleştirildi|uygulandı|uygulandi|düzeltildi|yayınlandı|yayinlandi|kapatıldı"  # noqa: RUF001
        "|kapatildi|birleştirildi|teslim edildi|evet",
        _BEGUN: "sürüyor|devam ediyor|devam eden|yapılıyor|başladı|kısmen|başlandı|geliştiriliyor"  # noqa: RUF001
        "|kısmi|neredeyse|işlemde|inceleniyor|yarım|sürmekte",  # noqa: RUF001
        _TODO: "bekliyor|yapılacak|yapilacak|planlandı|başlanmadı|hayır|açık|başlamadı|henüz"  # noqa: RUF001
        "|planlanıyor|planlanan|sırada|sıradaki|yapılmadı|tamamlanmadı|bitmedi|hazır|yeni",  # noqa: RUF001
        _BLOCKED: "engellendi|beklemede|durduruldu|askıda|duraklatıldı",  # noqa: RUF001
        _SKIPPED: "iptal|ertelendi|atlandı|vazgeçildi|iptal edildi|kapsam dışı"  # noqa: RUF001
        "|yapılmayacak",  # noqa: RUF001
    },
    "Vietnamese": {
        _DONE: "xong|hoàn thành|đã xong|đã hoàn thành|đã làm|đã sửa|đã đóng|đã hoàn tất|hoàn tất"
        "|đã triển khai|đã phát hành|đã giải quyết|đã gộp|đã khắc phục|đã thực hiện",
        _BEGUN: "đang làm|đang thực hiện|đang tiến hành|đang xử lý|một phần|đang phát triển"
        "|đang kiểm tra|đang triển khai|đã bắt đầu|gần xong|gần hoàn thành|hoàn thành một phần"
        "|xong một phần|làm dở",
        _TODO: "chưa làm|chưa|cần làm|chưa bắt đầu|kế hoạch|mở|sẽ|dự kiến|đã lên kế hoạch"
        "|tiếp theo|sắp tới|chờ|đang chờ|sẵn sàng|trong hàng đợi",
        _BLOCKED: "bị chặn|tạm dừng|đang bị chặn|tạm hoãn",
        _SKIPPED: "hoãn|bỏ qua|hủy|huỷ|đã hủy|đã huỷ|không làm|đã bỏ|lỗi thời"
        "|không thực hiện|ngoài phạm vi|đã hoãn|trì hoãn",
    },
    "Ukrainian": {
        _DONE: "виконано|виконаний|виконана|виконане|виконані|готово|готовий|готова|готове|готові"
        "|завершено|завершений|завершена|завершене|завершені|зроблено|зроблена|реалізовано"
        "|реалізований|реалізована|виправлено|виправлений|виправлена|закрито|закритий|закрита"
        "|вирішено|впроваджено|випущено|опубліковано|так",
        _BEGUN: "в процесі|у процесі|в роботі|у роботі|в розробці|у розробці|виконується|розпочато"  # noqa: RUF001
        "|розпочата|почато|частково|робиться|триває|на перевірці|на ревю|майже",
        _TODO: "не розпочато|не почато|не|ні|ще не|немає|до виконання|заплановано|запланована"
        "|заплановані|планується|очікує|очікується|відкрито|відкритий|відкрита|нове|нова"
        "|потрібно|зробити|у черзі|в черзі|у планах|наступне|далі|беклог",  # noqa: RUF001
        _BLOCKED: "заблоковано|заблокований|заблокована|призупинено|призупинена|на паузі|чекає",
        _SKIPPED: "скасовано|скасований|скасована|відкладено|відкладений|відкладена|пропущено"
        "|пропущена|відхилено|відхилена|не буде|неактуально|застаріло",
    },
}
"""The words of each language, by state; the first one is written where an edit needs one."""

VERBS = frozenset({"complete", "completa", "completo", "完成"})
"""Those that also ask for something: ``Complete phase 1: …``."""
LOOSE_WORDS = frozenset({"fixed", "landed", "delivered", "published", "paused", "stuck", "stalled"})
"""Those that also describe a thing: behind a title with a capital, or with a version or the like."""  # noqa: E501

STATUS_WORDS: Mapping[TaskState, str] = {
    _DONE: "live|in production|passing|passed|pass|tech pass|accepted|signed off|종료|終了",
    _BEGUN: "进行|진행|в тесте|testing",
    _TODO: "tbd|tba|tbc|new|queued|scheduled|future|later|assigned|triage|triaged|someday|neu|später|plus tard"  # noqa: E501
    "|más tarde|mais tarde|позже|пізніше|później|più tardi|nanti|sonra|sau này"
    "|计划|规划|新|次|준비|다음|план|rencana",
    _SKIPPED: "skip|skipping|not required|discarded|withdrawn|retired"
    "|no longer needed|no longer required|no longer relevant|not needed|不再需要|不需要|不要"
    "|불필요|nicht mehr nötig|plus nécessaire|ya no es necesario|não é mais necessário"
    "|не нужно|не требуется|больше не нужно|niepotrzebne|niet nodig|niet meer nodig"
    "|non necessario|non più necessario|tidak diperlukan|tidak perlu|gereksiz|gerek yok"
    "|không cần|не потрібно|rechazado|rechazada|rejeté|rejetée|rejeitado|rejeitada|rifiutato"
    "|rifiutata|ditolak|reddedildi|từ chối|abgelehnt|却下",
}
"""Words that are states only in ``Status:`` lines and columns, and alone or with what may follow."""  # noqa: E501

REMOVALS = (
    "remove|delete|drop|purge|clean ?up|retire|deprecate|entferne|lösche|supprimer|retirer|eliminar"
    "|borrar|remover|удалить|убрать|видалити|прибрати|usuń|usunąć|verwijder|rimuovere|eliminare"
    "|hapus|kaldır|xóa|删除|移除|刪除|削除|삭제|제거"  # noqa: RUF001
)
"""Beginnings of tasks that say why, and not that they are skipped: ``Remove X (obsolete)``."""

ADVERBS = (
    "fully|already|successfully|completely|all|now|vollständig|bereits|schon|komplett|déjà"
    "|entièrement|totalement|ya|totalmente|completamente|já|уже|полностью|вже|повністю|już"
    "|w pełni|al|reeds|volledig|già|del tutto|tamamen"
)
"""Words that may be before a state."""

EAST = "\u2e80"
"""Where the letters of languages without spaces between words begin."""
PIECE = re.compile(r"[^\x00-\u2e7f]|(?:(?![^\x00-\u2e7f])[^\W_])+")
"""A word, or a letter of such a language; a class up to ``EAST`` takes less time to compile."""


def _first_pieces(*names: str) -> frozenset[str]:
    pieces = {PIECE.findall(name)[0] for each in names for name in each.split("|")}
    return frozenset(pieces.union(map(in_traditional, pieces)))


FIRST_PIECES = _first_pieces(
    ADVERBS,
    *STATUS_WORDS.values(),
    *(names for states in STATE_WORDS.values() for names in states.values()),
)
"""How the words of all tables begin, which most texts do not."""

HEADING_SIGNS = {
    _DONE: "✅✔☑✓🟢",
    _BEGUN: "🟡🔄🚧⏳🔵🟠",
    _TODO: "⬜◻☐🔲⚪🔴⭕❌⏭⏸",
    _BLOCKED: "🚫⛔🛑",
    _SKIPPED: "⊘",
}
"""The emoji of states everywhere. ``⏭`` is next as often as skipped, ``⏸`` pending or deferred."""
BOX_MARKS = {_DONE: "x", _BEGUN: "~", _TODO: "", _BLOCKED: "!"}
"""What an emoji in a box means."""
ITEM_SIGNS = {_TODO: "🔜"}
"""Those of items, which in headings are decoration."""
VAGUE_SIGNS = "⏭⏸"
"""Those that the words behind them decide about: ``⏭ Skipped: …``."""
STATUS_SIGNS = {
    _BEGUN: "⚠🏗🔨🛠▶♻🧪👷🏃🔶🔷🔧➡⌛⏰",
    _TODO: "📋🆕📝❓❔💤🗓📅🔁⏱✗✘✖🟣🟤⚫",
    _BLOCKED: "🔒",
}
"""Those that are states only alone in a ``Status:`` line or a column."""


_MONTHS = (
    "jan|feb|fév|fev|mar|mär|mrt|apr|avr|abr|may|mai|maio|maj|mei|jun|juin|jul|juil|aug|août|ago"
    "|sep"
    "|set|oct|okt|out|nov|dec|dez|dic|déc|янв|фев|март|апр|май|мая|июн|июл|авг|сен|окт|ноя|дек|січ"
    "|лют|берез|квіт|трав|черв|лип|серп|верес|жовт|лист|груд|sty|lut|kwi|cze|lip|sie|wrz|paź|lis"
    "|gru"
    "|ene|gen|mag|giu|lug|ott|ocak|şub|nis|haz|tem|ağu|eyl|eki|kas|ara|tháng|mei|agu|okt|des"
)
_MONTH = rf"(?:{_MONTHS})[^\W\d_]{{0,7}}\.?"
_YEAR = r"(?:19|20)[0-9]{2}"
_DAY = r"[0-9]{1,2}(?:st|nd|rd|th|er|\.)?"
DATE = (
    rf"(?:{_YEAR}[-./年][0-9]{{1,2}}(?:[-./月][0-9]{{1,2}}日?)?"
    r"(?:[t ][0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?z?)?"
    r"|[0-9]{1,2}[-./][0-9]{1,2}(?:[-./][0-9]{2,4})?\.?"
    rf"|{_DAY} (?:de |of )?{_MONTH}(?:,?(?: de)? {_YEAR})?|{_MONTH} (?:{_DAY},? ?)?{_YEAR}"
    rf"|{_MONTH} {_DAY}|q[1-4][ /-]?{_YEAR}|{_YEAR})(?![\w%])"
)
"""A date in the usual ways."""
_NUMBERED_THINGS = (
    "pr|mr|pull request|merge request|issue|ticket|commit|revision|rev|sha|release|version|build"
    "|branch|phase|sprint|iteration|session|wave|batch|milestone|step|stage|week|day|round|cycle"
    "|adr|task|run|part|loop|kw|schritt|étape|paso|fase|этап|шаг|спринт|етап|крок|krok|etap|stap"
)
_PREPOSITIONS = (
    "in|on|at|as of|as|of|since|with|via|per|for|from|see|ref|refs|cf|stan(?:d| na)?"
    "|seit|ab|am|im|vom|mit"
    "|siehe|dans|en|le|la|depuis|au|du|avec|voir|el|desde|con|em|desde|na|no|com|ver|в|во|с|от|из"  # noqa: RUF001
    "|на|см|у|з|від|станом на|по состоянию на|див|w|z|od|dnia|wersja|версия|версія|op|sinds|met|zie"  # noqa: RUF001
    "|il|nella|dal|vedi|pada|di|sejak|lihat|ngày|vào|từ|trong|tarihinde|status|state|commit|release"
    "|version|versión|versão|wersji|версии|версії|tag|branch|pr|mr"
)
_DEADLINES = (
    rf"the |then|now|end|eo[dwmy]|mon|tue|wed|thu|fri|sat|sun|tomorrow|tonight|next|later|q[1-4]"
    rf"|[0-9]|this|spring|summer|autumn|winter|christmas|launch|release|deadline|{_MONTHS}"
)
_COUNTED = "tests?|tasks?|commits?|files?|points?|days?|hours?|items?|subtasks?|h|d|sp|pts?"
TAIL = (
    rf"(?:(?:{_PREPOSITIONS})[\s:.,]+){{0,3}}(?:{DATE}"
    r"|v?[0-9]+(?:\.[0-9]+)+[\w.-]*|v[0-9]+[\w.-]*"
    rf"|(?:{_NUMBERED_THINGS})\W{{0,3}}[0-9]+(?:\.[0-9]+)*[a-z]?\b|[#!№][0-9]+|gh-[0-9]+"
    r"|(?:commit|sha|rev|hash)\W{0,3}[0-9a-f]{4,40}\b|(?=[a-f]*[0-9])[0-9a-f]{7,40}\b"
    r"|https?://\S+|[a-z]{2,9}-[0-9]+\b|100 ?%"
    rf"|[0-9]+ ?(?:/|of|out of|von|de|из|з|z|van|su|dari) ?[0-9]+(?: (?:{_COUNTED}))?"
    rf"|[0-9]+ (?:{_COUNTED})(?: (?:pass(?:ed|ing)?|green|ok))?\b)"
    rf"|(?:by|von|durch|par|por|przez|door|da|oleh|bởi) (?!(?:{_DEADLINES}))@?[\w.@-]+"
    r"(?:(?: (?!and\b|on\b|in\b|at\b))[^\W\d_][\w.-]*){0,2}"
    r"|(?:today|yesterday|already|fully|now|yet|heute|gestern|hier|ayer|hoje|ontem|сегодня|вчера"
    r"|сьогодні|вчора|dziś|wczoraj|vandaag|gisteren|ieri|oggi)\b"
)
"""What may be behind a state without changing it: a version, a date, a commit, a number, a name."""

CONDITION = (
    r"[\s,(\u2013\u2014-]*(?:"
    r"(?:when|once|if|as soon as|upon|until|unless|only|soon|tomorrow|later|next|wenn|sobald"
    r"|falls|bis|quand|dès|lorsque|cuando|si|antes de|para|quando|se|até|assim que|когда|если|к|до"
    r"|как только|коли|якщо|щойно|gdy|kiedy|jeśli|do|zodra|als|wanneer|tegen|voor|om|entro|appena"
    r"|ketika|jika"
    r"|saat|sebelum|setelah|khi|nếu|trước|sau)\b"
    rf"|by (?:{_DEADLINES})|in [0-9]+ (?:day|week|hour|month|minute)s?\b)"
)
"""What makes a word for done say when it will be: ``done by Friday``, ``done when …``."""
RESERVATION = (
    r"(?: ?\?|[\s,;:(\u2013\u2014-]*(?:"
    r"(?:except|apart from|partially|partly|mostly|in part|pending|awaiting"
    r"|but (?:not|no|needs?|still|missing|without|un\w+)"
    r"|not (?:yet )?(?:tested|verified|merged|deployed|reviewed|released|finished|complete|done)"
    r"|teilweise|größtenteils|außer|bis auf|partiellement|en partie|sauf|parcialmente|excepto|salvo"
    r"|exceto|em parte|частично|кроме|частково|крім|окрім|częściowo|oprócz|poza|deels|gedeeltelijk"
    r"|behalve|parzialmente|in parte|tranne|sebagian|kecuali|một phần|trừ|kısmen|hariç)\b))"  # noqa: RUF001
)
"""What makes it say that something is missing: ``done except docs``, ``complete (untested)``."""

_NUMBERED_THING = rf" ?(?:the )?(?:{_NUMBERED_THINGS})\W{{0,3}}[0-9]| ?#| [a-z]+-[0-9]"
NOT_BEHIND = {
    # A document is ready for a review, a task is ready.
    "ready": re.compile(r"\w| for\b"),
    **{verb: re.compile((r"\w|" if verb.isascii() else "") + _NUMBERED_THING) for verb in VERBS},
}
"""What may not be behind some words; behind others no letter."""
