"""Turns: who spoke, when, in which entries, and which questions are still open."""

from __future__ import annotations

from msgspec.structs import replace

from agentstate.engine.understanding.held import KEPT_TURNS, Talk, Turn

MOST_OPEN = 3  # questions of one turn that are kept


def taken(talk: Talk, by: str, asks: tuple[str, ...], seq: int, at: str) -> Talk:
    """The talk after `by` spoke and asked `asks`: a turn goes on while the same side speaks. Notes are no turns."""
    if by == "note":
        return talk
    if talk.turns and talk.turns[-1].by == by:
        turn = talk.turns[-1]
        longer = replace(turn, last=seq, messages=turn.messages + 1, asks=(*turn.asks, *asks)[-MOST_OPEN:])
        return replace(talk, turns=(*talk.turns[:-1], longer))
    number = talk.turn + 1
    turn = Turn(number, by, seq, seq, at, asks=asks, topic=talk.topic)
    return replace(talk, turns=(*_answered(talk.turns, by), turn)[-KEPT_TURNS:], turn=number)


def _answered(turns: tuple[Turn, ...], by: str) -> tuple[Turn, ...]:
    """Whoever speaks next has heard the questions of the others: they are open no longer."""
    return tuple(replace(turn, asks=()) if turn.asks and turn.by != by else turn for turn in turns)


def open_questions(talk: Talk) -> list[tuple[Turn, str]]:
    """The questions that nobody has answered yet, oldest first."""
    return [(turn, question) for turn in talk.turns for question in turn.asks]
