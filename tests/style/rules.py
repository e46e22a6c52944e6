"""Words that our code does without; the rules are in `docs/contributing.md`."""

import re

TARGETS = frozenset(
    "found one each entry known given own other wanted kept others whole done seen every said asked"
    " told thing".split()
)
"""Names of variables and parameters that say that there is something, and not what."""
ADVERBS = frozenset(
    "most what here there least near where why apart far more none two same ahead beyond"
    " both".split()
)
"""The same: adverbs, interrogatives, superlatives."""

FUNCTIONS = {
    "participle": r"_?[a-z]+ed|_?(told|found|taken|given|made|shown|drawn|known|kept|held|seen|said"
    r"|done|chosen|lost|sent|built|bent|written|begun|broken|brought|caught|driven|grown|heard|hidden"
    r"|swept|stuck|gone|fed|left)",
    "no noun": r"_?(of|at|on|in|to|by|about|after|before|above|below|beyond|beside|between|within"
    r"|inside|outside|across|along|around|away|apart|ahead|back|here|there|now|until|over|under|off"
    r"|what|where|why|how|one|all|some|both|few|own|same|most|least|first|second|next|whole|plain"
    r"|wrong|near|nearest|further|alike|elsewhere|present|common)",
    "no object": r"_?(take|keep|look|say|tell|ask|put|give|do|go|hear|want|bring|make|let|hold"
    r"|forget|follow|attend|lose|touch)",
    "gerund": r"_?(?!damping|spacing|rounding|mapping|embedding|recording|training|tracking"
    r"|planning|learning|warning|swing|framing|sampling|ring|ping|string|timing)[a-z]+ing",
}
"""Names of functions that are neither a verb with its object nor a noun for what they return."""
FUNCTION_EXCEPTIONS = frozenset(
    # of Gymnasium, of Python's speed, and methods that return their own class, changed
    "seed feed speed need embed transformed mapped joined delayed faded"
    # part of the interface of controllers and of the state of components
    " hold _hold touch"
    # of Python and of its libraries
    " next all".split()
)
CLASSES = r"_?[A-Z][a-z]+(ed|wn)|_?(Found|Begun|Given|Hidden|Better|Wrong)"

OPENINGS = {
    "Of": r"Of\b",
    "What, How": r"(What|How)\b",
    "Where, Why, When, Which": r"(Where|Why|When|Which)\b",
    "prepositions": r"(As|By|In|That|Those|To|From|For)\b",
    "pronouns": r"(Their|Its|Nothing)\b",
    "verbs without an object": r"(Let|Say|Give|Do|Put|Go|Back|Bring)\b",
    "See": r"See \S+\.?$",
}
"""First words of docstrings that are no sentence and no noun phrase."""
ARGUMENT_OPENINGS = {
    "Of": r"Of\b",
    "What": r"What\b",
    "Where, How, Which, When": r"(Where|How|Which|When)\b",
    "Its, Their, Those": r"(Its|Their|Those)\b",
}
PHRASES = {
    "is no, are no": r"\b(?<!there )(is|are) no\b",
    "that of, those of": r"\b(that|those) of\b",
    "alone": r"\balone\b",
    "where there is none": r"\bwhere (there is none|it|there)\b",
    "; None: and ; empty:": r"; (None|empty):",
    "of its own": r"\bof (its|their) own\b",
    "anew": r"\banew\b",
    "go on": r"\bgo(es)? on\b",
    "so many, as many": r"\b(so|as) many\b",
    "told, tells": r"\b(told|tells)\b",
    "nowhere": r"\bnowhere\b",
    "from which on": r"\bfrom which on\b",
}
"""Phrases that no engineer would write, in docstrings and comments."""


def matching(rules: dict[str, str], text: str, *, whole: bool = False) -> str:
    """Return the name of the first rule that the text breaks, or an empty text."""
    match = re.fullmatch if whole else re.match
    return next((name for name, rule in rules.items() if match(rule, text)), "")
