"""Draws imports.svg: the rooms of the source, their lines, and which room imports which."""

from __future__ import annotations

import ast
import math
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE.parent.parent / "src" / "glassformer"
ROOMS = (
    "cli", "serving", "course", "estimators", "audit", "exporting", "alignment", "words", "experiments", "doctor",
    "training", "evaluation", "tracing", "explanation", "labels", "prediction", "counting", "data", "models", "layers",
)  # fmt: skip
BOX_WIDTH, BOX_HEIGHT, STEP, LEFT, TOP = 190, 26, 44, 230, 16
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1a1d21}.box{fill:#fff;stroke:#0b5cad}.arc{fill:none;stroke:#0b5cad;"
    "opacity:.45}.paper{fill:#f4f5f7}.soft{fill:#565d66;font-size:12px}"
)


def main() -> None:
    """Write the drawing."""
    lines, imports = read_source()
    (HERE / "imports.svg").write_text(draw(lines, imports), encoding="utf-8")


def read_source() -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """Lines of each room, and how many imports lead from one room to another."""
    lines: Counter[str] = Counter()
    imports: Counter[tuple[str, str]] = Counter()
    for file in SOURCE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        room = file.relative_to(SOURCE).parts[0].removesuffix(".py")
        lines[room] += len(text.splitlines())
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("glassformer."):
                other = str(node.module).split(".")[1]
                if other != room and {room, other} <= set(ROOMS):
                    imports[room, other] += 1
    return lines, imports


def draw(lines: Counter[str], imports: Counter[tuple[str, str]]) -> str:
    """Boxes from the top room down; each arc leads from a room, on its right, down to one that it imports."""
    middle = {room: TOP + STEP * number + BOX_HEIGHT / 2 for number, room in enumerate(ROOMS)}
    upward = {pair for pair in imports if middle[pair[0]] > middle[pair[1]]}
    assert not upward, f"imports that lead upward: {upward}"
    right = LEFT + BOX_WIDTH
    height = TOP + STEP * len(ROOMS)
    parts = [f'<rect class="paper" width="760" height="{height}"/>']
    for (room, other), count in sorted(imports.items()):
        start, end = middle[room] + 4, middle[other] - 4
        reach = right + 40 + (end - start) * 0.55
        width = 1 + math.log2(count)
        parts.append(
            f'<path class="arc" stroke-width="{width:.1f}" d="M{right} {start:.0f}C{reach:.0f} {start:.0f} '
            f'{reach:.0f} {end:.0f} {right} {end:.0f}"><title>{room} imports {other}: {count} times</title></path>'
        )
    for room in ROOMS:
        y = middle[room]
        parts.append(
            f'<rect class="box" x="{LEFT}" y="{y - BOX_HEIGHT / 2}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"/>'
        )
        parts.append(f'<text x="{LEFT + 12}" y="{y + 5}">{room}</text>')
        parts.append(f'<text class="soft" text-anchor="end" x="{LEFT - 12}" y="{y + 5}">{lines[room]:,} lines</text>')
    spoken = "; ".join(f"{room} imports {other}" for room, other in sorted(imports))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" role="img"><title>Rooms and their imports'
        f"</title><desc>{spoken}.</desc><style>{STYLE}</style>{''.join(parts)}</svg>\n"
    )


if __name__ == "__main__":
    main()
