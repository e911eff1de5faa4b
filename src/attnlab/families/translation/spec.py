"""Models of the translation family: the network of P3 A.8 and the bag-of-words proxy of P3 2.3."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from attnlab.models.proxy import TextProxy
from attnlab.models.translator import Start, Translator, TranslatorReadout
from attnlab.records import Count, Spec


class TranslatorSpec(Spec):
    """The network of P3 A.8: see `attnlab.models.translator.Translator`. The defaults are the released shape.

    The rest is what evaluations measure beside loss, accuracy, alpha and beta, and changes no update: ``influence``,
    delta of every output word; ``bleu``, that of translations by beam search with ``beam`` hypotheses.
    """

    kind: Literal["translator"] = "translator"
    hidden: Count = 256
    layers: Count = 2
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5
    readout: TranslatorReadout = "relu"
    attention: Literal["learned", "uniform"] = "learned"
    projected: bool = True
    score_bias: bool = True
    start: Start = "mean"
    influence: bool = False
    bleu: bool = False
    beam: Count = 5

    score: ClassVar = "bilinear"

    def build(self, words: int, seed: int) -> Translator:
        settings = self.model_dump(exclude={"kind", "influence", "bleu", "beam"})
        return Translator(words, seed=seed, **settings)


class TranslationProxySpec(Spec):
    """The bag-of-words proxy of P3 2.3 on sentence pairs: see `attnlab.models.proxy.TextProxy`."""

    kind: Literal["translation-proxy"] = "translation-proxy"
    size: Count = 256

    def build(self, words: int, seed: int) -> TextProxy:
        return TextProxy(words, words, self.size, seed=seed)
