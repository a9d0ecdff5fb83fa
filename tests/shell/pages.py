"""Reads pages in tests: a small tree of elements, and what a browser does with the fragments of a page.

No browser: `html.parser` of the standard library, enough for pages that our own templates write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "hr", "img", "col"}


@dataclass
class Node:
    """An element, its attributes, and its children: elements and texts."""

    tag: str
    attrs: dict[str, str] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    def all(self, tag: str = "") -> Iterator[Node]:
        """This element and every one in it, in order, of that tag if one is named."""
        if not tag or self.tag == tag:
            yield self
        for child in self.children:
            if isinstance(child, Node):
                yield from child.all(tag)

    def id(self, name: str) -> Node:
        """The element with this id; fails when there is none, or more than one."""
        found = [node for node in self.all() if node.attrs.get("id") == name]
        assert len(found) == 1, f"{len(found)} elements with the id {name}"
        return found[0]

    def has(self, name: str) -> bool:
        return any(node.attrs.get("id") == name for node in self.all())

    def text(self) -> str:
        """The text within, white space folded."""
        return " ".join("".join(self._texts()).split())

    def typed(self) -> str:
        """The text of a text area as a browser sends it."""
        return "".join(self._texts()).removeprefix("\n").replace("\n", "\r\n")

    def _texts(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            else:
                yield from child._texts()
                yield " "

    def shape(self) -> object:
        """The element as nested tuples, without white space: equal shapes look and act the same."""
        inner = [child.shape() if isinstance(child, Node) else " ".join(child.split()) for child in self.children]
        return (self.tag, tuple(sorted(self.attrs.items())), tuple(each for each in inner if each))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("")
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].children.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)


def read(html: str | bytes) -> Node:
    """The tree of a page or a fragment. Fails on tags that do not nest."""
    reader = _Reader()
    reader.feed(html.decode() if isinstance(html, bytes) else html)
    reader.close()
    assert reader.open == [reader.root], f"<{reader.open[-1].tag}> is never closed"
    return reader.root


def replace(page: Node, fresh: Node) -> None:
    """Put `fresh` in the place of the element with its id."""
    for node in page.all():
        for at, child in enumerate(node.children):
            if isinstance(child, Node) and child.attrs.get("id") == fresh.attrs["id"]:
                node.children[at] = fresh
                return
    raise AssertionError(f"the page has no element {fresh.attrs['id']}")


def apply(page: Node, fragments: Node) -> None:
    """What live.js does on most pages: each part of the answer takes the place of its namesake."""
    for part in fragments.children:
        if isinstance(part, Node):
            replace(page, part)


def apply_to_wall(page: Node, fragments: Node) -> None:
    """What wall.js does while nobody points at the table: figures and badge replaced, rows placed by their rank."""
    for name in ("figures", "badge"):
        replace(page, fragments.id(name))
    bodies = {name: page.id(name) for name in ("need", "calm")}
    for fresh in [row for row in fragments.all("tr") if "data-session" in row.attrs]:
        for body in bodies.values():
            body.children = [child for child in body.children if _id(child) != fresh.attrs["id"]]
        if "data-gone" not in fresh.attrs:
            _insert(bodies[fresh.attrs["class"]], fresh)
    for body in bodies.values():
        _total(body)


def _insert(body: Node, fresh: Node) -> None:
    for at, child in enumerate(body.children):
        if isinstance(child, Node) and child.attrs.get("data-rank", "") > fresh.attrs["data-rank"]:
            body.children.insert(at, fresh)
            return
    body.children.append(fresh)


def _total(body: Node) -> None:
    count = next(node for node in body.all("span") if node.attrs.get("class") == "n")
    count.children = [str(sum("data-session" in row.attrs for row in body.all("tr")))]


def _id(child: Node | str) -> str:
    return child.attrs.get("id", "") if isinstance(child, Node) else ""
