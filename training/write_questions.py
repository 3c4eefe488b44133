"""Questions to what people say in conversations, written by a small language model.

    python training/write_questions.py --pairs pairs.jsonl --model FOLDER --out written.jsonl

The folder holds a causal language model as transformers saves it; SmolLM2-135M-Instruct wrote ours.
What is no question, or shares no word with the text, is left out here. A model of that size asks
much that the text does not answer: keep_answered.py throws that away.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from network import DEVICE
from pairs import Text, read_pairs

SOURCES = ("persona", "taskmaster", "friendsqa")
SHORTEST, LONGEST = 45, 600
EXAMPLES = (
    ("I finally got my driving licence last Friday, on the third try.",
     "How many tries did {who} need to get {whose} driving licence?"),
    ("My sister and I are going to paint the kitchen green this weekend.",
     "What colour will {who} paint {whose} kitchen?"),
    ("I've been playing the cello since I was seven, my grandfather taught me.",
     "Which instrument {does} {who} play?"),
    ("We had to cancel the trip to Lisbon because the dog got sick.",
     "Why did {who} cancel {whose} trip?"),
)  # fmt: skip
NAMES = (("Tom", "his"), ("Maria", "her"), ("Ken", "his"), ("Olga", "her"))
# Who says it is the one who asks later.
OWN = ("user", "assistant")
EMPTY = re.compile(r"\b(answer to|question|the story|main character|the text|passage)\b", re.I)
COMMON = {*"what which who when where why how is are was were do does did has have had the a an of "
          "to in on for and with that this it i you he she they we my your his her their our me "
          "said say about from at be will would can could should not".split()}  # fmt: skip


def prompt(text: Text) -> str:
    who = text.title.partition(",")[0]
    lines = []
    for (said, question), (name, whose) in zip(EXAMPLES, NAMES, strict=True):
        asked = (
            question.format(who="I", whose="my", does="do")
            if who.lower() in OWN
            else question.format(who=name, whose=whose, does="does")
        )
        speaker = "I" if who.lower() in OWN else name
        lines.append(f'{speaker} said: "{said}"\nQuestion: {asked}\n')
    speaker = "I" if who.lower() in OWN else who
    return "\n".join([*lines, f'{speaker} said: "{text.text[:400]}"\nQuestion:'])


def stems(text: str) -> set[str]:
    found = re.findall(r"[a-z0-9']{3,}", text.lower())
    return {re.sub(r"(ing|ed|es|s|'s)$", "", word) for word in found if word not in COMMON}


def asks(question: str, text: Text) -> bool:
    """Whether it is a question about something of the text, and not the text once more."""
    if not question.endswith("?") or EMPTY.search(question) or len(question.split()) < 4:
        return False
    asked, said = stems(question) - stems(text.title), stems(text.text)
    return bool(asked & said) and not (len(asked) > 4 and asked <= said)


def written(args: argparse.Namespace, texts: list[Text]) -> Iterator[tuple[str, Text]]:
    """Questions to all texts, and again, until the time is over."""
    ends = time.perf_counter() + args.seconds
    tokenizer = AutoTokenizer.from_pretrained(args.model, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.bfloat16).to(DEVICE).eval()
    while True:
        for first in range(0, len(texts), args.batch):
            if time.perf_counter() > ends:
                return
            some = texts[first : first + args.batch]
            made = tokenizer([*map(prompt, some)], return_tensors="pt", padding=True).to(DEVICE)
            with torch.no_grad():
                found = model.generate(
                    **made, max_new_tokens=22, do_sample=True, temperature=0.7, top_p=0.9
                )
            said = tokenizer.batch_decode(found[:, made.input_ids.shape[1] :])
            yield from ((one.split("\n")[0].strip(), text)
                        for one, text in zip(said, some, strict=True))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("pairs", "model", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=125)
    parser.add_argument("--batch", type=int, default=1024)
    args = parser.parse_args()
    torch.manual_seed(4)
    texts = [one for one in read_pairs(args.pairs).texts
             if one.source in SOURCES and SHORTEST <= len(one.text) <= LONGEST]  # fmt: skip
    texts.sort(key=lambda text: len(text.text))
    asked = 0
    kept = {}
    for question, text in written(args, texts):
        asked += 1
        if asks(question, text):
            kept[question.lower(), text] = question
    with args.out.open("w", encoding="utf-8") as out:
        for (_, text), question in kept.items():
            row = {
                "q": question,
                "t": text.title,
                "d": text.text,
                "s": text.source,
                "g": text.group,
            }
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{len(texts)} texts, {asked} questions, {len(kept)} kept")


if __name__ == "__main__":
    main()
