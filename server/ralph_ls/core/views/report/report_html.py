"""Run report as HTML: one file without references, readable in light, dark and print.

Every text is escaped, and a policy in the page forbids whatever an escape might miss. Its only
script is that of the charts, which a browser without scripts leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from ralph_ls.core.views.report.run_report import ReportPage, Section

STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --faint: #59636e; --line: #d1d9e0;
  --back: #ffffff; --soft: #f6f8fa; --accent: #0a5fc2; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --faint: #9198a1; --line: #3d444d;
  --back: #0d1117; --soft: #151b23; --accent: #79b8ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 2rem 1.25rem 4rem; background: var(--back);
  color: var(--text); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0; }
header p { color: var(--faint); margin: .35rem 0 0; }
h2 { border-bottom: 1px solid var(--line); font-size: 1.15rem; margin: 2.2rem 0 .8rem;
  padding-bottom: .3rem; }
dl { display: grid; gap: .25rem 1.25rem; grid-template-columns: max-content 1fr; margin: 0; }
dt { color: var(--faint); }
dd { font-variant-numeric: tabular-nums; margin: 0; }
ul { margin: 0; padding-left: 1.2rem; }
li + li { margin-top: .35rem; }
.table { border: 1px solid var(--line); border-radius: 6px; overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums;
  width: 100%; }
th, td { padding: .4rem .7rem; text-align: left; vertical-align: top; white-space: nowrap; }
th { background: var(--soft); color: var(--faint); font-weight: 600; }
tbody tr { border-top: 1px solid var(--line); }
td.wide { min-width: 14rem; white-space: normal; }
@media print { :root { color-scheme: light; --text: #000; --faint: #444; --line: #bbb;
  --back: #fff; --soft: #f2f2f2; } body { font-size: 10pt; max-width: none; padding: 0; }
  .table { overflow: visible; } th, td { padding: .2rem .35rem; white-space: normal; }
  h2 { break-after: avoid; } tr, li { break-inside: avoid; } }
"""


_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedPage:
    """Charts in the report: what they need of its policy, style and body."""

    policy: str
    style: str
    body: str


def to_html(page: ReportPage, charts: EmbeddedPage | None = None) -> str:
    """The page as one HTML file; the charts come behind its first section, the summary."""
    title = escape(page.title)
    policy = _POLICY if charts is None else charts.policy
    first, *others = ("\n".join(_section(section)) for section in page.sections)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            f"<title>{title}</title>",
            f"<style>{STYLE}</style>",
            *([] if charts is None else [f"<style>{charts.style}</style>"]),
            "</head>",
            "<body>",
            f"<header><h1>{title}</h1><p>{escape(page.subtitle)}</p></header>",
            "<main>",
            first,
            *([] if charts is None else [charts.body]),
            *others,
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _section(section: Section) -> Iterator[str]:
    yield f"<section><h2>{escape(section.title)}</h2>"
    if section.facts:
        pairs = (f"<dt>{escape(n)}</dt><dd>{escape(value)}</dd>" for n, value in section.facts)
        yield f"<dl>{''.join(pairs)}</dl>"
    if section.points:
        yield f"<ul>{''.join(f'<li>{escape(point)}</li>' for point in section.points)}</ul>"
    if section.rows:
        yield '<div class="table"><table><thead><tr>'
        yield "".join(f'<th scope="col">{escape(name)}</th>' for name in section.headings)
        yield "</tr></thead><tbody>"
        yield from (_row(section, row) for row in section.rows)
        yield "</tbody></table></div>"
    yield "</section>"


def _row(section: Section, row: Sequence[str]) -> str:
    cells = zip(section.headings, row, strict=True)
    return f"<tr>{''.join(_cell(text, wide=name == section.wide) for name, text in cells)}</tr>"


def _cell(text: str, *, wide: bool) -> str:
    return f'<td class="wide">{escape(text)}</td>' if wide else f"<td>{escape(text)}</td>"
