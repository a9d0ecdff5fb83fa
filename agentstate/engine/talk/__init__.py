"""Resolves what a message means: "it", "that account", "the second one". Reads English, and knows no domain.

`decide` asks `understanding.understood` once for each message and records the answer with it. What there is, what it is
called and how it compares is declared as data (`engine/understanding/ontology`). Read `resolve` first: a sentence in,
references out.
"""
