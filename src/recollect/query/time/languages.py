"""The words that name times in seven languages, each with the English that `grammar.py` reads.

A table lists forms as they are written; a form of several words has blanks between them, also where
a hyphen or an apostrophe stands in a query (`avant-hier`, `aujourd'hui`). Lists of months, weekdays
and numbers are in order, the forms of one place joined by `/`.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

IN_ORDER = {
    "months": (
        "January February March April May June July August September October November December"
    ).split(),
    "weekdays": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "seasons": "spring summer autumn winter".split(),
    "numbers": "1 2 3 4 5 6 7 8 9 10 11 12".split(),
}
# Words of these languages that are English words as well, or names, or things in another of these
# languages: alone they name no time, and they do not tell the language.
DOUBTFUL = frozenset(
    "april august september november december winter mars mai mei mayo julio augustus avril "
    "janeiro domingo week weekend tag dia ore an mes estate primavera recent anterior ce quest "
    "hora van von al alla na op fra nos nas ab e y et en und fin mi fine final fines half begin "
    "среда среду".split()
)


class TimeWords(Struct, frozen=True):
    """One language. The keys of a mapping are English, its values forms, separated by commas. `at`
    stands for what is `to` behind another time, and else `in`."""

    months: str
    weekdays: str
    seasons: str
    numbers: str  # from one on
    units: Mapping[str, str]
    near: Mapping[str, str]  # days around today, and `recently`
    which: Mapping[str, str]  # `last` is the calendar's, `past` ends today
    parts: Mapping[str, str]
    leads: Mapping[str, str]  # prepositions, `and`, `every`
    fillers: str  # articles and what means `of`
    ago: str
    no_time: str = ""  # what holds such a word and names no time


TIME_WORDS = {
    "german": TimeWords(
        months=(
            "januar/jänner februar/feber märz/maerz april mai juni juli august september oktober "
            "november dezember"
        ),
        weekdays="montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag",
        seasons="frühling/frühjahr sommer herbst winter",
        numbers=(
            "ein/eine/einem/einen/einer/eins zwei drei vier fünf sechs sieben acht neun zehn elf "
            "zwölf"
        ),
        units={
            "hour": "stunde, stunden",
            "day": "tag, tage, tagen",
            "week": "woche, wochen",
            "weekend": "wochenende",
            "month": "monat, monate, monaten, monats",
            "quarter": "quartal, quartals",
            "year": "jahr, jahre, jahren, jahres",
        },
        near={
            "today": (
                "heute, heute morgen, heute früh, heute vormittag, heute nachmittag, heute abend"
            ),
            "yesterday": (
                "gestern, gestern morgen, gestern früh, gestern vormittag, gestern mittag, "
                "gestern nachmittag, gestern abend"
            ),
            "the day before yesterday": "vorgestern",
            "tomorrow": "morgen, morgen früh, morgen abend",
            "the day after tomorrow": "übermorgen",
            "last week": "vorwoche",
            "last month": "vormonat",
            "last year": "vorjahr",
            "recently": "kürzlich, neulich, vor kurzem",
        },
        which={
            "last": (
                "letzte, letzten, letzter, letztes, letztem, vorige, vorigen, voriger, voriges, "
                "vorigem, vergangene, vergangenen, vergangener, vergangenes, vergangenem"
            ),
            "this": "diese, diesen, dieser, dieses, diesem",
            "next": "nächste, nächsten, nächster, nächstes, nächstem, kommende, kommenden",
        },
        parts={"early": "anfang", "mid": "mitte", "late": "ende"},
        leads={
            "in": "im, in, am, während",
            "from": "aus, von, vom",
            "since": "seit, ab",
            "until": "bis, bis zum, bis zur",
            "before": "vor",
            "after": "nach",
            "between": "zwischen",
            "and": "und",
            "every": "jede, jeden, jeder, jedes",
        },
        fillers="der, die, das, dem, den, des",
        ago="vor",
        no_time="am morgen, jeden morgen, vor allem, hier",
    ),
    "french": TimeWords(
        months=(
            "janvier février/fevrier mars avril mai juin juillet août/aout septembre octobre "
            "novembre décembre/decembre"
        ),
        weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
        seasons="printemps été automne hiver",
        numbers="un/une deux trois quatre cinq six sept huit neuf dix onze douze",
        units={
            "hour": "heure, heures",
            "day": "jour, jours",
            "week": "semaine, semaines, semaine ci",
            "weekend": "week end, weekend",
            "month": "mois, mois ci",
            "quarter": "trimestre",
            "year": "an, ans, année, années, année ci",
        },
        near={
            "today": "aujourd, aujourd hui, ce matin, cet après midi, ce soir",
            "yesterday": "hier, hier matin, hier soir, hier après midi",
            "the day before yesterday": "avant hier",
            "tomorrow": "demain, demain matin, demain soir",
            "the day after tomorrow": "après demain",
            "recently": "récemment, dernièrement, ces derniers temps",
        },
        which={
            "last": (
                "dernier, dernière, derniers, dernières, passé, passée, précédent, précédente"
            ),
            "this": "ce, cet, cette",
            "next": "prochain, prochaine, suivant, suivante",
        },
        parts={
            "early": "début",
            "mid": "mi, milieu",
            "late": "fin",
        },
        leads={
            "in": "en, au, aux, pendant, durant, dans, au cours",
            "from": "dès",
            "since": "depuis, à partir",
            "until": "jusqu à, jusqu au, jusqu en, jusque",
            "to": "à",
            "before": "avant",
            "after": "après",
            "between": "entre",
            "and": "et",
            "every": "chaque, tous les",
        },
        fillers="l, le, la, les, d, de, du, des, ces",
        ago="il y a",
    ),
    "spanish": TimeWords(
        months=(
            "enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre "
            "noviembre diciembre"
        ),
        weekdays="lunes martes miércoles/miercoles jueves viernes sábado/sabado domingo",
        seasons="primavera verano otoño invierno",
        numbers="un/una/uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        units={
            "hour": "hora, horas",
            "day": "día, días, dia, dias",
            "week": "semana, semanas",
            "weekend": "fin de semana",
            "month": "mes, meses",
            "quarter": "trimestre",
            "year": "año, años",
        },
        near={
            "today": "hoy, esta mañana, esta tarde, esta noche",
            "yesterday": ("ayer, ayer por la mañana, ayer por la tarde, ayer por la noche, anoche"),
            "the day before yesterday": "anteayer, antes de ayer",
            "tomorrow": "mañana, mañana por la mañana, mañana por la tarde",
            "the day after tomorrow": "pasado mañana",
            "recently": "recientemente, últimamente, hace poco",
        },
        which={
            "last": "pasado, pasada, pasados, pasadas, anterior",
            "past": "último, última, últimos, últimas, ultimo, ultima, ultimos, ultimas",
            "this": "este, esta",
            "next": "próximo, próxima, proximo, proxima, siguiente, que viene",
        },
        parts={
            "early": "principios, comienzos, inicios",
            "mid": "mediados",
            "late": "finales, fines",
        },
        leads={
            "in": "en, durante",
            "at": "a, al",
            "since": "desde, a partir",
            "until": "hasta",
            "before": "antes de, antes del",
            "after": "después de, después del, tras",
            "between": "entre",
            "and": "y",
            "every": "cada, todos los",
        },
        fillers="el, la, los, las, de, del",
        ago="hace",
        no_time="por la mañana, de la mañana",
    ),
    "italian": TimeWords(
        months=(
            "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
            "dicembre"
        ),
        weekdays=(
            "lunedì/lunedi martedì/martedi mercoledì/mercoledi giovedì/giovedi venerdì/venerdi "
            "sabato domenica"
        ),
        seasons="primavera estate autunno inverno",
        numbers="un/una/uno due tre quattro cinque sei sette otto nove dieci undici dodici",
        units={
            "hour": "ora, ore",
            "day": "giorno, giorni",
            "week": "settimana, settimane",
            "weekend": "fine settimana, weekend",
            "month": "mese, mesi",
            "quarter": "trimestre",
            "year": "anno, anni",
        },
        near={
            "today": "oggi, stamattina, stamani, stasera, questa mattina, questa sera",
            "yesterday": "ieri, ieri mattina, ieri sera, ieri pomeriggio",
            "the day before yesterday": "l altro ieri, avantieri",
            "tomorrow": "domani, domani mattina, domani sera",
            "the day after tomorrow": "dopodomani",
            "recently": "recentemente, di recente, ultimamente, poco fa",
        },
        which={
            "last": "scorso, scorsa, scorsi, scorse, passato, passata, passati, passate",
            "past": "ultimo, ultima, ultimi, ultime",
            "this": "questo, questa, quest",
            "next": "prossimo, prossima",
        },
        parts={
            "early": "inizio, inizi",
            "mid": "metà",
            "late": "fine",
        },
        leads={
            "in": "in, nel, nell, nella, nello, nei, negli, nelle, durante",
            "at": "a, al, alla",
            "since": "da, dal, dall, dalla, a partire",
            "until": "fino a, fino al, fino alla, entro",
            "before": "prima di, prima del, prima dell, prima della",
            "after": "dopo",
            "between": "tra, fra",
            "and": "e",
            "every": "ogni, tutti i",
        },
        fillers="il, lo, la, l, i, gli, le, di, d, del, dell, della, dello, dei",
        ago="fa",
        no_time="recente",
    ),
    "portuguese": TimeWords(
        months=(
            "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro "
            "dezembro"
        ),
        weekdays=(
            "segunda_feira terça_feira/terca_feira quarta_feira quinta_feira sexta_feira "
            "sábado/sabado domingo"
        ),
        seasons="primavera verão outono inverno",
        numbers="um/uma dois/duas três/tres quatro cinco seis sete oito nove dez onze doze",
        units={
            "hour": "hora, horas",
            "day": "dia, dias",
            "week": "semana, semanas",
            "weekend": "fim de semana",
            "month": "mês, mes, meses",
            "quarter": "trimestre",
            "year": "ano, anos",
        },
        near={
            "today": "hoje, hoje de manhã, hoje à tarde, hoje à noite, esta manhã, esta noite",
            "yesterday": "ontem, ontem de manhã, ontem à tarde, ontem à noite",
            "the day before yesterday": "anteontem",
            "tomorrow": "amanhã",
            "the day after tomorrow": "depois de amanhã",
            "recently": "recentemente, ultimamente, há pouco",
        },
        which={
            "last": "passado, passada, passados, passadas, anterior",
            "past": "último, última, últimos, últimas, ultimo, ultima, ultimos, ultimas",
            "this": "este, esta, neste, nesta, deste, desta",
            "next": "próximo, próxima, proximo, proxima, que vem",
        },
        parts={
            "early": "início, começo, inícios",
            "mid": "meados",
            "late": "fim, final, finais",
        },
        leads={
            "in": "em, no, na, nos, nas, durante",
            "at": "a, ao, à",
            "since": "desde, a partir",
            "until": "até",
            "before": "antes de, antes do, antes da",
            "after": "depois de, depois do, depois da, após",
            "between": "entre",
            "and": "e",
            "every": "cada, toda, todo, todos os, todas as",
        },
        fillers="o, os, as, de, do, da, dos, das",
        ago="há, faz, atrás",
        no_time="feira",
    ),
    "dutch": TimeWords(
        months=(
            "januari februari maart april mei juni juli augustus september oktober november "
            "december"
        ),
        weekdays="maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
        seasons="lente/voorjaar zomer herfst/najaar winter",
        numbers="een/één twee drie vier vijf zes zeven acht negen tien elf twaalf",
        units={
            "hour": "uur, uren",
            "day": "dag, dagen",
            "week": "week, weken",
            "weekend": "weekend",
            "month": "maand, maanden",
            "quarter": "kwartaal",
            "year": "jaar, jaren",
        },
        near={
            "today": "vandaag, vanmorgen, vanochtend, vanmiddag, vanavond",
            "yesterday": "gisteren, gisterochtend, gistermiddag, gisteravond, vannacht",
            "the day before yesterday": "eergisteren",
            "tomorrow": "morgen, morgenochtend, morgenavond",
            "the day after tomorrow": "overmorgen",
            "recently": "onlangs, recent, pas geleden",
        },
        which={
            "last": "vorige, vorig, verleden",
            "past": "afgelopen, laatste",
            "this": "deze, dit",
            "next": "volgende, volgend, komende",
        },
        parts={"early": "begin", "mid": "midden, half", "late": "eind, einde"},
        leads={
            "in": "in, op, tijdens, gedurende",
            "from": "van, uit",
            "since": "sinds, vanaf",
            "until": "tot, tot en met, t m",
            "before": "vóór",
            "after": "na",
            "between": "tussen",
            "and": "en",
            "every": "elke, iedere, elk, ieder",
        },
        fillers="de, het",
        ago="geleden",
        no_time="hier",
    ),
    "russian": TimeWords(
        months=(
            "январь/января/январе/январем/январём февраль/февраля/феврале/февралем/февралём "
            "март/марта/марте/мартом апрель/апреля/апреле/апрелем май/мая/мае/маем "
            "июнь/июня/июне/июнем июль/июля/июле/июлем август/августа/августе/августом "
            "сентябрь/сентября/сентябре/сентябрем/сентябрём "
            "октябрь/октября/октябре/октябрем/октябрём ноябрь/ноября/ноябре/ноябрем/ноябрём "
            "декабрь/декабря/декабре/декабрем/декабрём"
        ),
        weekdays=(
            "понедельник/понедельника/понедельнику вторник/вторника/вторнику среда/среду "
            "четверг/четверга/четвергу пятница/пятницу/пятницы/пятнице "
            "суббота/субботу/субботы/субботе воскресенье/воскресенья/воскресенью"
        ),
        seasons=(
            "весна/весной/весны/весну лето/летом/лета осень/осенью/осени зима/зимой/зимы/зиму"
        ),
        numbers=(
            "один/одну/одна/одного два/две/двух три/трех/трёх четыре/четырех/четырёх пять/пяти "
            "шесть/шести семь/семи восемь/восьми девять/девяти десять/десяти одиннадцать двенадцать"
        ),
        units={
            "hour": "час, часа, часов",
            "day": "день, дня, дней, дни, сутки, суток",
            "week": "неделя, неделю, недели, недель, неделе",
            "weekend": "выходные, выходных",
            "month": "месяц, месяца, месяцев, месяцы, месяце",
            "quarter": "квартал, квартала, квартале",
            "year": "год, года, году, лет, годы",
        },
        near={
            "today": "сегодня, сегодня утром, сегодня днем, сегодня днём, сегодня вечером",
            "yesterday": "вчера, вчера утром, вчера днем, вчера днём, вчера вечером",
            "the day before yesterday": "позавчера",
            "tomorrow": "завтра, завтра утром, завтра вечером",
            "the day after tomorrow": "послезавтра",
            "a day ago": "день назад",
            "a week ago": "неделю назад",
            "a month ago": "месяц назад",
            "a year ago": "год назад",
            "recently": "недавно, в последнее время",
        },
        which={
            "last": (
                "прошлый, прошлая, прошлое, прошлой, прошлую, прошлом, прошлым, прошлого, прошлые, "
                "прошлых"
            ),
            "past": (
                "последний, последняя, последнюю, последней, последние, последних, последнего"
            ),
            "this": "этот, эта, это, этой, эту, этом, этого, эти, этих",
            "next": (
                "следующий, следующая, следующую, следующей, следующем, следующего, следующие"
            ),
        },
        parts={
            "early": "начало, начале, начала",
            "mid": "середина, середине, середины",
            "late": "конец, конце, конца",
        },
        leads={
            "in": "в, во, на, за, в течение",
            "since": "с, со, начиная с",
            "until": "по",
            "after": "после",
            "before": "до, перед",
            "between": "между",
            "and": "и",
            "every": "каждый, каждую, каждое, каждые",
        },
        fillers="",
        ago="назад, тому назад",
    ),
}
