"""Control, bidirectional and invisible characters are shown by name, and nothing that a language needs is touched."""

from __future__ import annotations

import html
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate.characters import marked, marked_page, one_line

MARK = re.compile(r"\[U\+([0-9A-F]{4,6}) [^\]]+?(?: ×(\d+))?\]")
INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp", "Co"}
VISIBLE_CF = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay\u202eevil", "pay[U+202E right-to-left override]evil"),
        ("a\u200b\u200b\u200bb", "a[U+200B zero width space ×3]b"),
        ("\u2066x\u2069", "[U+2066 left-to-right isolate]x[U+2069 pop directional isolate]"),
        ("\x00\x1b[2J\x7f", "[U+0000 null][U+001B escape][2J[U+007F delete]"),
        ("over\rwritten", "over[U+000D carriage return]written"),
        ("pay\u200dpal", "pay[U+200D zero width joiner]pal"),
        ("ab\u200c", "ab[U+200C zero width non-joiner]"),
        ("x\ufe0f", "x[U+FE0F variation selector-16]"),
        ("hi\U000e0068\U000e0069", "hi[U+E0068 tag latin small letter h][U+E0069 tag latin small letter i]"),
        ("a\u2028b\u2029", "a[U+2028 line separator]b[U+2029 paragraph separator]"),
        ("so\xadft", "so[U+00AD soft hyphen]ft"),
        ("\ue000", "[U+E000 private use character]"),
        ("\u3164", "[U+3164 hangul filler]"),
        ("\ufeff1", "[U+FEFF zero width no-break space]1"),
    ],
)
def test_what_nobody_sees_is_shown_by_name(text, shown):
    assert marked(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Line one\nline two\r\n\tline three",
        "می\u200cخواهم",  # Persian: a word that must not be joined
        "क्\u200dष",  # Hindi: half a letter
        "ന്\u200d",  # Malayalam: at the end of a word
        "👩🏽\u200d🚀 👨\u200d👩\u200d👧 ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈",
        "☎\ufe0f 1\ufe0f\u20e3 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "Żółć שלום مرحبا 你好 ภาษาไทย a\u00a0b 12\u202f000 …·—",
    ],
)
def test_what_a_language_or_an_emoji_needs_stays_as_it_is(text):
    assert marked(text) == text
    assert marked_page(f"<p>{text}</p>") == f"<p>{text}</p>"


@given(st.text(alphabet=st.characters(exclude_characters="[]<>&")))
def test_what_is_shown_holds_no_hidden_character_and_loses_nothing(text):
    shown = marked(text)
    back = MARK.sub(lambda found: chr(int(found[1], 16)) * int(found[2] or 1), shown)
    assert back == text
    left = [char for char in shown if unicodedata.category(char) in INVISIBLE and char not in "\n\t\r\u200c\u200d"]
    assert not [char for char in left if char not in VISIBLE_CF and not unicodedata.name(char, "").startswith("TAG ")]


@given(st.text(min_size=1))
def test_a_page_shows_the_marks_in_its_texts_and_keeps_the_values_of_its_forms(text):
    safe = html.escape(text)
    page = f'<title>{safe}</title><input value="{safe}"><textarea>{safe}</textarea><p title="{safe}">{safe}</p>'
    shown = marked_page(page)
    assert f'<input value="{safe}"><textarea>{safe}</textarea>' in shown
    assert f"<title>{marked(safe)}</title>" in shown
    assert f'<p title="{marked(safe)}">' in shown
    paragraph = re.search(r'<p title="[^"]*">(.*)</p>', shown, re.DOTALL)[1]
    assert re.sub(r'<span class="hidden-character">([^<]*)</span>', r"\1", paragraph) == marked(safe)


def test_a_break_in_a_text_of_one_line_is_shown_too():
    assert one_line("Pay rent\r\n\nApproved by Ann") == "Pay rent↵ ↵ Approved by Ann"
