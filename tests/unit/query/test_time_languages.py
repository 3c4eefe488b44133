"""Times in seven other languages: what is read as which days, and what stays as it is.

Read on Sunday 2026-11-15, in its forty-sixth week, which began on Monday the 9th.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from recollect.query.time.calendar import Period
from recollect.query.time.periods import describe, periods, without
from recollect.query.time.translation import time_words, translate

NOW = datetime(2026, 11, 15, 9, tzinfo=UTC)


def read(text: str) -> tuple[Period, ...]:
    return periods(text, NOW, languages=True)


# The same times in each language: German, French, Spanish, Italian, Portuguese, Dutch, Russian.
SAID = {
    ("2026-11-14", "2026-11-14"): "gestern|hier|ayer|ieri|ontem|gisteren|вчера",
    ("2026-11-13", "2026-11-13"): (
        "vorgestern|avant-hier|anteayer|l'altro ieri|anteontem|eergisteren|позавчера"
    ),
    ("2026-11-15", "2026-11-15"): "heute|aujourd'hui|hoy|oggi|hoje|vandaag|сегодня",
    ("2026-11-02", "2026-11-08"): (
        "letzte Woche|la semaine dernière|la semana pasada|la settimana scorsa|na semana passada"
        "|vorige week|на прошлой неделе"
    ),
    ("2026-10-01", "2026-10-31"): (
        "im letzten Monat|le mois dernier|el mes pasado|il mese scorso|no mês passado|vorige maand"
        "|в прошлом месяце"
    ),
    ("2026-01-01", "2026-12-31"): (
        "dieses Jahr|cette année|este año|quest'anno|este ano|dit jaar|в этом году"
    ),
    ("2026-11-12", "2026-11-12"): (
        "vor drei Tagen|il y a trois jours|hace tres días|tre giorni fa|há três dias"
        "|drie dagen geleden|три дня назад"
    ),
    ("2026-11-08", "2026-11-15"): (
        "in den letzten 7 Tagen|les 7 derniers jours|los últimos 7 días|negli ultimi 7 giorni"
        "|nos últimos 7 dias|de afgelopen 7 dagen|за последние 7 дней"
    ),
    ("2026-03-01", "2026-03-31"): (
        "im März|en mars|en marzo|a marzo|em março|in maart|в марте"
    ),
    ("2025-03-03", "2025-03-03"): (
        "am 3. März 2025|le 3 mars 2025|el 3 de marzo de 2025|il 3 marzo 2025|em 3 de março de 2025"
        "|op 3 maart 2025|3 марта 2025 года"
    ),
    ("2026-03-03", "2026-03-05"): (
        "vom 3. bis 5. März|du 3 au 5 mars|del 3 al 5 de marzo|dal 3 al 5 marzo|de 3 a 5 de março"
        "|van 3 tot 5 maart|с 3 по 5 марта"
    ),
    ("2025-03-01", "2025-05-31"): (
        "von März bis Mai 2025|de mars à mai 2025|de marzo a mayo de 2025|da marzo a maggio 2025"
        "|de março a maio de 2025|van maart tot mei 2025|с марта по май 2025"
    ),
    ("2026-11-09", "2026-11-09"): (
        "letzten Montag|lundi dernier|el lunes pasado|lunedì scorso|segunda-feira passada"
        "|afgelopen maandag|в прошлый понедельник"
    ),
    ("2026-06-01", "2026-08-31"): (
        "letzten Sommer|l'été dernier|el verano pasado|l'estate scorsa|o verão passado"
        "|vorige zomer|прошлым летом"
    ),
    ("2024-01-01", "2024-12-31"): (
        "im Jahr 2024|en 2024|en el año 2024|nel 2024|no ano 2024|in het jaar 2024|в 2024 году"
    ),
    ("2026-05-01", ""): (
        "seit Mai|depuis mai|desde mayo|da maggio|desde maio|sinds mei|с мая"
    ),
    ("", "2026-02-28"): (
        "vor März|avant mars|antes de marzo|prima di marzo|antes de março|vóór maart|до марта"
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [(text, *days) for days, texts in SAID.items() for text in texts.split("|")],
)
def test_a_time_is_read_in_each_language(text: str, first: str, last: str) -> None:
    (period,) = read(text)
    start, end = period.start, period.end
    assert (start.date().isoformat() if start else "") == first
    assert ((end - timedelta(days=1)).date().isoformat() if end else "") == last
    assert (period.said, period.exact) == (text, True)


def test_every_time_is_there_in_every_language() -> None:
    assert {text.count("|") + 1 for text in SAID.values()} == {len(time_words())}


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Was haben wir gestern beschlossen?", "Was haben wir beschlossen?"),
        ("Rechnungen vom letzten Monat", "Rechnungen"),
        ("qu'avons-nous décidé la semaine dernière ?", "qu'avons-nous décidé?"),
        ("facturas del mes pasado", "facturas"),
        ("cosa abbiamo deciso ieri sul server", "cosa abbiamo deciso sul server"),
        ("o que decidimos em março sobre o servidor", "o que decidimos sobre o servidor"),
        ("facturen van vorige maand", "facturen"),
        ("что мы решили вчера", "что мы решили"),
        ("gestern", "gestern"),
    ],
)
def test_the_rest_of_the_query_keeps_its_own_words(text: str, rest: str) -> None:
    assert without(text, read(text)) == rest


def test_a_hint_stays_one() -> None:
    for text in ("kürzlich", "Anfang März", "récemment", "недавно"):
        assert not read(text)[0].exact
    assert describe(read("Notizen der letzten Woche")[0]) == (
        "der letzten Woche = 2026-11-02 … 2026-11-08"
    )


@pytest.mark.parametrize(
    "text",
    [
        "mars rover landing",
        "the mars rover may come once",
        "mayo recipe",
        "once upon a time",
        "la mars mission",
        "in mars",
        "cinco de mayo party",
        "estate planning",
        "Rio de Janeiro trip",
        "primavera p6 export",
        "David Ayer",
        "what did we decide gestern",  # asked in English
        "was ist hier passiert",  # German `hier` is `here`
        "jeden Montag",
        "cada lunes",
        'wo steht "letzte Woche"',
        "Welche Musik der 1970er-Jahre",
        "настроить среду разработки",  # `среда` is an environment as well
        "În ce an a fost",  # Romanian has no table, and `ce an` is French, too
    ],
)
def test_words_with_another_meaning_name_no_time(text: str) -> None:
    assert read(text) == ()


@pytest.mark.parametrize(
    "text",
    ["what did we decide last week", "notes since March 2026", "the 2024 budget", "van gogh 2024"],
)
def test_a_query_in_english_is_read_as_before(text: str) -> None:
    assert translate(text) is None
    assert read(text) == periods(text, NOW)


def test_other_languages_are_read_only_where_that_is_asked_for() -> None:
    assert periods("letzte Woche", NOW) == ()


WORDS = sorted({
    word
    for table in time_words().values()
    for listed in (
        table.months, table.weekdays, table.numbers, table.units, table.parts, table.fillers,
        table.ago, table.no_time, *table.near.values(), *table.which.values(),
        *table.leads.values(),
    )
    for word in (*listed.replace("/", " ").replace(",", " ").split(), "3.", "2025", "'", "-", "\"")
})  # fmt: skip


@settings(max_examples=examples(300))
@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join))
def test_any_words_of_the_tables_are_read_in_order_and_without_error(text: str) -> None:
    place = 0
    for period in read(text):
        assert place <= period.span.start < period.span.end <= len(text)
        assert text[: period.span.end].endswith(period.said)
        place = period.span.end
