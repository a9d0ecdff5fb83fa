"""`python -m audit.signing`: the signer without Django, as `manage.py up` runs it. `manage.py signer` is the same."""

from __future__ import annotations

import argparse
import logging
import sys
from datetime import timedelta
from pathlib import Path

from agentstate.errors import AgentStateError
from audit.signing.rules import Signer
from audit.signing.server import GAP, serve


def main() -> int:
    """Sign until told to stop; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m audit.signing", description=__doc__)
    parser.add_argument("--state-dir", type=Path, required=True, help="where keys and memory are")
    parser.add_argument("--origin", required=True, help="the name under which heads are signed")
    parser.add_argument("--socket", type=Path, required=True, help="where to answer")
    parser.add_argument("--overlap", type=float, default=30.0, help="days that an old key signs beside a new one")
    parser.add_argument("--gap", type=float, default=GAP, help="seconds away that are recorded as a downtime")
    parser.add_argument("--second", action="store_true", help="sign heads with ML-DSA-44, too")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    try:
        signer = Signer(options.state_dir, options.origin, timedelta(days=options.overlap), second=options.second)
        serve(signer, options.state_dir, options.socket, options.gap)
    except AgentStateError as error:
        print(f"{error} {error.remedy}".strip(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
