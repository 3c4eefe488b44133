"""Exclusions in a query, and words that only look like one."""

from __future__ import annotations

import pytest

from recollect.query.fields import exclusions, without

READ = {
    "postgres NOT billing": ("postgres", [("billing",)]),
    "postgres AND NOT billing": ("postgres", [("billing",)]),
    "stripe but not Tom": ("stripe", [("Tom",)]),
    "stripe, but not the tax adviser": ("stripe", [("tax", "adviser")]),
    "redis -port": ("redis", [("port",)]),
    "-billing postgres -redis": ("postgres", [("billing",), ("redis",)]),
    'deploy -"blue green"': ("deploy", [("blue", "green")]),
    "network without wifi": ("network", [("wifi",)]),
    "docker except for the fonts": ("docker", [("fonts",)]),
    "tokens excluding refresh": ("tokens", [("refresh",)]),
    "bugs not in storefront": ("bugs", [("storefront",)]),
    "notes other than billing": ("notes", [("billing",)]),
    "decisions not about the gateway": ("decisions", [("gateway",)]),
    "which queue -redis": ("which queue", [("redis",)]),
    "which queue do we use -redis -kafka?": ("which queue do we use ?", [("redis",), ("kafka",)]),
    'Who owns the gateway -"tax adviser"': ("Who owns the gateway", [("tax", "adviser")]),
    "what queues are there -redis": ("what queues are there", [("redis",)]),
}


@pytest.mark.parametrize("text", READ)
def test_exclusions(text: str) -> None:
    found = exclusions(text)
    assert (without(text, found), [each.words for each in found]) == READ[text]


@pytest.mark.parametrize(
    "text",
    [
        "how to deploy without downtime",  # a topic
        "can we log in without a password?",
        "what does -v print",  # an option
        "ls -la",
        "how not to charge customers twice",
        "it works but not when the server is under load",
        "why is it not found",
        "works for some users but not others",
        "the login works but not always",
        "is there anything other than this",
        "why god save the queen and not king",
        "how many projects do I have, excluding my thesis?",
        "between processes, possibly, but not exclusively",
        '"postgres NOT billing"',  # to be found as written
        "`tar -xzf`",
        "-billing",  # nothing would be left to find
        "NOT billing",
        "without redis",
        "state-of-the-art caches",
        "e-mail",
        "how do I use find -name",  # options of commands, in questions
        "what does git log -oneline",
        "what is -redis",
        "which queue -p",
        "which queue takes -port 9443",
        "which -redis queue",
        "where do we git log -p -redis",
        "which tool has --redis",
        "which flag -redis",
        "when do we use java -jar",
        "where is `git log -patch` explained",
        'which line says "queue -redis"',
        "why do we avoid queues -redis",
    ],
)
def test_words_that_are_no_exclusion(text: str) -> None:
    assert exclusions(text) == ()
