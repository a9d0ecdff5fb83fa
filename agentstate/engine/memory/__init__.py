"""What an agent remembers of a conversation: which items stay in their own words, and what stands for the others.

Pure. A session's state holds a bounded number of items raw; every older one is covered by exactly one summary that
names its range. Both together are what a model is shown, so what is shown is bounded as well. Read in this order:

`remembering` (an agent's settings), `tokens` (how long a text is), `importance` and `decay` (what matters, and for how
long), `pins` (what never decays), `groups` (a call and its results are one), `summaries` (what stands for older items),
`held` (all that a session remembers), `cover` (which items a summary takes, and what it says), `budget` (when), and
`context` (what a model is shown, word for word). `correction` learns from what a provider counted.
"""
