"""The transparency-log core: trees, tiles, proofs, canonical bytes, notes, witnesses, the head map.

Pure: no Django, no database, no clock, no randomness, nothing opened; who has a store hands in a reader.
Read tree.py first, then ranges.py (which subtrees a proof consists of), tiles.py and subtree.py; canonical.py,
note.py, checkpoint.py, cosignature.py and policy.py (what is signed, and who is believed); proof.py and receipt.py
(proofs as files); headmap.py (which head is a log's latest) and fields.py (one field of a payload).
The stand-alone verifier (audit/verify.py) does not import this package on purpose: it is a second reading of the
same standards.
"""
