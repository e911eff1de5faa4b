"""All specs in one place, for scripts and notebooks.

>>> from attnlab import specs
>>> specs.CopyingSpec(distribution=specs.PermutationsSpec(words=3)).kind
'copying'
"""

from attnlab.families.copying.early_verdict import EarlyVerdict as EarlyVerdict
from attnlab.families.copying.spec import AlignmentLossSpec as AlignmentLossSpec
from attnlab.families.copying.spec import CopyingSpec as CopyingSpec
from attnlab.families.copying.spec import FreshAttentionSpec as FreshAttentionSpec
from attnlab.families.copying.spec import IndependentSpec as IndependentSpec
from attnlab.families.copying.spec import MirroredReadoutSpec as MirroredReadoutSpec
from attnlab.families.copying.spec import MixtureSpec as MixtureSpec
from attnlab.families.copying.spec import OffPositionSpec as OffPositionSpec
from attnlab.families.copying.spec import OwnTaskSpec as OwnTaskSpec
from attnlab.families.copying.spec import PairProxySpec as PairProxySpec
from attnlab.families.copying.spec import PermutationSetsSpec as PermutationSetsSpec
from attnlab.families.copying.spec import PermutationsSpec as PermutationsSpec
from attnlab.families.copying.spec import SelectionsSpec as SelectionsSpec
from attnlab.families.copying.spec import Seq2SeqSpec as Seq2SeqSpec
from attnlab.families.copying.spec import WarmStartSpec as WarmStartSpec
from attnlab.families.copying.spec import WarmUpSpec as WarmUpSpec
from attnlab.families.copying.spec import ZipfSpec as ZipfSpec
from attnlab.families.keyword.spec import KeywordSpec as KeywordSpec
from attnlab.families.texts.deception import OffWordsSpec as OffWordsSpec
from attnlab.families.texts.deception import TwinSpec as TwinSpec
from attnlab.families.texts.spec import ClassifierSpec as ClassifierSpec
from attnlab.families.texts.spec import LabelledTextSpec as LabelledTextSpec
from attnlab.families.texts.spec import ProxySpec as ProxySpec
from attnlab.families.texts.spec import TextFile as TextFile
from attnlab.families.texts.spec import VectorsSpec as VectorsSpec
from attnlab.families.texts.stopping import NoImprovement as NoImprovement
from attnlab.families.topics.spec import SstSpec as SstSpec
from attnlab.families.topics.spec import TopicModelSpec as TopicModelSpec
from attnlab.families.topics.spec import TopicsSpec as TopicsSpec
from attnlab.families.translation.deception import PairTwinSpec as PairTwinSpec
from attnlab.families.translation.spec import TranslationProxySpec as TranslationProxySpec
from attnlab.families.translation.spec import TranslatorSpec as TranslatorSpec
from attnlab.families.translation.task import BitextFiles as BitextFiles
from attnlab.families.translation.task import BitextSpec as BitextSpec
from attnlab.runs.optimisers import AdamSpec as AdamSpec
from attnlab.runs.optimisers import SgdSpec as SgdSpec
from attnlab.runs.schedule import OwnStopRule as OwnStopRule
from attnlab.runs.schedule import Schedule as Schedule
from attnlab.runs.spec import RunSpec as RunSpec

__all__ = [name for name in dir() if not name.startswith("_")]
