"""What a session knows of its conversation: turns, topics, entities, and what phrases mean. Plain data.

No module here reads a language. Entities come from results at declared paths, topics from declared words, and what a
phrase means from the model or from staff. Read `ontology` (what is declared), `entities`, `held` (what the state keeps
and a message records), then `changes`, `turns` and `topics` (what events change) and `notes` (what a model is shown).
"""
