"""Concurrent change: two people, or a person and the agent, change one state that each saw in an older version.

`rules` says what a path is (a counter, a set, ...) and what becomes of a clash where it is none of these; `types` merge
one value, `paths` reads, puts and removes, `three_way` merges whole changes. Pure; what cannot be merged is a typed
refusal that names path and rule.
"""
