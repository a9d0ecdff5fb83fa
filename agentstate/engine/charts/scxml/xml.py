"""XML read safely: no document type, so no entities; nothing is fetched; size, depth and number of elements bounded."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from agentstate.engine.charts.chart import MAX_BYTES, BadChart

SCXML = "http://www.w3.org/2005/07/scxml"
OURS = "urn:agentstate:chart:1"  # the namespace of attributes that SCXML has no word for
MAX_ELEMENTS = 10_000
MAX_XML_DEPTH = 80


@dataclass(slots=True)
class Element:
    """An element of SCXML. `attributes` without a namespace are SCXML's; `ours` those in OURS."""

    name: str
    line: int
    attributes: dict[str, str] = field(default_factory=dict)
    ours: dict[str, str] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, *names: str) -> list[Element]:
        """The children of these names."""
        return [child for child in self.children if child.name in names]

    def one(self, name: str) -> Element | None:
        """The first child of this name."""
        return next(iter(self.all(name)), None)


class _Builder:
    """Collects what the parser meets. Elements of foreign namespaces are skipped with all that is in them."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.begin
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.words
        self.parser.StartDoctypeDeclHandler = self.refuse
        self.parser.EntityDeclHandler = self.refuse
        self.parser.ExternalEntityRefHandler = self.refuse
        self.open: list[Element] = []
        self.root: Element | None = None
        self.foreign = 0
        self.count = 0

    def refuse(self, *_: object) -> int:
        raise BadChart("a document type or entity is not allowed", field=self.place(), rule="no_dtd")

    def place(self) -> str:
        return f"line {self.parser.CurrentLineNumber}"

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS or len(self.open) + self.foreign >= MAX_XML_DEPTH:
            raise BadChart(f"at most {MAX_ELEMENTS} elements, {MAX_XML_DEPTH} deep", field=self.place(), rule="size")
        space, _, name = tag.rpartition(" ")
        if self.foreign or space not in (SCXML, ""):
            self.foreign += 1
            return
        element = Element(name, self.parser.CurrentLineNumber)
        for key, value in attributes.items():
            owner, _, plain = key.rpartition(" ")
            if owner in ("", OURS):
                (element.ours if owner else element.attributes)[plain] = value
        if self.open:
            self.open[-1].children.append(element)
        self.root = self.root or element
        self.open.append(element)

    def end(self, tag: str) -> None:
        if self.foreign:
            self.foreign -= 1
        else:
            self.open.pop()

    def words(self, text: str) -> None:
        if self.open and not self.foreign:
            self.open[-1].text += text


def parse(data: bytes) -> Element:
    """The root element. Raises BadChart naming line and rule."""
    if len(data) > MAX_BYTES:
        raise BadChart(f"{len(data)} bytes, {MAX_BYTES} allowed", rule="size")
    builder = _Builder()
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as error:
        raise BadChart(str(error), field=builder.place(), rule="not_xml") from None
    except (ValueError, LookupError) as error:  # an encoding that nobody knows
        raise BadChart(str(error)[:200], field=builder.place(), rule="not_xml") from None
    if builder.root is None:
        raise BadChart("there is no element", rule="not_xml")
    return builder.root
