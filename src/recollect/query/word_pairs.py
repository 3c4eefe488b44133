"""Pairs of texts with nearly the same words, without comparing all of them.

Source: prefix filtering (Chaudhuri et al. 2006; Bayardo et al. 2007, "Scaling up all pairs
similarity search"). If one set has all words of another and at most a tenth more, the rarest word
of the smaller one is among the rarest tenth, and one more, of the larger. So each text is indexed
by these alone, and looked up by its rarest word.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set

# Texts compared with the same rarest word: only common words have more.
MOST_SHARING = 200


def nearly_equal(texts: Sequence[Set[str]], alike: float) -> Iterator[tuple[int, int]]:
    """Yield the positions of two texts if one has all words of the other, and those are at least
    the share `alike` of its own."""
    common = Counter(word for words in texts for word in words)
    ordered = [sorted(words, key=lambda word: (common[word], word)) for words in texts]
    index: defaultdict[str, list[int]] = defaultdict(list)
    for place, words in enumerate(ordered):
        for word in words[: int((1 - alike) * len(words)) + 1]:
            index[word].append(place)
    for place, words in enumerate(ordered):
        for other in index[words[0]][:MOST_SHARING] if words else ():
            few, many = len(texts[place]), len(texts[other])
            # Two sets of the same size find each other: yield them once.
            sizes = few >= alike * many and (few, place) < (many, other)
            if sizes and texts[place] <= texts[other]:
                yield place, other
