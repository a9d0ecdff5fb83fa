"""What narrows candidates: amounts, numbers, words of time; and what orders them: typed values of their attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from agentstate.engine.talk import dates, tokens
from agentstate.engine.talk.scene import Scene
from agentstate.engine.talk.words import CARDINALS, GRADED, NUMBERS, PLAIN_SCALES, POWERS, listed
from agentstate.engine.understanding.entities import Entity
from agentstate.engine.understanding.ontology import Attribute

CURRENCIES = listed("dollar dollars euro euros pound pounds usd eur gbp bucks buck quid cents")
_OVER = frozenset(["over", "above", "exceeding", "beyond"])
_UNDER = frozenset(["under", "below"])
_NAMED_SCALES = {
    "price": ("price", "cost"),
    "duration": ("duration", "minutes", "hours"),
    "weight": ("weight",),
    "distance": ("distance", "miles", "kilometers"),
    "quality": ("rating", "score", "stars"),
}
_DAYS_AFTER = listed("on from of for by since the due")
_USUAL_SCALES = {"money": ("amount", "price"), "number": ("amount",), "instant": ("time",)}


class Filter(NamedTuple):
    """A question about one entity, its name among the reasons, the tokens it took. `nearest`: see dates.When."""

    asks: Callable[[Entity], bool]
    why: str
    length: int
    nearest: dates.Question | None = None


class Rank(NamedTuple):
    """An order that is asked for: of attribute `attribute`, or of scale `scale`; `more`: the greatest first. `degree`
    is er, est, or empty for a plain adjective.
    """

    scale: str
    more: bool
    degree: str
    length: int
    attribute: str = ""


def attributes_of(scene: Scene, entity: Entity) -> tuple[Attribute, ...]:
    """The declared attributes of the entity's type."""
    kind = scene.words.types.get(entity.type)
    return kind.attributes if kind else ()


def number(text: str) -> Decimal | None:
    """`2`, `1,200` or `two` as a number."""
    if text in NUMBERS:
        return Decimal(NUMBERS[text])
    plain = text.replace(",", "")
    return Decimal(plain) if plain.replace(".", "", 1).isdecimal() and len(plain) <= 20 else None


def read(scene: Scene, index: int, *, bare: bool = False) -> Filter | None:
    """The filter that begins at `index`, if one does. `bare`: a number without unit may be an amount."""
    return _compared(scene, index) or _timed(scene, index) or _counted(scene, index) or _amount(scene, index, bare)


def cardinal(scene: Scene, index: int) -> tuple[Decimal, int] | None:
    """`450`, `three hundred`, `twelve hundred fifty`, and the tokens it takes."""
    if scene.kind(index) == "number":
        value = number(scene.word(index))
        return (value, 1) if value is not None else None
    total, part, at = 0, 0, index
    while scene.word(at) in CARDINALS or (at > index and _goes_on(scene, at)):
        word = scene.word(at)
        if word in POWERS:
            part = max(part, 1) * POWERS[word]
            total, part = (total + part, 0) if POWERS[word] == 1000 else (total, part)
        part += CARDINALS.get(word, 0)
        at += 1
    return (Decimal(total + part), at - index) if at > index else None


def _goes_on(scene: Scene, at: int) -> bool:
    """`hundred`, or the "and" of "two hundred and fifty"."""
    joins = scene.word(at) == "and" and scene.word(at - 1) in POWERS and scene.word(at + 1) in CARDINALS
    return scene.word(at) in POWERS or joins


def _sum_at(scene: Scene, index: int, *, bare: bool) -> tuple[Decimal, int] | None:
    """An amount of money at `index` in major units, and the tokens it takes."""
    if scene.kind(index) == "money":
        return tokens.amount(scene.word(index)), 1
    counted = cardinal(scene, index)
    if counted is None:
        return None
    value, length = counted
    if scene.word(index + length) in CURRENCIES:
        return value, length + 1
    return counted if bare and (scene.kind(index) == "number" or length > 1) else None


def _compared(scene: Scene, index: int) -> Filter | None:
    """`over $400`, `less than 60 euros`, `at least 3`."""
    word, following = scene.word(index), scene.word(index + 1)
    if word == "between":
        return _between(scene, index)
    if word in _OVER | _UNDER:
        over, skip = word in _OVER, 1
    elif word in ("more", "less", "greater", "higher", "lower", "fewer", "bigger", "smaller") and following == "than":
        over, skip = word in ("more", "greater", "higher", "bigger"), 2
    elif word == "at" and following in ("least", "most"):
        over, skip = following == "least", 2
    elif word == "up" and following == "to":
        over, skip = False, 2
    else:
        return None
    found = _sum_at(scene, index + skip, bare=True)
    if found is None:
        return None
    border, length = found
    even = word in ("at", "up")
    return Filter(lambda entity: _beyond(scene, entity, border, over, even), "amount", skip + length)


def _between(scene: Scene, index: int) -> Filter | None:
    """`between 100 and 400 dollars`."""
    low = _sum_at(scene, index + 1, bare=True)
    high = _sum_at(scene, index + 2 + low[1], bare=True) if low and scene.word(index + 1 + low[1]) == "and" else None
    if low is None or high is None:
        return None
    least, most = low[0], high[0]

    def within(entity: Entity) -> bool:
        return any(least <= value <= most for value in _amounts(scene, entity))

    return Filter(within, "amount", 2 + low[1] + high[1])


def _beyond(scene: Scene, entity: Entity, border: Decimal, over: bool, even: bool) -> bool:
    amounts = list(_amounts(scene, entity)) or list(_numbers(scene, entity))
    return any((value > border if over else value < border) or (even and value == border) for value in amounts)


def _amounts(scene: Scene, entity: Entity) -> Iterable[Decimal]:
    for attribute in attributes_of(scene, entity):
        value = entity.attributes.get(attribute.name)
        if attribute.kind == "money" and isinstance(value, dict):
            yield Decimal(value["minor"]) / 100


def _numbers(scene: Scene, entity: Entity) -> Iterable[Decimal]:
    for attribute in attributes_of(scene, entity):
        value = entity.attributes.get(attribute.name)
        if attribute.kind == "number" and isinstance(value, int | Decimal) and not isinstance(value, bool):
            yield Decimal(value)


def _amount(scene: Scene, index: int, bare: bool) -> Filter | None:
    found = _sum_at(scene, index, bare=bare)
    if found is None:
        return None
    wanted, length = found
    return Filter(lambda entity: wanted in (list(_amounts(scene, entity)) or _prices(scene, entity)), "amount", length)


def _prices(scene: Scene, entity: Entity) -> list[Decimal]:
    """Numbers that are amounts of money by their scale or name: not every tool knows money."""
    priced = (
        a for a in attributes_of(scene, entity) if a.kind == "number" and (a.scale == "price" or _tells(a, "price"))
    )
    values = (entity.attributes.get(attribute.name) for attribute in priced)
    return [Decimal(value) for value in values if isinstance(value, int | Decimal)]


def _counted(scene: Scene, index: int) -> Filter | None:
    """`two stops`: a number and what it counts."""
    value = number(scene.word(index)) if scene.kind(index) in ("number", "word") else None
    named = scene.words.attributes.get(scene.word(index + 1), ())
    counted = {(kind, attribute.name) for kind, attribute in named if attribute.kind == "number"}
    if value is None or not counted:
        return None
    return Filter(
        lambda entity: any(kind == entity.type and entity.attributes.get(name) == value for kind, name in counted),
        "number",
        2,
    )


def _timed(scene: Scene, index: int) -> Filter | None:
    skip = 1 if scene.word(index) == "the" else 0
    found = dates.when(scene.tokens, index, scene.now) or (
        dates.when(scene.tokens, index + skip, scene.now) if skip else None
    )
    skip = 0 if found is not None and dates.when(scene.tokens, index, scene.now) is not None else skip
    figures = scene.word(index + skip)[:1].isdecimal()
    if found is None and scene.word(index - 1) in (_DAYS_AFTER if figures else ("on",)):
        found = dates.day_of_month(scene.tokens, index + skip)
    if found is None:
        return None
    asks = found.asks
    return Filter(
        lambda entity: any(asks(at) for at in instants_of(scene, entity)),
        "time",
        found.length + skip,
        asks if found.nearest else None,
    )


def instants_of(scene: Scene, entity: Entity) -> list[datetime]:
    """Every instant among the entity's attributes."""
    named = (attribute.name for attribute in attributes_of(scene, entity) if attribute.kind == "instant")
    found = (dates.instant(entity.attributes.get(name)) for name in named)
    return [at for at in found if at is not None]


def apply(scene: Scene, ids: list[str], filter_: Filter) -> list[str]:
    """The candidates of which the filter is true. "Tuesday" is the nearest one of which something is known."""
    kept = [entity for entity in ids if filter_.asks(scene.entities[entity])]
    asks = filter_.nearest
    if asks is None or len(kept) < 2:
        return kept
    today = scene.now.date()
    days = {entity: [at.date() for at in instants_of(scene, scene.entities[entity]) if asks(at)] for entity in kept}
    nearest = min((day for found in days.values() for day in found), key=lambda day: (day > today, abs(day - today)))
    return [entity for entity in kept if nearest in days[entity]]


def rank(scene: Scene, index: int) -> Rank | None:
    """The adjective at `index` that asks for an order: "cheapest", "most expensive", "lower rate", "direct"."""
    word = scene.word(index)
    if word in scene.words.orders:
        name, more = scene.words.orders[word]
        return Rank("", more, "est", 1, name)
    if word in ("most", "more", "least", "less") and scene.word(index + 1) in PLAIN_SCALES:
        scale, direction = PLAIN_SCALES[scene.word(index + 1)]
        return Rank(scale, direction == (word in ("most", "more")), "est" if word in ("most", "least") else "er", 2)
    counted = scene.words.attributes.get(scene.word(index + 1))
    if word in ("more", "most", "less", "least", "fewer", "fewest") and (counted or scene.word(index + 1) == "money"):
        more, attribute = word in ("more", "most"), counted[0][1].name if counted else ""
        return Rank("amount", more, "est" if word.endswith("st") else "er", 2, attribute)
    if word not in GRADED:
        return None
    scale, more, degree = GRADED[word]
    named = scene.words.attributes.get(scene.word(index + 1))
    if named:
        return Rank(scale, more, degree, 2, named[0][1].name)
    return Rank(scale, more, degree, 1)


def ordered(scene: Scene, ids: list[str], asked: Rank) -> list[tuple[Any, str]]:
    """The candidates that have such a value, with it, what is asked for first. Different currencies do not compare."""
    valued = [(value, entity) for entity in ids if (value := _value(scene, scene.entities[entity], asked)) is not None]
    if len({type(value[0]) if isinstance(value, tuple) else "" for value, _ in valued}) > 1:
        return []
    kinds = {value[0] for value, _ in valued}
    if len(kinds) > 1:
        return []
    plain = [(value[1], entity) for value, entity in valued]
    return sorted(plain, key=lambda pair: pair[0], reverse=asked.more)


def _value(scene: Scene, entity: Entity, asked: Rank) -> tuple[str, Any] | None:
    for attribute in _ranked(scene, entity, asked):
        value = entity.attributes.get(attribute.name)
        if attribute.kind == "money" and isinstance(value, dict):
            return (f"money {value['currency']}", value["minor"])
        if attribute.kind == "instant" and (at := dates.instant(value)) is not None:
            return ("instant", at)
        if attribute.kind == "number" and isinstance(value, int | Decimal):
            return ("number", Decimal(value))
        if attribute.kind == "flag" and isinstance(value, bool):
            return ("flag", not value)
    return None


def _ranked(scene: Scene, entity: Entity, asked: Rank) -> list[Attribute]:
    """The attributes by which such an order is meant, the likeliest first."""
    attributes = attributes_of(scene, entity)
    if asked.attribute:
        return [attribute for attribute in attributes if attribute.name == asked.attribute]
    fit = [a for a in attributes if asked.scale in ((a.scale,) if a.scale else _USUAL_SCALES.get(a.kind, ()))]
    fit = fit or [a for a in attributes if not a.scale and _tells(a, asked.scale)]
    happened = scene.type(entity.id).happened
    return sorted(fit, key=lambda a: a.name != happened)


def _tells(attribute: Attribute, scale: str) -> bool:
    """Whether an attribute without a declared scale is of this one by its name: a number called price is a price."""
    return any(name in attribute.name.lower() for name in _NAMED_SCALES.get(scale, ()))


def by_time(scene: Scene, ids: list[str]) -> list[str]:
    """The candidates that have a time, the oldest first."""
    return [entity for _, entity in ordered(scene, ids, Rank("time", False, "est", 0))]
