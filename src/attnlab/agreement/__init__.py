"""Agreement: how well one score field's top position is ranked by another. It knows nothing of where fields come from.

``fields``: one number per input position for each output word, stored ragged. ``measures``: A(u, v) and its random
baselines. ``tau``: Kendall's tau-b. ``xi``: agreement read as performance. ``intervals``: bootstrap over examples, over
seeds or both. ``checkpoints``: the best checkpoint and its optimism. ``compare``: arrays of anybody's model.

The package itself can be called, which is ``compare.agreement``:

>>> import attnlab
>>> attnlab.agreement([0.1, 0.7, 0.2], [1, 3, 2], lengths=[3]).expected
1.0
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from attnlab.agreement.compare import Agreement


class _CallablePackage(ModuleType):
    # A function of this name in attnlab would hide the package, or be hidden by it, depending on what is imported
    # first. So there is one thing of that name, which is both.
    def __call__(
        self,
        u: "ArrayLike",
        v: "ArrayLike",
        lengths: "ArrayLike | None" = None,
        *,
        share: float = 0.05,
        groups: "ArrayLike | None" = None,
        level: float = 0.95,
        resamples: int = 2000,
        seed: int = 0,
    ) -> "Agreement":
        """See `attnlab.agreement.compare.agreement`."""
        from attnlab.agreement.compare import agreement

        return agreement(u, v, lengths, share=share, groups=groups, level=level, resamples=resamples, seed=seed)


sys.modules[__name__].__class__ = _CallablePackage
