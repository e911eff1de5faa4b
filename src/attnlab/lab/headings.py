"""Columns of results' tables as people read them: words and units instead of names for programs."""

import re
from collections.abc import Mapping, Sequence

NAMED = {
    "low": "95 % interval from",
    "high": "95 % interval to",
    "value": "value",
    "rate": "share that learned",
    "learned": "learned",
    "seeds": "seeds",
    "seed": "seed",
    "step": "learned at update",
    "last_step": "last update",
    "first_step": "first learned at update",
    "median_step": "median update of learning",
    "mean_step": "mean update of learning",
    "best_step": "best evaluation, update",
    "best_steps": "best evaluations, updates",
    "accuracy": "accuracy",
    "last_accuracy": "accuracy at the end",
    "last_attention": "attention at the right position, at the end",
    "last_probe": "lexical probe at the right position, at the end",
    "attention_at_end": "attention at the right position, at the end",
    "probe_at_end": "lexical probe at the right position, at the end",
    "one_after_at_end": "attention one after the right position, at the end",
    "chance": "chance level",
    "run": "run id",
    "aer": "alignment error rate",
    "tau": "Kendall's tau",
    "held_out": "on held-out texts",
    "held_out_texts": "held-out texts",
    "authors": "the authors' figure",
    "authors_xi": "the authors' xi",
    "xi_step": "update at which xi is read",
    "gain": "gain, bits",
    "information": "information, bits",
    "mutual_information": "mutual information, bits",
    "commonest_class": "accuracy of always the commonest class",
    "valid_loss": "validation loss",
    "train_accuracy": "accuracy on training texts",
    "test_accuracy": "accuracy on test texts",
    "lead": "updates by which the probe is ahead",
    "overlap": "overlap of the two stages",
    "aer_low": "alignment error rate, 95 % from",
    "aer_high": "alignment error rate, 95 % to",
    "cost_of_update": "cost of an update, against a plain one",
    "C": "inverse regularisation C",
    "K": "words K",
}
"""Names that words and units say better."""
_RULES: Sequence[tuple[str, str]] = (
    (r"^(.*)_low$", r"\1, 95 % from"),
    (r"^(.*)_high$", r"\1, 95 % to"),
    (r"^low_(.*)$", r"\1, 95 % from"),
    (r"^high_(.*)$", r"\1, 95 % to"),
    (r"^epoch_of_loss_(.*)$", r"epoch of loss \1"),
    (r"^(.*)_step$", r"\1, update"),
    (r"^(.*)_(\d{3,4})$", r"\1 by update \2"),
    (r"^p_(.*)$", r"p against \1"),
)


def heading(name: str) -> str:
    """A column's name in words.

    >>> heading("rise_low"), heading("learned_200"), heading("A(alpha, beta_uf)"), heading("median_step")
    ('rise, 95 % from', 'learned by update 200', 'A(alpha, beta_uf)', 'median update of learning')
    """
    if name in NAMED or "(" in name:
        return NAMED.get(name, name)
    for pattern, words in _RULES:
        if re.match(pattern, name):
            stem = re.sub(pattern, words, name)
            return stem.replace("_", " ")
    return name.replace("_", " ")


def headed(table: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """A table's rows under headings in words; two columns never get the same."""
    if not table:
        return []
    made = {name: heading(name) for name in table[0]}
    if len(set(made.values())) < len(made):
        made = {name: name for name in made}
    return [{made.get(name, name): value for name, value in row.items()} for row in table]
