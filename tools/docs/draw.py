#!/usr/bin/env python3
"""Draws docs/diagrams/*.svg from the *.txt beside them.

    draw.py            writes the drawings
    draw.py --check    says which of them is not what its text draws

A drawing has colours of its own for dark surroundings, and letters that are readable on a telephone. Nothing in it
depends on the fonts of the machine that drew it. A line of a text is one of

    title WORDS                what it shows, for those who cannot see it
    size WIDTH HEIGHT          a drawing of boxes; without it a sequence of messages, from top to bottom

Of a sequence:

    lane NAME : WORDS          one who sends and receives; `|` ends a line of words, here and below
    gap PIXELS                 from lane to lane
    A -> B : WORDS             a request, or a call
    A --> B : WORDS            an answer
    A ~> B : WORDS             an event of a watch
    A -x B : WORDS             a message that does not arrive
    note A : WORDS             what is so at A now
    begin A [lost]             from here on A has the lock; or its body still runs though it is lost
    end A
    at WORDS                   the time, beside all lanes
    space PIXELS

Of boxes:

    box NAME X Y WIDTH HEIGHT [held|plain|dashed] : WORDS
    A -> B [: WORDS]           an arrow between the nearest sides; `A ~> B` a dashed one
    text X Y : WORDS
"""
import glob
import os
import re
import sys
from html import escape

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "diagrams")
LINE = 17  # from a line of words to the next
LETTER = 7.3  # the width of an average letter

STYLE = """
svg.drawing { --ink: #1f2328; --paper: #ffffff; --line: #8c959f; --held: #2da44e; --lost: #cf222e; --fill: #eef1f4; }
@media (prefers-color-scheme: dark) {
  svg.drawing { --ink: #e6edf3; --paper: #161b22; --line: #7d8590; --held: #3fb950; --lost: #f85149; --fill: #262c36; }
}
svg.drawing text { font: 14px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink); }
svg.drawing .paper { fill: var(--paper); }
svg.drawing .label { stroke: var(--paper); stroke-width: 5px; stroke-linejoin: round; paint-order: stroke; }
svg.drawing .strong { font-weight: 600; }
svg.drawing .box { fill: var(--fill); stroke: var(--line); }
svg.drawing .dashed { fill: none; stroke: var(--line); stroke-dasharray: 5 4; }
svg.drawing .plain { fill: var(--paper); stroke: var(--line); }
svg.drawing .held { fill: var(--fill); stroke: var(--held); stroke-width: 2.5; }
svg.drawing .bar { fill: var(--held); }
svg.drawing .bar-lost { fill: var(--lost); }
svg.drawing .lane { stroke: var(--line); stroke-dasharray: 2 4; }
svg.drawing .time { stroke: var(--line); stroke-dasharray: 1 5; }
svg.drawing .arrow { stroke: var(--ink); stroke-width: 1.5; fill: none; }
svg.drawing .answer, svg.drawing .event { stroke-dasharray: 6 4; }
svg.drawing .head { fill: var(--ink); }
svg.drawing .cross { stroke: var(--lost); stroke-width: 2.5; }
"""


def words(x, y, text, kind="", anchor="middle"):
    """Lines of words, the first of which has its middle at y."""
    lines = [line.strip() for line in text.split("|")]
    return "".join(f'<text class="{kind}" x="{x:g}" y="{y + 5 + LINE * i:g}" text-anchor="{anchor}">{escape(line)}</text>\n'
                   for i, line in enumerate(lines))


def height_of(text):
    return LINE * (text.count("|") + 1)


def width_of(text):
    return LETTER * max(len(line.strip()) for line in text.split("|"))


def arrow(x1, y1, x2, y2, kind):
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    bx, by = x2 - 9 * dx, y2 - 9 * dy
    return (f'<path class="arrow {kind}" d="M{x1:.1f} {y1:.1f}L{bx:.1f} {by:.1f}"/>\n'
            f'<path class="head" d="M{x2:.1f} {y2:.1f}L{bx - 4.5 * dy:.1f} {by + 4.5 * dx:.1f}'
            f'L{bx + 4.5 * dy:.1f} {by - 4.5 * dx:.1f}z"/>\n')


def svg(title, width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" style="max-width: {width:g}px" role="img" aria-label="{escape(title)}">\n<title>{escape(title)}</title>\n'
            f'<style>{STYLE}</style>\n<rect class="paper" width="{width:g}" height="{height:g}" rx="8"/>\n'
            + "".join(parts) + "</svg>\n")


KINDS = {"->": "", "-->": "answer", "~>": "event", "-x": ""}
MESSAGE = re.compile(r"(\w+) (->|-->|~>|-x) (\w+)(?: : (.*))?$")


def sequence(title, lines):
    lanes, gap = {}, 190
    for line in lines:
        if found := re.match(r"lane (\w+) : (.*)", line):
            lanes[found[1]] = found[2]
        elif found := re.match(r"gap (\d+)", line):
            gap = int(found[1])
    times = [line[3:] for line in lines if line.startswith("at ")]
    left = 16 + max(map(width_of, times), default=0) + (12 if times else 0)
    first, last = list(lanes.values())[0], list(lanes.values())[-1]
    x = {name: left + width_of(first) / 2 + gap * i for i, name in enumerate(lanes)}
    right = max(x.values()) + width_of(last) / 2 + 16
    top = 20 + max(map(height_of, lanes.values()))
    y = top + 14
    back, front, open_bars = [], [], {}
    for line in lines:
        if found := MESSAGE.match(line):
            a, b, label = x[found[1]], x[found[3]], found[4] or ""
            y += height_of(label) + 6 if label else 12
            side = 6 if b > a else -6
            lost = found[2] == "-x"
            middle = a + 0.8 * (b - a)  # where a lost message ends, beside its label
            front.append(words((a + (middle if lost else b)) / 2, y - height_of(label) - 1 + LINE / 2 - 3, label, "label"))
            if lost:
                front.append(f'<path class="arrow" d="M{a + side:g} {y:g}H{middle:g}"/>\n<path class="cross" d="M{middle - 6:g} {y - 6:g}l12 12m0 -12l-12 12"/>\n')
            else:
                front.append(arrow(a + side, y, b - side, y, KINDS[found[2]]))
            y += 12
        elif found := re.match(r"note (\w+) : (.*)", line):
            text, high = found[2], height_of(found[2]) + 10
            wide = width_of(text) + 14
            # Beside the lane, so that its bar can be seen.
            beside = -1 if found[1] == list(lanes)[-1] else 1
            middle = min(max(x[found[1]] + beside * (wide / 2 + 10), wide / 2 + 4), right - wide / 2 - 4)
            front.append(f'<rect class="box" x="{middle - wide / 2:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="5"/>\n')
            front.append(words(middle, y + 5 + LINE / 2, text))
            y += high + 8
        elif found := re.match(r"begin (\w+)( lost)?$", line):
            open_bars[found[1]] = (y, "bar-lost" if found[2] else "bar")
        elif found := re.match(r"end (\w+)$", line):
            begin, kind = open_bars.pop(found[1])
            back.append(f'<rect class="{kind}" x="{x[found[1]] - 5:g}" y="{begin:g}" width="10" height="{y - begin:g}"/>\n')
        elif found := re.match(r"at (.*)", line):
            y += 8
            back.append(f'<path class="time" d="M{left - 8:g} {y:g}H{right - 8:g}"/>\n')
            front.append(words(left - 14, y, found[1], "", "end"))
            y += 10
        elif found := re.match(r"space (\d+)", line):
            y += int(found[1])
        elif not line.startswith(("lane ", "gap ")):
            raise ValueError(line)
    if open_bars:
        raise ValueError("without an end: " + ", ".join(open_bars))
    heads = [f'<path class="lane" d="M{x[name]:g} {top:g}V{y + 6:g}"/>\n' for name in lanes]
    heads += [words(x[name], 12 + LINE / 2, text, "strong") for name, text in lanes.items()]
    return svg(title, right, y + 16, heads + back + front)


def boxes(title, lines):
    size, places, parts, over = None, {}, [], []
    for line in lines:
        if found := re.match(r"size (\d+) (\d+)$", line):
            size = int(found[1]), int(found[2])
        elif found := re.match(r"box (\w+) (\d+) (\d+) (\d+) (\d+)( held| plain| dashed)? : (.*)", line):
            left, top, wide, high = map(int, found.group(2, 3, 4, 5))
            places[found[1]] = left, top, wide, high
            kind = (found[6] or " box").strip()
            parts.append(f'<rect class="{kind}" x="{left}" y="{top}" width="{wide}" height="{high}" rx="6"/>\n')
            title_line, bar, rest = found[7].partition("|")
            middle = top + high / 2 - (height_of(found[7]) - LINE) / 2
            if kind == "dashed":
                middle = top + 14
            parts.append(words(left + wide / 2, middle, title_line, "strong" if bar else ""))
            if rest:
                parts.append(words(left + wide / 2, middle + LINE, rest))
        elif found := MESSAGE.match(line):
            (al, at, aw, ah), (bl, bt, bw, bh) = places[found[1]], places[found[3]]
            # From side to side where they stand beside each other, else from top to bottom.
            low, high = max(at, bt), min(at + ah, bt + bh)
            if low < high:
                y1 = y2 = (low + high) / 2
                x1, x2 = (al + aw, bl) if al < bl else (al, bl + bw)
            else:
                low, high = max(al, bl), min(al + aw, bl + bw)
                x1 = x2 = (low + high) / 2
                if low >= high:
                    x1, x2 = al + aw / 2, bl + bw / 2
                y1, y2 = (at + ah, bt) if at < bt else (at, bt + bh)
            over.append(arrow(x1, y1, x2, y2, KINDS[found[2]]))
            if found[4]:
                over.append(words((x1 + x2) / 2, (y1 + y2) / 2, found[4], "label"))
        elif found := re.match(r"text (\d+) (\d+) : (.*)", line):
            parts.append(words(int(found[1]), int(found[2]), found[3], "", "start"))
        else:
            raise ValueError(line)
    return svg(title, *size, parts + over)


def drawing_of(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip() for line in file if line.strip() and not line.startswith("#")]
    title = next(line[6:] for line in lines if line.startswith("title "))
    lines = [line for line in lines if not line.startswith("title ")]
    try:
        return (boxes if any(line.startswith("size ") for line in lines) else sequence)(title, lines)
    except (ValueError, KeyError) as error:
        sys.exit(f"{path}: what is meant by this? {error}")


def main():
    check = sys.argv[1:] == ["--check"]
    stale = []
    texts = sorted(glob.glob(os.path.join(FOLDER, "*.txt")))
    for path in texts:
        target, drawn = path[:-4] + ".svg", drawing_of(path)
        if check:
            if not os.path.exists(target) or open(target, encoding="utf-8").read() != drawn:
                stale.append(os.path.basename(target))
        else:
            with open(target, "w", encoding="utf-8") as file:
                file.write(drawn)
    if not texts:
        sys.exit("there is nothing to draw")
    if stale:
        sys.exit("not what their texts draw; run ./dev docs --diagrams: " + ", ".join(stale))


if __name__ == "__main__":
    main()
