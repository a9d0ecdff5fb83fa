"""Plans: calls as data, wired by output paths and references (docs/plans.md explains them with the bank as example).

`model` reads and writes the notation, `order` is the wiring, `check` says what is wrong before anything runs, `rounds`
is what must be remembered while a plan is worked through, `ready` what is next.
"""
