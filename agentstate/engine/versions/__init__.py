"""Versions of a session: points to go back to, going back, and other ways it might have gone.

`kept` is what a state remembers of it, bounded; `effects` what going back does not undo; `put_back` and `fork` make a
state of an earlier one; `difference` says how two states differ; `replay` decides a record again, without effects.
"""
