#!/usr/bin/env python
"""Django's command line, and `manage.py up`. `--state-dir DIR` works for every command."""

from __future__ import annotations

import sys
from pathlib import Path

from agentstate.errors import Refused
from agentstate.stack.commandline import main

if __name__ == "__main__":
    try:
        main(Path(__file__).resolve().parent)
    except Refused as refused:
        sys.exit(f"manage.py: {refused}")
