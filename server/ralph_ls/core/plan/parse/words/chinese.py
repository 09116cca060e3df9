"""Chinese: words in simplified script also fit where a plan is written in the traditional one."""

from __future__ import annotations

import re


def in_both_scripts(words: str) -> str:
    """Words between bars, with those that differ in traditional script."""
    found = words.split("|")
    return "|".join(dict.fromkeys((*found, *map(in_traditional, found))))


def compile_both(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a pattern whose Chinese fits in either script.

    A character with a quantifier, or in brackets, is kept as it is.
    """
    return re.compile(_HAN.sub(_both, pattern), flags)


def in_traditional(word: str) -> str:
    """The word in traditional script."""
    return word.translate(_TRADITIONAL)


def _both(found: re.Match[str]) -> str:
    run = found[0]
    other = in_traditional(run)
    return run if run[0] == "[" or other == run else f"(?:{run}|{other})"


_TRADITIONAL = str.maketrans(
    "严个优会划则删办务动单历变号后响问围图块处备复实审将录开弃当态总惯执扩断无时暂术"
    "条来构标栈检残没测点状现称线级组经结绪续缓编计规议记许证评试话说质资赖轮较过还进"
    "迟选闭队阶险项顺预题风验骤码范荐补装发关准况决却里内写势废择汇画笔紧约统",
    "嚴個優會劃則刪辦務動單歷變號後響問圍圖塊處備復實審將錄開棄當態總慣執擴斷無時暫術"
    "條來構標棧檢殘沒測點狀現稱線級組經結緒續緩編計規議記許證評試話說質資賴輪較過還進"
    "遲選閉隊階險項順預題風驗驟碼範薦補裝發關準況決卻裡內寫勢廢擇匯畫筆緊約統",
)
_HAN = re.compile(r"\[[^\]]*\]|[^\x00-\x7f]+(?![?*+{])")
