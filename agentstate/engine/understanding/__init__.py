"""What a session understands of its conversation: turns, topics, entities, and what phrases mean. Plain data.

`evolve` goes by what events record and by these modules. None of them reads a sentence: `engine/talk` does, and nothing
here imports it. Read `ontology` (what is declared), `entities`, `held` (what the state keeps and a message records),
then `changes`, `turns` and `topics` (what events change) and `notes` (what a model is told).
"""
