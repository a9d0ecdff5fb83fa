"""English as far as references go: closed lists of words. Nothing of any domain is in here; see `ontology` for that.

Lists hold lower-case words as `tokens.tokens` cuts them (`don't` is `don` and `'t`).
"""

from __future__ import annotations

from collections.abc import Mapping


def listed(text: str) -> frozenset[str]:
    """The words of `text`, as a set."""
    return frozenset(text.split())


THING = listed("it its itself")
FEMALE = listed("she her hers herself")
MALE = listed("he him his himself")
PLURAL = listed("they them their theirs themselves")
POSSESSIVE = listed("its her his their")
OWN = listed("my our your")
DEFINITE = listed("the my our your its her his their")
POINTING = listed("that this those these")
INDEFINITE = listed("a an another any some no every which what whatever anything something nothing more new")
HEADS: Mapping[str, bool] = {"one": False, "ones": True}  # stand-ins for a noun; True: plural
QUANTITIES = listed("both all each either neither everything none every everyone")
OTHER = listed("other others else rest remaining")
SAME = listed("same usual")
EXCEPT = listed("except besides excluding minus without")
NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "couple": 2, "pair": 2, "zero": 0,
}  # fmt: skip
CARDINALS = {
    **NUMBERS, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
POWERS = {"hundred": 100, "thousand": 1000, "grand": 1000}
ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5, "6th": 6, "7th": 7, "8th": 8, "9th": 9, "10th": 10,
    "former": 1, "top": 1,
}  # fmt: skip
FROM_END = {"last": 1, "latter": 1, "final": 1, "bottom": 1, "penultimate": 2}
BEFORE = listed("previous preceding prior")
AFTER = listed("next following subsequent")

# Adjectives that order: what they are of, and whether they ask for more of it.
_SCALES: Mapping[str, tuple[str, bool]] = {
    **dict.fromkeys(("large", "big", "high", "great", "huge"), ("amount", True)),
    **dict.fromkeys(("small", "low", "little", "tiny"), ("amount", False)),
    **dict.fromkeys(("expensive", "pricey", "costly", "dear"), ("price", True)),
    **dict.fromkeys(("cheap", "inexpensive", "affordable", "economical"), ("price", False)),
    **dict.fromkeys(("late", "recent", "new", "fresh"), ("time", True)),
    **dict.fromkeys(("early", "old", "soon"), ("time", False)),
    **dict.fromkeys(("long", "slow"), ("duration", True)),
    **dict.fromkeys(("short", "fast", "quick"), ("duration", False)),
    "heavy": ("weight", True),
    "light": ("weight", False),
    **dict.fromkeys(("far", "distant"), ("distance", True)),
    **dict.fromkeys(("near", "close"), ("distance", False)),
    **dict.fromkeys(("good", "popular"), ("quality", True)),
    **dict.fromkeys(("bad", "poor"), ("quality", False)),
}
_IRREGULAR = {
    "better": ("good", "er"), "best": ("good", "est"), "worse": ("bad", "er"), "worst": ("bad", "est"),
    "latest": ("late", "est"), "later": ("late", "er"), "lesser": ("small", "er"), "least": ("small", "est"),
    "farther": ("far", "er"), "further": ("far", "er"), "farthest": ("far", "est"), "furthest": ("far", "est"),
    "max": ("large", "est"), "maximum": ("large", "est"), "min": ("small", "est"), "minimum": ("small", "est"),
    "pricier": ("pricey", "er"), "priciest": ("pricey", "est"), "bigger": ("big", "er"),
    "biggest": ("big", "est"), "most": ("large", "est"), "elder": ("old", "er"),
}  # fmt: skip


def _graded() -> dict[str, tuple[str, bool, str]]:
    """Every comparative ("er") and superlative ("est") with its scale and direction."""
    graded = {}
    for word, (scale, more) in _SCALES.items():
        stem = word[:-1] + "i" if word.endswith("y") else word.removesuffix("e")
        for degree in ("er", "est"):
            graded[stem + degree] = (scale, more, degree)
    for word, (plain, degree) in _IRREGULAR.items():
        graded[word] = (*_SCALES[plain], degree)
    return graded


PLAIN_SCALES = _SCALES
GRADED = _graded()

KIN: Mapping[str, str] = {
    **dict.fromkeys(
        listed("sister mother mom mum mommy wife daughter aunt grandmother grandma niece girlfriend granddaughter"),
        "female",
    ),
    **dict.fromkeys(
        listed("brother father dad daddy husband son uncle grandfather grandpa nephew boyfriend grandson"), "male"
    ),
    **dict.fromkeys(listed("partner spouse friend cousin boss neighbor neighbour roommate parent child kid"), ""),
}  # fmt: skip
TITLES = {"mr": "male", "mister": "male", "sir": "male", "ms": "female", "mrs": "female", "miss": "female", "dr": ""}

BE = listed("is 's was be been are 're were am 'm being isn wasn aren weren ain")
MODAL = listed(
    "will would can could should may might must shall 'll 'd won wouldn couldn shouldn do does did don didn doesn"
)
VERBS = BE | MODAL | listed(
    "has have had hasn haven hadn get gets got go goes went come comes came make makes made take takes took work works"
    " worked look looks looked sound sounds seem seems cost costs say says said need needs want wants like likes show"
    " shows arrive arrives arrived leave leaves left expire expires fit fits suit suits go keep keeps stay stays happen"
    " happens went gone give gives start starts end ends stop stops help helps appear appears turn turns mean means"
    " hold holds contain contains include includes remain remains cover covers"
    " change changes pay pays use uses put send sends cancel book call let try see know think"
)  # fmt: skip
PREPOSITIONS = listed(
    "to from in into onto on at for of with by over under above below about than via through before after since until"
    " till between within around as like out off up down near during per toward towards against across behind"
)
CONJUNCTIONS = listed(
    "and or but because so if when while although though unless then that which who whether nor yet plus"
)
RELATIVES = listed("i you we he she they that which who whom where")
PRONOUNS = listed("i me you we us he him she her it they them who whom myself yourself mine yours ours")
ADVERBS = listed(
    "please now then too also instead again only just still already today tomorrow yesterday tonight here there thanks"
    " thank ok okay right away soon later first last actually really very much once twice available possible not n't"
    " 't yes no maybe perhaps anyway though either both all well sure fine good great immediately straight sir madam"
    " ever never always tho pls back off"
)
CLOSED = VERBS | PREPOSITIONS | CONJUNCTIONS | PRONOUNS | ADVERBS | DEFINITE | POINTING | INDEFINITE | QUANTITIES
STOP = CLOSED | listed("one ones two three 're 've 'll 'd 's mine how where why whose dollar dollars euro euros worth")

# What "it" or "that" is about in these is no thing that was spoken of.
EMPTY_IT = listed(
    "raining snowing sunny cold hot warm windy dark late early fine ok okay great good nice lovely wonderful perfect"
    " alright all right true false possible impossible clear obvious likely unlikely important urgent necessary better"
    " best worse easier hard easy difficult strange funny weird sad annoying frustrating ridiculous unfair"
    " helpful amazing"
    " awesome time noon midnight monday tuesday wednesday thursday friday saturday sunday about me my his her"
    " your our the"
    " a an what worth up because like kind awful terrible awkward crazy confusing fair sure certain enough no correct"
)
IT_VERBS = listed("seems seem seemed appears appear appeared depends looks turns hurts says feels sounds happens")
VERBS_OF_ACTION = listed("do did does doing done")
# verb + "it"/"that" as a whole idiom
IDIOM_VERBS = listed(
    "got appreciate forget believe made make call worth understand know see mean guess say said thought think hope bet"
    " figured assume doubt realize realise imagine heard hear promise suppose gather swear do did done doing does hang"
    " beat play risk helps help"
)
