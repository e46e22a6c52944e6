"""Draws the wiring diagrams beside this file.

python hardware/wiring/draw.py [FOLDER]
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape

COLOURS = {
    "supply": "#c62828",
    "ground": "#212121",
    "signal": "#ef6c00",
    "direction": "#1565c0",
    "stop": "#6a1b9a",
    "data": "#00838f",
    "5 V": "#f9a825",
    "enable": "#558b2f",
    "motor": "#6d4c41",
    "bus": "#ad1457",
    "air": "#90a4ae",
}
"""Colour of each kind of line; all but air are wires."""
PITCH = 22
"""Distance of two pins [px]."""
Point = tuple[float, float]


class Part:
    """A box with named pins on its left and right edges."""

    def __init__(self, x: float, y: float, width: float, left: Sequence[str], right: Sequence[str]):
        self.x, self.y, self.width = x, y, width
        self.height = 34 + PITCH * max(len(left), len(right), 1)
        self.pins: dict[str, Point] = {}
        for names, edge in ((left, x), (right, x + width)):
            for row, name in enumerate(names):
                if name:
                    self.pins[name] = (edge, y + 40 + PITCH * row)


class Drawing:
    """An SVG in the making."""

    def __init__(self, title: str, width: int, height: int):
        self._lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif" font-size="13">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="white"/>',
        ]
        self.text(20, 30, title, size=18)
        self._legend: list[str] = []
        self._height = height

    def text(self, x: float, y: float, words: str, *, size: int = 13, anchor: str = "start"):
        """A line of text."""
        self._lines.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="#212121">{escape(words)}</text>'
        )

    def note(self, words: str, *, width: int = 120):
        """A paragraph below the title, `width` characters wide."""
        for row, line in enumerate(textwrap.wrap(words, width)):
            self.text(20, 56 + 18 * row, line)

    def part(
        self,
        name: str,
        x: float,
        y: float,
        width: float,
        left: Sequence[str] = (),
        right: Sequence[str] = (),
    ) -> Part:
        """A box with its name and pins; an empty name leaves a gap."""
        part = Part(x, y, width, left, right)
        self._lines.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{part.height:g}" rx="6" '
            f'fill="#eceff1" stroke="#455a64" stroke-width="1.5"/>'
        )
        self.text(x + width / 2, y + 18, name, anchor="middle", size=14)
        for pin, (px, py) in part.pins.items():
            inside, anchor = (8, "start") if px == x else (-8, "end")
            self._lines.append(f'<circle cx="{px:g}" cy="{py:g}" r="3.5" fill="#455a64"/>')
            self.text(px + inside, py + 4, pin.split("|")[0], size=11, anchor=anchor)
        return part

    def wire(self, kind: str, start: Point, end: Point, *, via: float | None = None):
        """A line from one point to another, horizontal, vertical at x = `via`, horizontal."""
        middle = (start[0] + end[0]) / 2 if via is None else via
        self.path(kind, [start, (middle, start[1]), (middle, end[1]), end])

    def path(self, kind: str, points: Sequence[Point]):
        """A line through points."""
        if kind not in self._legend:
            self._legend.append(kind)
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        width = 7 if kind == "air" else 1.8
        self._lines.append(
            f'<polyline points="{path}" fill="none" stroke="{COLOURS[kind]}" '
            f'stroke-width="{width}" stroke-linejoin="round"/>'
        )

    def joint(self, kind: str, at: Point):
        """A dot where lines are joined; lines that only cross have none."""
        self._lines.append(f'<circle cx="{at[0]:g}" cy="{at[1]:g}" r="4" fill="{COLOURS[kind]}"/>')

    def rail(self, kind: str, x: float, points: Sequence[Point]):
        """A vertical line at x to which pins are joined."""
        ys = [point[1] for point in points]
        self.wire(kind, (x, min(ys)), (x, max(ys)), via=x)
        for point in points:
            self.wire(kind, point, (x, point[1]), via=x)
            self.joint(kind, (x, point[1]))

    def fan(self, kind: str, starts: Sequence[Point], ends: Sequence[Point], x: float):
        """Wires from a column of pins to another, both top down, turning right of x, uncrossed."""
        ups = sum(end[1] < start[1] for start, end in zip(starts, ends, strict=True))
        for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
            turn = i if i < ups else len(starts) - 1 - i
            self.wire(kind, start, end, via=x + 12 * turn)

    def svg(self) -> str:
        """The file's text, with the legend."""
        for i, kind in enumerate(self._legend):
            x, y = 20 + 115 * i, self._height - 18
            self.wire(kind, (x, y - 4), (x + 24, y - 4))
            self.text(x + 30, y, kind)
        return "\n".join([*self._lines, "</svg>", ""])
