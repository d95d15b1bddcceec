"""The table as a page: one file that needs nothing else, to be opened in a browser."""

from __future__ import annotations

from html import escape

from minitorch.testing.conformance.outcome import KINDS, Outcome
from minitorch.testing.conformance.table import STATES, Results

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #1c2733; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .25em .6em; vertical-align: top; }
th { position: sticky; top: 0; background: #fff; border-bottom: 2px solid #9aa7b4; cursor: pointer; white-space: nowrap; }
td { border-bottom: 1px solid #e3e8ed; } td.n { text-align: right; font-variant-numeric: tabular-nums; }
.mark { border-radius: .7em; padding: .05em .65em; font-size: .88em; white-space: nowrap; }
.native, .passed { background: #d3f0dc; color: #0d5228; } .partly { background: #e3edc6; color: #465110; }
.fallback, .skipped { background: #fdeac2; color: #6b4700; } .failing, .failed { background: #fbd5d3; color: #85130d; }
.bar { display: flex; height: .9em; min-width: 9em; } .bar span { display: block; }
code { font-size: .9em; overflow-wrap: anywhere; } label { margin-right: 1.2em; }
input[type=search] { font: inherit; padding: .2em .5em; width: 16em; }
"""
SCRIPT = """
function chosen() {
  const states = [...document.querySelectorAll('input[name=state]:checked')].map(box => box.value);
  const text = document.querySelector('input[type=search]').value.toLowerCase();
  for (const row of document.querySelectorAll('#operators tbody tr'))
    row.hidden = !states.includes(row.dataset.state) || !row.textContent.toLowerCase().includes(text);
}
function sorted(head) {
  const place = [...head.parentNode.children].indexOf(head), body = head.closest('table').tBodies[0];
  const turn = head.dataset.turn = head.dataset.turn === '1' ? '-1' : '1';
  const key = row => row.children[place].dataset.key || row.children[place].textContent;
  const rows = [...body.rows].sort((a, b) => turn * key(a).localeCompare(key(b), undefined, {numeric: true}));
  body.append(...rows);
}
document.querySelectorAll('input').forEach(box => box.addEventListener('input', chosen));
document.querySelectorAll('th').forEach(head => head.addEventListener('click', () => sorted(head)));
"""


def _mark(state: str) -> str:
    return f'<span class="mark {state}">{state}</span>'


def _bar(outcomes: list[Outcome]) -> str:
    parts = []
    for state in STATES:
        count = sum(o.state == state for o in outcomes)
        if count:
            parts.append(f'<span class="{state}" style="flex:{count}" title="{count} {state}"></span>')
    return f'<div class="bar">{"".join(parts)}</div>'


def _counts(name: str, outcomes: list[Outcome]) -> str:
    cells = "".join(f'<td class="n">{sum(o.state == state for o in outcomes) or ""}</td>' for state in STATES)
    return f'<tr><td>{escape(name)}</td>{cells}<td class="n">{len(outcomes)}</td><td>{_bar(outcomes)}</td></tr>'


def _what(outcome: Outcome) -> str:
    """Return what is to be said of an operator: its first failure of each kind, and what ran on the CPU."""
    parts = []
    for kind in outcome.kinds():
        found = [f for f in outcome.failures if f.kind == kind]
        where = f"{found[0].dtype}, {found[0].layout}"
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        head = f'<b title="{escape(KINDS[kind])}">{kind}</b> ({escape(where)}{more})'
        parts.append(f"{head}: <code>{escape(found[0].message)}</code>")
    if outcome.fallbacks:
        names = ", ".join(f'<span title="{escape(why)}">{escape(op)}</span>' for op, why in sorted(outcome.fallbacks.items()))
        parts.append(f"on the CPU: <code>{names}</code>")
    return "<br>".join(parts)


def _row(outcome: Outcome) -> str:
    order = STATES[::-1].index(outcome.state)
    return (
        f'<tr data-state="{outcome.state}"><td><code>{escape(outcome.name)}</code></td><td>{escape(outcome.family)}</td>'
        f'<td data-key="{order}">{_mark(outcome.state)}</td><td class="n">{outcome.calls_on_cpu or ""}</td>'
        f'<td class="n">{outcome.calls}</td><td>{_what(outcome)}</td></tr>'
    )


def page(results: Results) -> str:
    """Return a page with the totals of each family and a row for each operator and each other test."""
    operators = sorted(results.operators, key=lambda o: (-STATES.index(o.state), o.family, o.name))
    device = escape(results.device)
    says = ", ".join(f"{results.count(state)} {state}" for state in STATES)
    boxes = "".join(
        f'<label><input type="checkbox" name="state" value="{state}" checked> {_mark(state)} {results.count(state)}</label>'
        for state in STATES
    )
    heads = "".join(f"<th>{h}</th>" for h in ("family", *STATES, "operators", ""))
    families = "".join(_counts(*item) for item in results.families().items()) + _counts("all", results.operators)
    others = "".join(
        f"<tr><td>{escape(o.family)}</td><td><code>{escape(o.name)}</code></td><td>{_mark(o.state)}</td>"
        f"<td>{escape(o.message)}</td></tr>"
        for o in results.others
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Conformance of {device}</title><style>{STYLE}</style></head><body>
<h1>Conformance of <code>{device}</code></h1>
<p>{len(results.operators)} operators against the CPU: {says}. <b>native</b> ran on the device, <b>fallback</b> on the CPU,
<b>partly</b> on the CPU for some operands; <b>failing</b> gave something else than the CPU does.</p>
<h2>Families</h2>
<table><thead><tr>{heads}</tr></thead><tbody>{families}</tbody></table>
<h2>Operators</h2>
<p>{boxes}<input type="search" placeholder="name, kind or text"></p>
<table id="operators"><thead><tr><th>operator</th><th>family</th><th>state</th><th>calls on the CPU</th><th>calls</th>
<th>what</th></tr></thead><tbody>{"".join(map(_row, operators))}</tbody></table>
<h2>Besides operators</h2>
<table><thead><tr><th>of</th><th>test</th><th>state</th><th>what</th></tr></thead><tbody>{others}</tbody></table>
<script>{SCRIPT}</script></body></html>
"""
