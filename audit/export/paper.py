"""A report as PDF: text from top to bottom on A4, headings, tables. The same calls give the same bytes.

No date, no random id, nothing deflated (two zlib builds may deflate differently). What Windows-1252 holds is set in
Helvetica, which every reader has; any other text in DejaVu Sans, of which the letters that are used are embedded.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from agentstate.characters import marked

WIDTH, HEIGHT, MARGIN = 595, 842, 48  # points: A4
INNER = WIDTH - 2 * MARGIN
LONGEST = 4_000  # characters of one text; more is cut, and says so
PLAIN, BOLD, WIDE = "Helvetica", "Helvetica-Bold", "DejaVuSans"
FONT = Path(__file__).with_name("fonts") / "DejaVuSans.ttf"
INK, FAINT, RULE = (0.1, 0.1, 0.11), (0.4, 0.41, 0.42), (0.85, 0.85, 0.83)


class Paper:
    """One report. Text flows downwards; a page that is full is followed by the next."""

    def __init__(self, title: str, footer: str) -> None:
        self._out = io.BytesIO()
        self._canvas = Canvas(self._out, (WIDTH, HEIGHT), pageCompression=0, invariant=1, lang="en")
        self._canvas.setTitle(title)
        self._canvas.setCreator("AgentState")
        self._footer = footer
        self._page = 0
        self._y = 0.0
        self._turn()

    def heading(self, text: str, size: int = 13) -> None:
        """A heading; it never stands alone at the foot of a page."""
        self._room(size * 4)
        self._y -= size * 0.8
        self._lines(text, BOLD, size, MARGIN, INNER, INK)
        self._y -= 3

    def text(self, text: str, *, faint: bool = False, strong: bool = False) -> None:
        """A paragraph."""
        self._lines(text, BOLD if strong else PLAIN, 9.5, MARGIN, INNER, FAINT if faint else INK)
        self._y -= 4

    def table(self, titles: Sequence[str], widths: Sequence[float], rows: Iterable[Sequence[str]]) -> None:
        """Rows of texts in columns; `widths` are parts of the whole. The titles stand again on each page."""
        scale = INNER / sum(widths)
        columns = [width * scale for width in widths]
        self._row([(title, BOLD) for title in titles], columns, titles)
        for row in rows:
            self._row([(text, PLAIN) for text in row], columns, titles)
        self._y -= 6

    def done(self) -> bytes:
        """The PDF."""
        self._foot()
        self._canvas.showPage()
        self._canvas.save()
        return self._out.getvalue()

    def _row(self, cells: Sequence[tuple[str, str]], columns: Sequence[float], titles: Sequence[str]) -> None:
        size, leading = 8.5, 11.0
        wrapped = [
            list(_wrapped(text, bold, size, width - 6)) for (text, bold), width in zip(cells, columns, strict=True)
        ]
        depth = max(map(len, wrapped))
        for at in range(depth):
            if self._y < MARGIN + leading + 14:
                self._turn()
                if at or cells[0][1] == PLAIN:
                    self._row([(title, BOLD) for title in titles], columns, titles)
            self._y -= leading
            x = float(MARGIN)
            for lines, width in zip(wrapped, columns, strict=True):
                if at < len(lines):
                    self._draw(x, lines[at], cells[0][1], size, INK)
                x += width
        self._y -= 3
        self._canvas.setStrokeColorRGB(*RULE)
        self._canvas.setLineWidth(0.5)
        self._canvas.line(MARGIN, self._y, WIDTH - MARGIN, self._y)

    def _lines(
        self, text: str, font: str, size: float, x: float, width: float, ink: tuple[float, float, float]
    ) -> None:
        for line in _wrapped(text, font, size, width):
            self._room(size * 1.4)
            self._y -= size * 1.4
            self._draw(x, line, font, size, ink)

    def _draw(self, x: float, line: str, font: str, size: float, ink: tuple[float, float, float]) -> None:
        self._canvas.setFillColorRGB(*ink)
        self._canvas.setFont(_font(line, font), size)
        self._canvas.drawString(x, self._y, line)

    def _room(self, height: float) -> None:
        if self._y - height < MARGIN + 10:
            self._turn()

    def _turn(self) -> None:
        if self._page:
            self._foot()
            self._canvas.showPage()
        self._page += 1
        self._y = float(HEIGHT - MARGIN)

    def _foot(self) -> None:
        y, self._y = self._y, float(MARGIN - 14)
        self._draw(MARGIN, f"{self._footer}   page {self._page}", PLAIN, 7.5, FAINT)
        self._y = y


def _wrapped(text: str, font: str, size: float, width: float) -> Iterator[str]:
    """The text in lines that fit; a word that does not is cut where the line ends."""
    if len(text) > LONGEST:
        text = text[:LONGEST] + " (cut here)"
    for part in _readable(text).split("\n"):
        named = _font(part, font)
        if pdfmetrics.stringWidth(part, named, size) <= width:
            yield part
            continue
        line = ""
        for word in part.split(" "):
            tried = f"{line} {word}" if line else word
            if pdfmetrics.stringWidth(tried, named, size) <= width:
                line = tried
                continue
            if line:
                yield line
            while pdfmetrics.stringWidth(word, named, size) > width:
                fits = _fitting(word, named, size, width)
                yield word[:fits]
                word = word[fits:]
            line = word
        yield line


def _fitting(word: str, font: str, size: float, width: float) -> int:
    """How many characters of a word fit, at least one."""
    low, high = 1, len(word)
    while low < high:
        middle = (low + high + 1) // 2
        fits = pdfmetrics.stringWidth(word[:middle], font, size) <= width
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _readable(text: str) -> str:
    """Control and invisible characters by name; letters that the font lacks become a box."""
    text = marked(text).replace("\r\n", "\n").replace("\t", " ")
    if _is_western(text):
        return text
    known = _wide().face.charToGlyph
    return "".join(char if char == "\n" or ord(char) in known else "□" for char in text)


def _is_western(text: str) -> bool:
    try:
        text.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def _font(text: str, font: str) -> str:
    return font if _is_western(text) else _wide().fontName


@cache
def _wide() -> TTFont:
    font = TTFont(WIDE, str(FONT))
    pdfmetrics.registerFont(font)
    return font
