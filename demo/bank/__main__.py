"""`python -m demo.bank seed` makes the bank, `refill` runs its refill rule once. Both may run at any time."""

from __future__ import annotations

import argparse
import os
import sys

import psycopg

from demo.bank.seed import refill, seed


def main() -> int:
    """Do what the command line asks for; 2 and one line on standard error when the database is not there."""
    parser = argparse.ArgumentParser(prog="python -m demo.bank", description=__doc__)
    parser.add_argument("what", choices=("seed", "refill"))
    parser.add_argument("--dsn", default=os.environ.get("BANK_DSN", ""), help="libpq connection string (BANK_DSN)")
    given = parser.parse_args()
    try:
        with psycopg.connect(given.dsn, connect_timeout=10) as connection:
            if given.what == "seed":
                print(f"the bank has {seed(connection)} customers")
            else:
                print(f"{refill(connection)} postings")
    except psycopg.Error as error:
        print(f"demo.bank: {error}".strip(), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
