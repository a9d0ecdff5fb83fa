"""`make format` lays out templates and style sheets with djangofmt; `make lint` checks that nothing would change.

djangofmt formats the style sheets of pages, and no file that is a style sheet: each goes through it within a page.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAX_COLUMNS = 120
DJANGOFMT = Path(sysconfig.get_path("scripts")) / "djangofmt"


def main() -> int:
    """Returns 1 with `--check` where a file is not laid out, and always where a line is too long."""
    check = sys.argv[1:] == ["--check"]
    command = [DJANGOFMT, "--quiet", *["--check"] * check, ROOT / "templates"]
    failed = subprocess.run(command, cwd=ROOT).returncode != 0
    for path in sorted((ROOT / "static").rglob("*.css")):
        text = path.read_text()
        formatted = as_formatted(text)
        if formatted != text and check:
            print(f"{path.relative_to(ROOT)}: run make format")
            failed = True
        elif formatted != text:
            path.write_text(formatted)
    long = [*too_long(ROOT)]
    print("\n".join(long), end="\n" * bool(long))
    return int(failed or bool(long))


def as_formatted(css: str) -> str:
    """Returns a style sheet as djangofmt lays it out."""
    command = [DJANGOFMT, "--quiet", "--stdin-filename", "sheet.html"]
    page = f"<style>\n{css}</style>\n"
    done = subprocess.run(command, cwd=ROOT, input=page, capture_output=True, text=True, check=True)
    lines = done.stdout.rstrip().split("\n")[1:-1]
    return textwrap.dedent("\n".join(lines)) + "\n"


def too_long(root: Path) -> list[str]:
    """Returns the place of each line over the limit, which djangofmt leaves as it is: attributes, tags, comments."""
    paths = [*(root / "templates").rglob("*.html"), *(root / "static").rglob("*.css")]
    return [
        f"{path.relative_to(root)}:{number}: {len(line)} columns, at most {MAX_COLUMNS}"
        for path in sorted(paths)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > MAX_COLUMNS
    ]


if __name__ == "__main__":
    sys.exit(main())
