"""Talk: turns, topics, entities, and what people mean by "it", "that account", "the second one", "as last time".

Pure, English, and without a word of any domain: what entities there are, what they are called and how they compare is
declared as data. Read `ontology` (what is declared), `entities`, `held` (what the state keeps), `changes` (what events
change), `resolve` (the resolver: a sentence in, references out), then `turns` and `topics`.
"""
