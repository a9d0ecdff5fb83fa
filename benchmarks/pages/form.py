"""What a browser without JavaScript would send of a form."""

from __future__ import annotations

from html.parser import HTMLParser


class _Form(HTMLParser):
    """Collects the fields of the form with an id, wherever they are on the page."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self._form, self._inside, self._select, self._area = form, False, "", ""
        self.fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._inside = given.get("id") == self._form
        if not self._inside and given.get("form") != self._form:
            return
        name = given.get("name", "")
        if tag == "input" and name and given.get("type") != "submit":
            self.fields[name] = given.get("value", "")
        elif tag == "textarea" and name:
            self._area, self.fields[name] = name, ""
        elif tag == "select":
            self._select = name
        elif tag == "option" and "selected" in given:
            self.fields[self._select] = given["value"]

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""
        elif tag == "form":
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._area:
            self.fields[self._area] += data


def fields_of(page: str, form: str) -> dict[str, str]:
    """Returns the names and values that the form of this id sends, without its buttons."""
    found = _Form(form)
    found.feed(page)
    return found.fields
