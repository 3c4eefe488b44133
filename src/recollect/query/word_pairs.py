"""Which of many texts have nearly the same words, without comparing each with each.

Source: prefix filtering (Chaudhuri et al. 2006; Bayardo et al. 2007, "Scaling up all pairs
similarity search"). If one set has all words of another and at most a tenth more, the rarest word
of the smaller one is among the rarest tenth, and one more, of the larger: so each text is indexed
by these alone, and looked up by its rarest word.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set

# Texts that share their rarest word: only texts of common words are in so long a list.
MOST_SHARING = 200


def nearly_equal(texts: Sequence[Set[str]], alike: float) -> Iterator[tuple[int, int]]:
    """The places of each two of which one has all words of the other, which are at least the share
    `alike` of its own."""
    common = Counter(word for words in texts for word in words)
    ordered = [sorted(words, key=lambda word: (common[word], word)) for words in texts]
    index: defaultdict[str, list[int]] = defaultdict(list)
    for place, words in enumerate(ordered):
        for word in words[: int((1 - alike) * len(words)) + 1]:
            index[word].append(place)
    for place, words in enumerate(ordered):
        for other in index[words[0]][:MOST_SHARING] if words else ():
            few, many = len(texts[place]), len(texts[other])
            # Of two sets of one size each finds the other: once is enough.
            sizes = few >= alike * many and (few, place) < (many, other)
            if sizes and texts[place] <= texts[other]:
                yield place, other
