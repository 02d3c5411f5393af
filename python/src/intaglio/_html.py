"""Tables for notebooks. Every text is escaped."""

from __future__ import annotations

import html
import math
from typing import Any, Iterable, Sequence


def escape(value: Any) -> str:
    return html.escape(str(value), quote=True)


def number(value: Any) -> str:
    """Thousands separated; fractions with four digits."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return escape(value)
    if isinstance(value, int) or (math.isfinite(value) and value == int(value) and abs(value) >= 1000):
        return f"{int(value):,}"
    return f"{value:.4g}"


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with a caption; numbers are aligned to the right."""

    def cell(value: Any) -> str:
        side = "right" if isinstance(value, (int, float)) and not isinstance(value, bool) else "left"
        return f'<td style="text-align:{side}">{number(value) if value is not None else ""}</td>'

    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join("<tr>" + "".join(cell(value) for value in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
