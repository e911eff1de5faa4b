"""Leave-one-out: how much the right class's log-odds fall when a word is taken out (slides: Delta_l = y - y_{-l})."""

import torch
from torch import Tensor

from attnlab.agreement.fields import ScoreField
from attnlab.models.classifier import Classifier, log_odds
from attnlab.probes.texts import POSITIONS
from attnlab.tasks.batch import Bags


@torch.no_grad()
def leave_one_out(model: Classifier, texts: Bags, positions: int = POSITIONS) -> ScoreField:
    values = []
    for row in range(len(texts)):
        words = texts.words[texts.offsets[row]:texts.offsets[row+1]]
        n = len(words)
        at = torch.arange(n - 1)
        rest = words[at + (at >= torch.arange(n)[:, None])]
        label = texts.labels[row]
        out = []
        for part in rest.split(max(1, positions // n)):
            seen = model(part, torch.full((len(part),), n-1))
            out.append(log_odds(seen.log_probabilities, label.expand(len(part))))
        values.append(torch.cat(out))
    return values
