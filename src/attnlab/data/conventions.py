"""Bring two texts to the same conventions: case, accents, tokens, contractions.

A count table knows a word only by its spelling. If the text it was made from says ``l'ordre`` and the text it is
applied to says ``le ordre``, half of the words are strangers. The Hansards need all four rules: their training text is
cased, untokenised and without accents, their hand alignments are tokenised and accented, with "de les" for "des".
"""

import re
import unicodedata
from dataclasses import dataclass

_ABBREVIATIONS = {"mr", "mrs", "ms", "messrs", "dr", "hon", "st", "no", "rt", "jr", "sr", "mm", "mme", "mlle", "vs"}
# White space other than the newline, which separates sentences.
_BLANKS = re.compile(r"[^\S\n]+")
# Marks that are tokens of their own wherever they are; runs of hyphens stay together.
_MARKS = re.compile(r"(--+|[^\w\s.,'’]|_)")
# A comma or a point between digits belongs to a number.
_COMMA = re.compile(r",(?!\d)|(?<!\d),")
_POINTS = re.compile(r"(\.\.+)")
# A word that ends with one point.
_POINT = re.compile(r"(?<!\S)(\S*[^.\s])\.(?!\S)")
_GENITIVE = re.compile(r"(?<=\w)(['’][sS])(?!\w)")

_ELISIONS = {
    **{letter: letter + "e" for letter in "cdjlmnst"},
    **{word: word + "e" for word in ("qu", "jusqu", "lorsqu", "puisqu", "quelqu", "quoiqu", "presqu")},
    "aujourd": "aujourd'",
}
_ELISION = re.compile(r"\b(\w++)['’](?=\w)")
_JOINED = {"des": "de les", "du": "de le", "au": "à le", "aux": "à les"}
_ARTICLE = re.compile(r"(?<![\w'’-])([Dd](?:es|u)|[Aa]ux?|D(?:ES|U)|AUX?)(?![\w'’-])")


@dataclass(frozen=True)
class Conventions:
    """Rules for a text with one sentence a line; they keep the number of lines.

    ``tokenise``: marks become words of their own. ``split_contractions``: French "l'", "des", "du", "au", "aux" become
    the words they stand for. ``lower``: lower case. ``strip_accents``: letters without their marks. The first two move
    words, so they are not for a text to whose positions something else refers: see `keeping_positions`.

    >>> rules = Conventions(lower=True, strip_accents=True, tokenise=True, split_contractions=True)
    >>> rules.apply("L'été, M. Côté vient des Îles.")
    'le ete , m. cote vient de les iles .'
    """

    lower: bool = False
    strip_accents: bool = False
    tokenise: bool = False
    split_contractions: bool = False

    def keeping_positions(self) -> "Conventions":
        """Those of the rules that leave every word in its place."""
        return Conventions(lower=self.lower, strip_accents=self.strip_accents)

    def apply(self, text: str) -> str:
        """The text by these rules, in their order: contractions, tokens, case, accents."""
        if self.split_contractions:
            text = _ARTICLE.sub(
                lambda match: _like(match[1], _JOINED[match[1].lower()]), _ELISION.sub(_full_word, text)
            )
        if self.tokenise:
            text = tokenised(text)
        if self.lower:
            text = text.lower()
        if self.strip_accents:
            text = without_accents(text)
        return text


def tokenised(text: str) -> str:
    """Marks set apart by blanks: hyphens, commas, brackets, quotation marks, the point that ends a sentence, and 's.

    >>> tokenised("Mr. Smith's half-hearted (6.42 %) plan, at 5 p.m.")
    "Mr. Smith 's half - hearted ( 6.42 % ) plan , at 5 p.m."
    """
    text = _MARKS.sub(r" \1 ", text)
    text = _COMMA.sub(" , ", text)
    text = _POINTS.sub(r" \1 ", text)
    text = _POINT.sub(_without_point, text)
    text = _GENITIVE.sub(r" \1", text)
    return "\n".join(line.strip() for line in _BLANKS.sub(" ", text).split("\n"))


def without_accents(text: str) -> str:
    """Letters without the marks that Unicode can take off them: é becomes e; ø, a letter of its own, stays.

    >>> without_accents("Où est l'élève ?")
    "Ou est l'eleve ?"
    """
    if text.isascii():
        return text
    kept: list[str] = []
    for letter in unicodedata.normalize("NFD", text):
        # A mark alone is a word, if an odd one: taking it away would move those after it.
        if not unicodedata.combining(letter) or not kept or kept[-1].isspace():
            kept.append(letter)
    return unicodedata.normalize("NFC", "".join(kept))


def _without_point(match: re.Match[str]) -> str:
    """The point set apart, unless the word is an initial, has other points (p.m.) or is a known abbreviation."""
    word = match[1]
    kept = (len(word) == 1 and word.isalpha()) or "." in word or word.lower() in _ABBREVIATIONS
    return match[0] if kept else f"{word} ."


def _full_word(match: re.Match[str]) -> str:
    full = _ELISIONS.get(match[1].lower())
    return match[0] if full is None else _like(match[1], full) + " "


def _like(model: str, word: str) -> str:
    """``word`` with a capital if ``model`` has one."""
    return word[0].upper() + word[1:] if model[0].isupper() else word
