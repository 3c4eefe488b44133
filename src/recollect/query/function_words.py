"""Function words in several languages: words that questions are asked with and answers need not
hold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from recollect.query.terms import STOP_WORDS

# Question words, articles, auxiliaries, pronouns, prepositions; none that names a thing in another
# of these languages ("war", "hat", "dos"). English has STOP_WORDS in addition.
ENGLISH = (
    "did done we our my me can could should would may might must were had been am "
    "they them he she his her their theirs here there than then so if not no any some much many "
    "about into out up under over get got going go want need know tell please"
)
OTHERS = {
    "german": (
        "wer was wann wo wie warum wieso welche welcher welches welchen welchem wem wen "
        "wessen womit wofür woher wohin wieviel wieviele ist sind waren wird werden wurde "
        "wurden haben hatte der das dem des ein eine einen einem einer eines und oder im auf "
        "von vom zu zum zur mit für bei nach aus es sie er ich wir mein meine unser unsere "
        "nicht sich als auch"
    ),
    "spanish": (
        "quién quien quiénes qué que cuándo cuando dónde donde cómo como cuál cuáles cuánto "
        "cuánta cuántos cuántas por para el la los las un una unos unas de del en fue fueron "
        "era eran ha han se su sus al lo mi mis nuestro nuestra"
    ),
    "french": (
        "qui quoi quand où comment pourquoi quel quelle quels quelles combien est sont était "
        "ont le les une du et ou au dans sur par avec ce cette il elle on nous mon ma mes "
        "notre nos ne pas sa ses la de des un en que se lui"
    ),
    "italian": (
        "quando perché cosa quale quali quanto quanti quante è sono erano gli della dello "
        "degli delle nel nella nelle dalla sulla questo questa anche sua suo suoi la "
        "le lo il un una del era se"
    ),
    "portuguese": (
        "quem qual quais onde são foi foram uma umas pelo pela não seu seus suas isso mais ao "
        "que como quando era por para de da"
    ),
    "dutch": (
        "wat wanneer waar waarom welk welke hoeveel zijn werd heeft het een voor naar bij uit "
        "mijn onze niet wie de en"
    ),
    "romanian": (
        "cine când unde cum cât câtă câți câte este sunt erau fost și sau din pe cu pentru "
        "prin lui nu ce la de un au se"
    ),
    "turkish": (
        "kim kimin neyi nerede nereye nasıl neden niçin niye hangi hangisi kaç ve veya bir bu "
        "şu için ile da mı mu mü dir dır olan olarak"
    ),
    "vietnamese": (
        "gì nào đâu khi bao nhiêu sao thế là của và các những được trong cho với có không một "
        "đã tại từ bởi như ra vào"
    ),
    "russian": (
        "кто что когда где как почему зачем какой какая какое какие каким какую каких какого "
        "каком сколько чей чем кем кого чего был была было были или во на со по из от для об "
        "не это он она они мы мой наш же ли"
    ),
    "greek": (
        "ποιος ποια ποιο ποιοι ποιες ποιον τι πότε πού πώς γιατί πόσο πόσα πόσοι πόσες το οι "
        "τα του της των τον την στο στη στην στον στα και είναι ήταν με για από σε να που ένα "
        "μια ένας δεν"
    ),
    "arabic": (
        "من ما ماذا متى أين كيف لماذا أي كم هل في على إلى عن مع هو هي كان كانت التي الذي أن "
        "لا هذا هذه"
    ),
    "hindi": (
        "कौन क्या कब कहाँ कहां कैसे क्यों कितने कितना कितनी किस किसने किसे है हैं था थे थी के "
        "का की में से को ने पर और या एक यह"
    ),
}
TELLING = 2  # function words of a language that identify a query's language
# Letters that few of the other languages have.
SCRIPTS = {
    "russian": range(ord("а"), ord("ё") + 1),
    "greek": range(ord("ά"), ord("ώ") + 1),
    "arabic": range(ord("ء"), ord("ي") + 1),
}


def is_function_word(word: str) -> bool:
    """Return True for a lower-cased function word of a script with spaces between words."""
    return word in STOP_WORDS or word in _function_words()


def content_words(words: Sequence[str]) -> list[str]:
    """Return the lower-cased words that are not function words; all if nothing else is left."""
    return [word for word in words if word not in _function_words()] or list(words)


def is_english(words: Sequence[str]) -> bool:
    """Return True if more of the words are English function words than foreign ones, or none is
    foreign."""
    counts = [sum(map(known.__contains__, words)) for known in (english_words(), _foreign())]
    return counts[0] > counts[1] or not counts[1]


def languages_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the languages other than English that the lower-cased words may be in; several if they
    tie.

    The script counts too. In plain letters one function word alone may be a name: `es modules`.
    """
    letters = "".join(words)
    found = {name: sum(map(known.__contains__, words)) for name, known in _by_language().items()}
    most = max(found.values())
    if most >= (TELLING if letters.isascii() else 1) and not is_english(words):
        return tuple(name for name, count in found.items() if count == most)
    shares = {name: sum(ord(one) in span for one in letters) for name, span in SCRIPTS.items()}
    return tuple(name for name, share in shares.items() if 2 * share > len(letters))


def words_of(language: str) -> frozenset[str]:
    """Return the function words of a language other than English."""
    return _by_language()[language]


@cache
def english_words() -> frozenset[str]:
    return STOP_WORDS.union(ENGLISH.split())


@cache
def _foreign() -> frozenset[str]:
    return _function_words() - english_words()


@cache
def _function_words() -> frozenset[str]:
    return frozenset(ENGLISH.split()).union(*_by_language().values())


@cache
def _by_language() -> dict[str, frozenset[str]]:
    return {language: frozenset(listed.split()) for language, listed in OTHERS.items()}
