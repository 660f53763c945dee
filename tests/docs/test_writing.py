"""Plain words: short sentences, and none of the phrases that readers stumbled over."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MOST_WORDS = 34
BANNED = [
    r"\bfor who\b",
    r"\blet who\b",
    r"\bof whom\b",
    r"\bwho (knows|need|may|must)\b",
    r"\bwhatever is\b",
    r"\bwithout an opinion\b",
    r"\bsays? (its|the) mend\b",
    r"\bmend(s|ed)?\b",
    r"\bnever claimed\b",
    r"\bso (large|small|many|few) a\b",
    r"\bmakes \d of\b",
    r"\bdoes not say what\b",
    r"\bspent are\b",
    r"\bas a person types\b",
    r"\bis an illusion\b",
    r"\band no matter\b",
]
"""From the sentences that a review of the first edition collected."""


def blocks(text: str) -> Iterator[str]:
    """Paragraphs and items of lists, without code, tables, comments and headings."""
    text = re.sub(r"```.*?```|<!--.*?-->", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"^(\||#).*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"^ *(-|\d+\.) +", "\n\n", text, flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n", text):
        if block.strip():
            yield " ".join(block.split())


def sentences(text: str) -> list[str]:
    return [each for block in blocks(text) for each in re.split(r"(?<=[.!?:])[*_)\"]* ", block)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_sentences_are_short(path):
    long = [each for each in sentences(path.read_text()) if len(each.split()) > MOST_WORDS]
    assert long == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_phrase_that_readers_stumble_over(path):
    prose = "\n".join(blocks(path.read_text()))
    found = [match.group() for each in BANNED for match in re.finditer(each, prose, re.IGNORECASE)]
    assert found == []


def test_both_tests_can_fail():
    text = "Use it without an opinion.\n\n```\nfor who knows\n```\n\n- " + "word " * 40 + "end."
    assert [len(each.split()) for each in sentences(text)] == [5, 41]
    assert re.search(BANNED[5], next(blocks(text)))
    assert not any("for who" in each for each in blocks(text))
