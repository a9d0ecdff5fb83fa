"""What keeps an agent's loop within bounds: what a run may use, when it goes in circles, and what becomes of messages
that arrive while it works.
"""
