"""BLEU against NLTK's, counted on the tokens that sacrebleu makes; and what is refused."""

import nltk.translate.bleu_score
import pytest
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from attnlab.errors import UsageError
from attnlab.measures.bleu import bleu

REFERENCES = ["A man in a blue shirt is standing on a ladder, cleaning a window.", "Two dogs play in the snow."]
TRANSLATIONS = ["A man in a blue shirt stands on a ladder, cleaning a window.", "Two dogs are playing in the snow."]


def test_it_is_nltks_on_the_same_tokens():
    tokens = Tokenizer13a()
    cut = [[tokens(text).split() for text in texts] for texts in (TRANSLATIONS, REFERENCES)]
    theirs = nltk.translate.bleu_score.corpus_bleu([[one] for one in cut[1]], cut[0])
    assert bleu(TRANSLATIONS, REFERENCES).score == pytest.approx(100 * theirs)


def test_the_signature_says_how_it_was_counted():
    score = bleu(REFERENCES, REFERENCES)
    assert score.score == pytest.approx(100)
    assert score.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert str(score) == f"BLEU 100.00 ({score.signature})"


def test_nothing_translated_is_zero():
    assert bleu(["", ""], REFERENCES).score == 0.0


def test_sides_of_different_length_are_refused():
    with pytest.raises(UsageError, match="there are 1 and 2"):
        bleu(TRANSLATIONS[:1], REFERENCES)
    with pytest.raises(UsageError, match="no translations"):
        bleu([], [])
