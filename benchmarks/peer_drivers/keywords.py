"""Keywords that a person would type for a question if every word must match: its rarer words."""

import re

COMMON = frozenset(
    "a an and are at by did do does for from got has have how in is it of on or the their there to "
    "was were what when where which who whose why with".split()
)


def keywords(question):
    return [word for word in re.findall(r"\w+", question.lower()) if word not in COMMON]
