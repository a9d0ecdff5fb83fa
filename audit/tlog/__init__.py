"""The transparency-log core: trees, canonical bytes, notes, checkpoints.

Pure: no Django, no database, no clock, no randomness, nothing opened. Read tree.py first,
then canonical.py, note.py and checkpoint.py. The stand-alone verifier (audit/verify.py) does not
import this package on purpose: it is a second reading of the same standards.
"""
