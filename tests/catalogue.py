"""`make messages [LOCALE=de]`: every text of the templates, as the catalogue of a language.

Reads the templates as Django does and writes with polib: no program of the gettext tools is needed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import django
import polib
from django.template import Engine
from django.template.base import Node, NodeList
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.utils.translation import trim_whitespace

ROOT = Path(__file__).parents[1]
TEMPLATES = ROOT / "templates"
#: an argument of a filter or a tag that is marked: `default:_("Caller")`
ARGUMENT = re.compile(r'[ :=]_\("([^"]+)"\)')
Message = tuple[str, str, str]  # context, text, plural


def main() -> int:
    """Writes the catalogue of the source language, or of a locale with what was translated before.

    With `--check` returns 1 if the source language's catalogue is not today's.
    """
    django.setup()
    if sys.argv[1:] == ["--check"]:
        listed = {(entry.msgctxt or "", entry.msgid, entry.msgid_plural) for entry in polib.pofile(str(path_of("en")))}
        for _, text, _ in sorted(listed ^ messages()):
            print(f"run make messages: {text}")
        return int(listed != messages())
    write(sys.argv[1] if len(sys.argv) > 1 else "en")
    return 0


def write(locale: str) -> None:
    """Writes the catalogue of a locale, and its compiled form unless it is the source language."""
    path = path_of(locale)
    path.parent.mkdir(parents=True, exist_ok=True)
    catalogue = merged(polib.pofile(str(path)) if path.exists() else polib.POFile())
    catalogue.metadata = {"Content-Type": "text/plain; charset=utf-8", "Language": locale}
    catalogue.save(str(path))
    if locale != "en":
        catalogue.save_as_mofile(str(path.with_suffix(".mo")))


def path_of(locale: str) -> Path:
    """Returns where Django looks for a language."""
    return ROOT / "locale" / locale / "LC_MESSAGES" / "django.po"


def merged(before: polib.POFile) -> polib.POFile:
    """Returns the catalogue of today's texts with the translations of an earlier one."""
    known = {(entry.msgctxt or "", entry.msgid, entry.msgid_plural): entry for entry in before}
    catalogue = polib.POFile(wrapwidth=0)
    for message in sorted(messages()):
        context, text, plural = message
        blank = {0: "", 1: ""} if plural else {}
        entry = polib.POEntry(msgctxt=context or None, msgid=text, msgid_plural=plural, msgstr_plural=blank)
        catalogue.append(known.get(message, entry))
    return catalogue


def messages() -> set[Message]:
    """Returns every text that a template marks for translation."""
    engine = Engine.get_default()
    sources = [path.read_text() for path in TEMPLATES.rglob("*") if path.suffix in {".html", ".txt"}]
    found = {message for source in sources for message in _of(engine.from_string(source).nodelist)}
    return found | {("", text, "") for source in sources for text in ARGUMENT.findall(source)}


def _of(nodes: NodeList) -> Iterator[Message]:
    for node in nodes.get_nodes_by_type(Node):
        if isinstance(node, TranslateNode):
            yield str(node.message_context or "").strip("\"'"), str(node.filter_expression.var.literal), ""
        elif isinstance(node, BlockTranslateNode):
            plural = node.render_token_list(node.plural)[0] if node.plural else ""
            yield "", _text(node, node.singular), _trimmed(node, plural)


def _text(node: BlockTranslateNode, tokens: object) -> str:
    return _trimmed(node, node.render_token_list(tokens)[0])


def _trimmed(node: BlockTranslateNode, text: str) -> str:
    return trim_whitespace(text) if node.trimmed and text else text


if __name__ == "__main__":
    sys.exit(main())
