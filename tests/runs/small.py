"""The smallest run that has fields."""

from tests.runs.conftest import small_spec

from attnlab.families.copying.spec import PairProxySpec
from attnlab.runs.spec import RunSpec


def proxy_spec(seed: int = 0) -> RunSpec:
    """The proxy of 8 units on the small copying task: an update takes a millisecond."""
    return small_spec(seed, model=PairProxySpec(size=8))
